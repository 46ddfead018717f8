-- One row per metric × phase × unit × suite × backend of a comparison: the geometric mean of the ratios.
-- The interval is the geometric mean of the intervals' ends: right if the errors of all cases are the same, as where a whole
-- run was disturbed; too wide if they are independent. Where both sides come from the same runs, what a run as a whole was like
-- is on both: errors are those of single cases then, whose mean is as far off as these say together, or as the cases differ among
-- themselves, and 3 % more for what favours one side all along (`python -m tests.benchmarks together`). Left out are cold and
-- warm-up phases, metrics without a direction, extremes and spreads; `bench compare` keeps those that its options name.
--
-- arguments: base, candidate, floor := NULL, same_runs := false
--
-- axes: value
-- suite       VARCHAR    Suite of the workloads.
-- backend     VARCHAR    Compiler or implementation.
-- ratio       DOUBLE     Geometric mean over the cases measured on both sides; above 1 is better.
-- low         DOUBLE     Lower end of its 95 % interval; NULL where a case has none.
-- high        DOUBLE     Upper end.
-- n           BIGINT     Cases with a ratio.
-- total       BIGINT     Cases on either side.
-- added       VARCHAR[]  Cases that only the candidate has.
-- removed     VARCHAR[]  Cases that only the base has.
WITH
headline_rows AS (
    SELECT *, same_runs AS is_of_same_runs
    FROM comparisons(base, candidate, floor := floor)
    WHERE is_headline AND _is_warm(phase) AND _is_headline(metric, better)
)

SELECT
    metric, phase, unit, better, suite, backend, exp(gain) AS ratio,
    exp(CASE WHEN own_reach < (high_end - low_end) / 2 THEN gain - own_reach ELSE low_end END) AS low,
    exp(CASE WHEN own_reach < (high_end - low_end) / 2 THEN gain + own_reach ELSE high_end END) AS high,
    n, total, added, removed
FROM (
    SELECT
        metric, phase, unit, min(better) AS better, suite, backend, avg(ln(CASE WHEN ratio > 0 THEN ratio END)) AS gain,
        CASE WHEN count(low) = count(ratio) THEN avg(ln(CASE WHEN low > 0 THEN low END)) END AS low_end,
        CASE WHEN count(high) = count(ratio) THEN avg(ln(CASE WHEN high < 'inf' THEN high END)) END AS high_end,
        CASE WHEN bool_and(is_of_same_runs) THEN sqrt(0.0009::DOUBLE + pow(greatest(
            sqrt(sum(pow(ln(CASE WHEN low > 0 AND high < 'inf' THEN high / low END) / 2, 2))) / count(ratio),
            _t975(nullif(count(ratio) - 1, 0)) * stddev_samp(ln(CASE WHEN ratio > 0 THEN ratio END)) / sqrt(count(ratio))
        ), 2)) END AS own_reach,
        count(ratio) AS n, count(*) AS total,
        coalesce(list(_case_label(name, parameters) ORDER BY _case_label(name, parameters)) FILTER (verdict IN ('ADDED', 'FIXED')), [])
            AS added,
        coalesce(
            list(_case_label(name, parameters) ORDER BY _case_label(name, parameters)) FILTER (verdict IN ('REMOVED', 'BROKEN')), []
        ) AS removed
    FROM headline_rows
    WHERE better IS NOT NULL
    GROUP BY metric, phase, unit, suite, backend
    HAVING count(ratio) > 0
) AS metric_means
