-- One row per pair × run × case × metric × phase of a comparison: the median of its samples, and how sure it is.
-- A case that failed has none. A base that is not given has the last `last` runs that measured the case.
--
-- arguments: base, candidate, last
--
-- pair           BIGINT   Number of the config and host that are judged apart; 0 where the base is given.
-- side           VARCHAR  'base' or 'candidate'.
-- run_id         VARCHAR  Run.
-- place          BIGINT   Its place in time.
-- case_id        VARCHAR  Case measured; NULL for a value of the run as a whole.
-- axes: value
-- is_session     BOOLEAN  Whether all candidates began within a day, and the base half a day or more before or after.
-- n              BIGINT   Samples.
-- value          DOUBLE   Their median.
-- x              DOUBLE   Its natural logarithm, of a count that of 1 + median; NULL where there is none.
-- sampling       DOUBLE   Variance of x as the samples tell it: from the 95 % interval of their median or, for fewer than 6,
--                         from their standard deviation (the median of normal samples varies π / 2 times as much as their
--                         mean); NULL for one sample.
WITH
recent_counts AS (
    SELECT pair, case_id, metric, phase, unit, count(*) AS recent_runs
    FROM _run_medians(base, candidate, last)
    WHERE pair > 0 AND side = 'base' AND is_recent
    GROUP BY pair, case_id, metric, phase, unit
),
full_series AS (SELECT * FROM recent_counts WHERE recent_runs >= last),
gaps AS (SELECT * FROM recent_counts WHERE recent_runs < last),
earlier_medians AS (  -- of what some of the last runs lack
    SELECT
        run.*, last - coalesce(recent_runs, 0) AS missing,
        row_number() OVER (PARTITION BY run.pair, run.case_id, run.metric, run.phase, run.unit ORDER BY place DESC) AS recency
    FROM _run_medians(base, candidate, last) AS run
    ANTI JOIN full_series
        ON run.pair = full_series.pair AND run.case_id IS NOT DISTINCT FROM full_series.case_id AND run.metric = full_series.metric
        AND run.phase IS NOT DISTINCT FROM full_series.phase AND run.unit IS NOT DISTINCT FROM full_series.unit
    LEFT JOIN gaps
        ON run.pair = gaps.pair AND run.case_id IS NOT DISTINCT FROM gaps.case_id AND run.metric = gaps.metric
        AND run.phase IS NOT DISTINCT FROM gaps.phase AND run.unit IS NOT DISTINCT FROM gaps.unit
    WHERE NOT is_recent
),
last_medians AS (
    SELECT * FROM _run_medians(base, candidate, last) WHERE is_recent
    UNION ALL
    SELECT * EXCLUDE (missing, recency) FROM earlier_medians WHERE recency <= missing
)

SELECT
    pair, side, run_id, place, case_id, metric, phase, unit, better, is_session, n, value, x,
    CASE
        WHEN median_low > 0 THEN pow((ln(median_high) - ln(median_low)) / (2 * 1.959963984540054::DOUBLE), 2)
        WHEN value > 0 THEN pi() / 2 * pow(stdev / value, 2) / n
    END AS sampling
FROM last_medians
