-- One row per metric × phase × unit × suite × backend of a comparison: the geometric mean of the ratios.
-- The interval is the geometric mean of the intervals' ends: right if the errors of all cases are the same, as where a whole
-- run was disturbed; too wide if they are independent. Left out are cold and warm-up phases, metrics without a direction,
-- extremes and spreads; `bench compare` keeps those that its options name.
--
-- arguments: base, candidate, floor := NULL
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
    SELECT *
    FROM comparisons(base, candidate, floor := floor)
    WHERE is_headline AND _is_warm(phase) AND _is_headline(metric, better)
)

SELECT
    metric, phase, unit, min(better) AS better, suite, backend,
    exp(avg(ln(CASE WHEN ratio > 0 THEN ratio END))) AS ratio,
    CASE WHEN count(low) = count(ratio) THEN exp(avg(ln(CASE WHEN low > 0 THEN low END))) END AS low,
    CASE WHEN count(high) = count(ratio) THEN exp(avg(ln(CASE WHEN high < 'inf' THEN high END))) END AS high,
    count(ratio) AS n, count(*) AS total,
    coalesce(list(_case_label(name, parameters) ORDER BY _case_label(name, parameters)) FILTER (verdict IN ('ADDED', 'FIXED')), [])
        AS added,
    coalesce(list(_case_label(name, parameters) ORDER BY _case_label(name, parameters)) FILTER (verdict IN ('REMOVED', 'BROKEN')), [])
        AS removed
FROM headline_rows
WHERE better IS NOT NULL
GROUP BY metric, phase, unit, suite, backend
HAVING count(ratio) > 0
