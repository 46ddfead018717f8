-- One row per case × metric × phase × unit measured on either side of a comparison: the values, and how sure they are.
-- All errors are of logarithms. Runs in which the case failed are left out.
--
-- The variance of one run is the variance between the side's runs, moderated by the history of their config and host
-- (run_noise; after Smyth, Statistical Applications in Genetics and Molecular Biology 3, 2004). The history is a median of
-- differences between successive runs: n of them are worth 0.37 n squared ones (Rousseeuw and Croux, Journal of the American
-- Statistical Association 88, 1993). All other cases of the metric together count as 8 at most. Where both sides are of one
-- config, the step between them is part of their history, so the history counts only if it has 4 runs or more.
--
-- If one side has no history, it uses that of the other side; if neither has one, it uses the other side's variance.
-- The variance is never smaller than the sampling error within a run, which comes from the 95 % interval of the run's median
-- or, for fewer than 6 samples, from their standard deviation (the median of a normal sample varies π / 2 times as much as
-- its mean). Where nothing is known of other runs, the sampling error is all there is.
--
-- The median of R runs has (π / 2) / (R + π / 2 - 1) of the variance of one run: exact for R = 1, within 3 % for odd R, and
-- on the safe side for even R.
--
-- arguments: base, candidate
--
-- case_id          VARCHAR  Case measured; NULL for a value of the run as a whole.
-- axes: value
-- base_value       DOUBLE   Median over the runs of their medians; NULL where no run of the base measured it.
-- candidate_value  DOUBLE   The same of the candidate.
-- base_runs        BIGINT   Runs that measured it.
-- candidate_runs   BIGINT   The same of the candidate.
-- base_n           BIGINT   Samples in all of them.
-- candidate_n      BIGINT   The same of the candidate.
-- noise            DOUBLE   Standard deviation of ln(median) from run to run, of the noisier side; NULL where nothing tells
--                           it.
-- error            DOUBLE   Standard error of ln(base / candidate); NULL where nothing tells it.
-- degrees          DOUBLE   Degrees of freedom of that error, the smaller of both sides.
WITH
run_medians AS (
    SELECT
        cell.*, run.config AS run_config, host, shared, side = 'base' AS here,
        CASE WHEN median > 0 THEN ln(median) END AS log_median,
        CASE
            WHEN median_low > 0 THEN pow((ln(median_high) - ln(median_low)) / (2 * 1.959963984540054), 2)
            WHEN median > 0 THEN pi() / 2 * pow(stdev / median, 2) / n
        END AS within
    FROM _all_cells AS cell
    JOIN _comparison_sides(base, candidate) AS run ON cell.run_id = run.run_id
    ANTI JOIN _failures AS failure ON cell.run_id = failure.run_id AND cell.case_id = failure.case_id AND void
),
sides AS (
    SELECT
        run_medians.case_id, run_medians.metric, run_medians.phase, run_medians.unit, min(better) AS better,
        median(median) FILTER (here) AS base_value, median(median) FILTER (NOT here) AS candidate_value,
        count(*) FILTER (here) AS base_runs, count(*) FILTER (NOT here) AS candidate_runs,
        sum(run_medians.n) FILTER (here) AS base_n, sum(run_medians.n) FILTER (NOT here) AS candidate_n,
        avg(within) FILTER (here) AS base_within, avg(within) FILTER (NOT here) AS candidate_within,
        coalesce(var_samp(log_median) FILTER (here), 0) AS base_spread,
        coalesce(var_samp(log_median) FILTER (NOT here), 0) AS candidate_spread,
        avg(noise * noise) FILTER (here AND (history.n >= 4 OR NOT shared)) AS base_history,
        avg(noise * noise) FILTER (NOT here AND (history.n >= 4 OR NOT shared)) AS candidate_history,
        max(history.n) FILTER (here) AS base_history_n, max(history.n) FILTER (NOT here) AS candidate_history_n,
        max(other_steps) FILTER (here) AS base_other_steps, max(other_steps) FILTER (NOT here) AS candidate_other_steps
    FROM run_medians
    LEFT JOIN run_noise AS history
        ON run_medians.run_config = history.config AND run_medians.host IS NOT DISTINCT FROM history.host
        AND run_medians.case_id IS NOT DISTINCT FROM history.case_id AND run_medians.metric = history.metric
        AND run_medians.phase IS NOT DISTINCT FROM history.phase AND run_medians.unit IS NOT DISTINCT FROM history.unit
    GROUP BY run_medians.case_id, run_medians.metric, run_medians.phase, run_medians.unit
),
history_weights AS (
    SELECT
        *,
        CASE WHEN base_history IS NOT NULL THEN
            0.37::DOUBLE * greatest(base_history_n - base_runs, 0) + least(8, 0.37::DOUBLE * base_other_steps)
        END AS base_weight,
        CASE WHEN candidate_history IS NOT NULL THEN
            0.37::DOUBLE * greatest(candidate_history_n - candidate_runs, 0) + least(8, 0.37::DOUBLE * candidate_other_steps)
        END AS candidate_weight
    FROM sides
),
shared_histories AS (
    SELECT
        * REPLACE (
            coalesce(base_history, candidate_history, 0) AS base_history,
            coalesce(candidate_history, base_history, 0) AS candidate_history,
            coalesce(base_weight, candidate_weight, 0) AS base_weight,
            coalesce(candidate_weight, base_weight, 0) AS candidate_weight
        )
    FROM history_weights
),
moderated_variances AS (
    SELECT
        *, greatest(base_runs - 1 + base_weight, 0) AS base_degrees,  -- a side without runs has none
        greatest(candidate_runs - 1 + candidate_weight, 0) AS candidate_degrees,
        ((base_runs - 1) * base_spread + base_weight * base_history) / nullif(base_degrees, 0) AS base_own,
        ((candidate_runs - 1) * candidate_spread + candidate_weight * candidate_history)
            / nullif(candidate_degrees, 0) AS candidate_own
    FROM shared_histories
),
side_variances AS (
    SELECT
        * REPLACE (
            coalesce(base_own, candidate_own) AS base_own, coalesce(candidate_own, base_own) AS candidate_own,
            coalesce(nullif(base_degrees, 0), candidate_degrees) AS base_degrees,
            coalesce(nullif(candidate_degrees, 0), base_degrees) AS candidate_degrees
        )
    FROM moderated_variances
),
errors AS (
    SELECT
        * REPLACE (
            CASE WHEN base_own >= coalesce(base_within, 0) THEN base_degrees ELSE base_n - base_runs END AS base_degrees,
            CASE
                WHEN candidate_own >= coalesce(candidate_within, 0) THEN candidate_degrees
                ELSE candidate_n - candidate_runs
            END AS candidate_degrees
        ),
        greatest(base_own, base_within) * (pi() / 2) / (base_runs + pi() / 2 - 1) AS base_variance,
        greatest(candidate_own, candidate_within) * (pi() / 2) / (candidate_runs + pi() / 2 - 1) AS candidate_variance
    FROM side_variances
)

SELECT
    case_id, metric, phase, unit, better, base_value, candidate_value,
    nullif(base_runs, 0) AS base_runs, nullif(candidate_runs, 0) AS candidate_runs,
    base_n::BIGINT AS base_n, candidate_n::BIGINT AS candidate_n,
    sqrt(greatest(base_own, candidate_own)) AS noise, sqrt(base_variance + candidate_variance) AS error,
    greatest(least(base_degrees, candidate_degrees), 1)::DOUBLE AS degrees
FROM errors
