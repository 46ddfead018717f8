-- One row per config × case of a serving benchmark that has two metrics: where it stands, and how surely on the Pareto frontier.
-- A point is on the frontier if no other is better in one metric and as good or better in the other. How sure that is, is the share of
-- 2,000 draws in which it holds: each draw moves every point by its errors, Student's t of its degrees of freedom, so that two points
-- too close to tell apart share the frontier. A point whose error is not known does not move. Metrics and limits are those of
-- `serving_metrics`; both axes of one point move independently, as errors of different metrics are mostly not told together.
--
-- arguments: x := 'interactivity', y := 'throughput', ttft := NULL, tpot := NULL, e2e := NULL, configs := NULL, runs := NULL
--
-- config         VARCHAR  Config.
-- case_id        VARCHAR  Case: the model with its load and settings.
-- name           VARCHAR  Model.
-- backend        VARCHAR  Engine.
-- parameters     JSON     Load and settings.
-- x_value        DOUBLE   Value of the first metric.
-- x_low          DOUBLE   Lower end of its 95 % interval; NULL where nothing tells it.
-- x_high         DOUBLE   Upper end.
-- x_unit         VARCHAR  Its unit.
-- x_better       VARCHAR  'higher' or 'lower'.
-- y_value        DOUBLE   Value of the second metric.
-- y_low          DOUBLE   Lower end of its 95 % interval.
-- y_high         DOUBLE   Upper end.
-- y_unit         VARCHAR  Its unit.
-- y_better       VARCHAR  'higher' or 'lower'.
-- is_on          BOOLEAN  Whether it is on the frontier as measured.
-- membership     DOUBLE   Share of draws in which it is, 0 to 1.
WITH
measured AS (FROM serving_metrics(ttft := ttft, tpot := tpot, e2e := e2e, configs := configs, runs := runs)),
points AS (
    SELECT
        across.config, across.case_id, across.name, across.backend, across.parameters,
        across.value AS x_value, across.low AS x_low, across.high AS x_high, across.unit AS x_unit,
        coalesce(across.better, 'higher') AS x_better, upward.value AS y_value, upward.low AS y_low, upward.high AS y_high,
        upward.unit AS y_unit, coalesce(upward.better, 'higher') AS y_better,
        CASE WHEN coalesce(across.better, 'higher') = 'higher' THEN across.value ELSE -across.value END AS x_gain,
        CASE WHEN coalesce(upward.better, 'higher') = 'higher' THEN upward.value ELSE -upward.value END AS y_gain,
        coalesce(across.error, 0) AS x_error, coalesce(upward.error, 0) AS y_error,
        greatest(coalesce(across.degrees, 1), 1) AS x_degrees, greatest(coalesce(upward.degrees, 1), 1) AS y_degrees,
        row_number() OVER (ORDER BY across.config, across.case_id) AS place
    FROM measured AS across
    JOIN measured AS upward ON across.config = upward.config AND across.case_id = upward.case_id
    WHERE across.metric = x AND upward.metric = y
),
draws AS (SELECT unnest(range(0, 2001)) AS draw),  -- 0: as measured
drawn AS (
    SELECT
        draw, place,
        x_gain + CASE WHEN draw > 0 AND x_error > 0 THEN x_error * _pseudo_t(draw, 2 * place, x_degrees) ELSE 0 END AS x_drawn,
        y_gain + CASE WHEN draw > 0 AND y_error > 0 THEN y_error * _pseudo_t(draw, 2 * place + 1, y_degrees) ELSE 0 END AS y_drawn
    FROM points, draws
),
dominated AS (
    SELECT DISTINCT one.draw, one.place
    FROM drawn AS one
    JOIN drawn AS other ON one.draw = other.draw AND one.place <> other.place
    WHERE other.x_drawn >= one.x_drawn AND other.y_drawn >= one.y_drawn AND (other.x_drawn > one.x_drawn OR other.y_drawn > one.y_drawn)
),
losses AS (
    SELECT place, count(*) FILTER (draw = 0) AS lost_as_measured, count(*) FILTER (draw > 0) AS lost FROM dominated GROUP BY place
)

SELECT
    config, case_id, name, backend, parameters, x_value, x_low, x_high, x_unit, x_better, y_value, y_low, y_high, y_unit, y_better,
    coalesce(lost_as_measured, 0) = 0 AS is_on, 1 - coalesce(lost, 0) / 2000::DOUBLE AS membership
FROM points
LEFT JOIN losses USING (place)
