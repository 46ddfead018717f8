-- One row per pair × case × metric × phase × unit measured on either side of a comparison: both values, and how far the runs
-- of each side are from theirs.
-- What all cases of a run share moves its deviations alike and says nothing of one case: of 20 cases or more, the median
-- deviation of the run is taken out of each.
--
-- arguments: base, candidate, last
--
-- axes: sides, runs_apart
-- deviations       DOUBLE[]  Distances of all runs from the value of their side, of sides with two runs or more, without what
--                            all cases of the run share.
-- own_degrees      DOUBLE    Degrees of freedom of these.
WITH
side_values AS MATERIALIZED (  -- lists in one order
    SELECT
        pair, side, case_id, metric, phase, unit, min(better) AS better, median(value) AS value, count(*) AS runs, sum(n) AS n,
        bool_or(is_session) AS is_session, avg(sampling) AS sampling, min(place) AS first_place,
        coalesce(list(x) FILTER (x IS NOT NULL), []) AS xs, coalesce(list(place) FILTER (x IS NOT NULL), []) AS places
    FROM _side_medians(base, candidate, last)
    GROUP BY pair, side, case_id, metric, phase, unit
),
side_levels AS (
    SELECT
        *, CASE WHEN unit = 'count' AND value >= 0 THEN ln(1 + value) WHEN value > 0 THEN ln(value) END AS level,
        CASE WHEN runs > 1 THEN len(xs) ELSE 0 END AS n_apart
    FROM side_values
),
run_deviations AS (
    SELECT
        pair, side, metric, phase, unit,
        unnest(list_transform(range(1, n_apart + 1), lambda i: {'place': places[i], 'deviation': xs[i] - level})) AS run
    FROM side_levels
),
run_shifts AS (
    SELECT
        pair, side, metric, phase, unit, run.place AS place,
        CASE WHEN count(*) >= 20 THEN median(run.deviation) ELSE 0 END AS shift
    FROM run_deviations
    GROUP BY pair, side, metric, phase, unit, run.place
),
side_shifts AS (
    SELECT pair, side, metric, phase, unit, list(place) AS shift_places, list(shift) AS shifts
    FROM run_shifts
    GROUP BY pair, side, metric, phase, unit
),
metrics AS (
    SELECT pair, metric, phase, unit, row_number() OVER (ORDER BY pair, metric, phase, unit) AS metric_id
    FROM side_levels
    GROUP BY pair, metric, phase, unit
),
run_variances AS (
    SELECT
        pair, metric, phase, unit, sum(shift * shift) / nullif(count(*) - count(DISTINCT side), 0) AS run_variance,
        (count(*) - count(DISTINCT side))::DOUBLE AS run_degrees
    FROM run_shifts
    GROUP BY pair, metric, phase, unit
),
metric_variances AS (
    SELECT metrics.*, run_variance, run_degrees
    FROM metrics
    LEFT JOIN run_variances AS variances
        ON metrics.pair = variances.pair AND metrics.metric = variances.metric
        AND metrics.phase IS NOT DISTINCT FROM variances.phase AND metrics.unit IS NOT DISTINCT FROM variances.unit
),
side_deviations AS (
    SELECT
        own.*, list_transform(xs, lambda x: x - level) AS raw_deviations,
        list_transform(range(1, n_apart + 1), lambda i: xs[i] - level - shifts[list_position(shift_places, places[i])]) AS deviations
    FROM side_levels AS own
    LEFT JOIN side_shifts AS of_metric
        ON own.pair = of_metric.pair AND own.side = of_metric.side AND own.metric = of_metric.metric
        AND own.phase IS NOT DISTINCT FROM of_metric.phase AND own.unit IS NOT DISTINCT FROM of_metric.unit
),
case_sides AS (
    SELECT
        pair, case_id, metric, phase, unit, min(better) AS better, bool_or(is_session) AS is_session,
        min(value) FILTER (side = 'base') AS base_value, min(value) FILTER (side = 'candidate') AS candidate_value,
        coalesce(min(runs) FILTER (side = 'base'), 0) AS base_runs,
        coalesce(min(runs) FILTER (side = 'candidate'), 0) AS candidate_runs,
        min(n) FILTER (side = 'base') AS base_n, min(n) FILTER (side = 'candidate') AS candidate_n,
        min(sampling) FILTER (side = 'base') AS base_sampling, min(sampling) FILTER (side = 'candidate') AS candidate_sampling,
        min(level) FILTER (side = 'candidate') - min(level) FILTER (side = 'base') AS effect,
        min(first_place) FILTER (side = 'candidate') AS first_place,
        coalesce(min(places) FILTER (side = 'base'), []) AS base_places,
        min(list_min(xs)) FILTER (side = 'candidate') - min(level) FILTER (side = 'base') AS least,
        max(list_max(xs)) FILTER (side = 'candidate') - min(level) FILTER (side = 'base') AS most,
        coalesce(min(raw_deviations) FILTER (side = 'base'), []) AS base_deviations,
        min(list_avg(list_transform(deviations, lambda x: x * x)) * n_apart / nullif(n_apart - 1, 0)) FILTER (side = 'candidate') AS repeats,
        flatten(list(deviations)) AS deviations, (sum(n_apart) - count(*) FILTER (n_apart > 0))::DOUBLE AS own_degrees
    FROM side_deviations
    GROUP BY pair, case_id, metric, phase, unit
)

SELECT
    own.pair, own.case_id, own.metric, own.phase, own.unit, better, base_value, candidate_value, base_runs, candidate_runs,
    base_n::BIGINT AS base_n, candidate_n::BIGINT AS candidate_n, effect, metric_id, first_place, base_places, base_deviations,
    base_sampling, candidate_sampling, least, most, repeats, run_variance, coalesce(run_degrees, 0) AS run_degrees, is_session, deviations, own_degrees
FROM case_sides AS own
JOIN metric_variances AS of_metric
    ON own.pair = of_metric.pair AND own.metric = of_metric.metric AND own.phase IS NOT DISTINCT FROM of_metric.phase
    AND own.unit IS NOT DISTINCT FROM of_metric.unit
