-- One row per pair × run × case × metric × phase of a comparison: the median of its samples, and how sure it is.
-- A case that failed has none. A base that is not given has the last `last` runs that measured the case.
--
-- arguments: base, candidate, last
--
-- pair           BIGINT   Number of the config and host that are judged apart; 0 where the base is given.
-- side           VARCHAR  'base' or 'candidate'.
-- run_id         VARCHAR  Run.
-- place          BIGINT   Its place in time.
-- series_id      BIGINT   Case, metric, phase and unit in one (see _series_key).
-- case_id        VARCHAR  Case measured; NULL for a value of the run as a whole.
-- axes: value
-- is_session     BOOLEAN  Whether all candidates began within a day, and the base half a day or more before or after.
-- n              BIGINT   Samples.
-- value          DOUBLE   Their median.
-- x              DOUBLE   Its natural logarithm, of a count that of 1 + median; NULL where there is none.
-- sampling       DOUBLE   Variance of x as the samples tell it; NULL for one sample.
WITH
recent_counts AS (
    SELECT pair, series_id, count(*) AS recent_runs
    FROM _run_medians(base, candidate, last)
    WHERE pair > 0 AND side = 'base' AND is_recent
    GROUP BY pair, series_id
),
earlier_medians AS (  -- of what some of the last runs lack
    SELECT
        run.*, last - coalesce(recent_runs, 0) AS missing,
        row_number() OVER (PARTITION BY run.pair, run.series_id ORDER BY place DESC) AS recency
    FROM _run_medians(base, candidate, last) AS run
    LEFT JOIN recent_counts AS recent ON run.pair = recent.pair AND run.series_id = recent.series_id
    WHERE NOT is_recent AND coalesce(recent_runs, 0) < last
),
last_medians AS (
    SELECT * FROM _run_medians(base, candidate, last) WHERE is_recent
    UNION ALL
    SELECT * EXCLUDE (missing, recency) FROM earlier_medians WHERE recency <= missing
)

SELECT
    pair, side, run_id, place, series_id, case_id, metric, phase, unit, better, is_session, n, value, x,
    _sampling_variance(value, median_low, median_high, stdev, n) AS sampling
FROM last_medians
