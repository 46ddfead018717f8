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
side_medians AS MATERIALIZED (SELECT * FROM _side_medians(base, candidate, last)),
side_levels AS (
    SELECT
        pair, side, case_id, metric, phase, unit, min(better) AS better, median(value) AS value, count(*) AS runs, sum(n) AS n,
        bool_or(is_session) AS is_session,
        avg(sampling) AS sampling, CASE
            WHEN unit = 'count' AND median(value) >= 0 THEN ln(1 + median(value)) WHEN median(value) > 0 THEN ln(median(value))
        END AS level,
        min(x) AS lowest, max(x) AS highest
    FROM side_medians
    GROUP BY pair, side, case_id, metric, phase, unit
),
raw_deviations AS (
    SELECT run.pair, run.side, run_id, run.case_id, run.metric, run.phase, run.unit, x - level AS deviation, runs
    FROM side_medians AS run
    JOIN side_levels AS side
        ON run.pair = side.pair AND run.side = side.side AND run.case_id IS NOT DISTINCT FROM side.case_id
        AND run.metric = side.metric AND run.phase IS NOT DISTINCT FROM side.phase AND run.unit IS NOT DISTINCT FROM side.unit
    WHERE runs > 1 AND x IS NOT NULL
),
run_shifts AS (
    SELECT pair, side, run_id, metric, phase, unit, CASE WHEN count(*) >= 20 THEN median(deviation) ELSE 0 END AS shift
    FROM raw_deviations
    GROUP BY pair, side, run_id, metric, phase, unit
),
run_variances AS (
    SELECT
        pair, metric, phase, unit, sum(shift * shift) / nullif(count(*) - count(DISTINCT side), 0) AS run_variance,
        (count(*) - count(DISTINCT side))::DOUBLE AS run_degrees
    FROM run_shifts
    GROUP BY pair, metric, phase, unit
),
case_deviations AS (
    SELECT
        own.pair, case_id, own.metric, own.phase, own.unit, list(deviation - shift) AS deviations,
        coalesce(list(deviation) FILTER (own.side = 'base'), []) AS base_deviations,
        sum(pow(deviation - shift, 2)) FILTER (own.side = 'candidate') / nullif(count(*) FILTER (own.side = 'candidate') - 1, 0) AS repeats,
        (count(*) - count(DISTINCT own.side))::DOUBLE AS own_degrees
    FROM raw_deviations AS own
    JOIN run_shifts AS run
        ON own.pair = run.pair AND own.run_id = run.run_id AND own.metric = run.metric
        AND own.phase IS NOT DISTINCT FROM run.phase AND own.unit IS NOT DISTINCT FROM run.unit
    GROUP BY own.pair, case_id, own.metric, own.phase, own.unit
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
        min(lowest) FILTER (side = 'candidate') - min(level) FILTER (side = 'base') AS least,
        min(highest) FILTER (side = 'candidate') - min(level) FILTER (side = 'base') AS most
    FROM side_levels
    GROUP BY pair, case_id, metric, phase, unit
)

SELECT
    own.pair, own.case_id, own.metric, own.phase, own.unit, better, base_value, candidate_value, base_runs, candidate_runs,
    base_n::BIGINT AS base_n, candidate_n::BIGINT AS candidate_n, effect, base_sampling, candidate_sampling, least, most,
    coalesce(base_deviations, []) AS base_deviations, repeats, run_variance, coalesce(run_degrees, 0) AS run_degrees,
    is_session, coalesce(deviations, []) AS deviations, coalesce(own_degrees, 0) AS own_degrees
FROM case_sides AS own
LEFT JOIN case_deviations AS runs
    ON own.pair = runs.pair AND own.case_id IS NOT DISTINCT FROM runs.case_id AND own.metric = runs.metric
    AND own.phase IS NOT DISTINCT FROM runs.phase AND own.unit IS NOT DISTINCT FROM runs.unit
LEFT JOIN run_variances AS of_metric
    ON own.pair = of_metric.pair AND own.metric = of_metric.metric AND own.phase IS NOT DISTINCT FROM of_metric.phase
    AND own.unit IS NOT DISTINCT FROM of_metric.unit
