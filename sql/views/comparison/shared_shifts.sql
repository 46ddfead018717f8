-- One row per metric × phase of a comparison that 20 cases or more have on both sides: by how much all of them moved together.
-- It is the median of the cases' effects, which `comparisons` takes out of each. A run is as slow as its machine was, so the
-- shift is judged by those of the runs before: their variance, moderated by a prior of 2 % that counts as 3 degrees of freedom,
-- so that one run each shows a shift of a tenth or more. All candidates count as one run, because they share the machine.
--
-- arguments: base, candidate, floor := 0.03, fdr := 0.05, last := 20
--
-- config    VARCHAR  Config of the candidate; NULL where the base is given.
-- host      VARCHAR  Its machine; NULL where the base is given or nobody said.
-- axes: value
-- cases     BIGINT   Cases that have the metric on both sides.
-- runs      BIGINT   Runs of the base, at most.
-- ratio     DOUBLE   Above 1 is better: base / candidate where lower is better, else candidate / base.
-- low       DOUBLE   Lower end of its 95 % interval.
-- high      DOUBLE   Upper end.
-- p         DOUBLE   Probability of so large a shift, either way, by chance.
-- verdict   VARCHAR  FASTER, SLOWER, BETTER, WORSE: by `floor` or more, and p within a fifth of `fdr`. SAME: the interval lies
--                    within the floor. UNSURE: anything else.
-- reason    VARCHAR  Why, in one line.
WITH
pairs AS (
    SELECT
        pair, CASE WHEN pair > 0 THEN min(config) END AS config,
        CASE WHEN pair > 0 THEN min(host) FILTER (side = 'candidate') END AS host
    FROM _comparison_sides(base, candidate, last)
    GROUP BY pair
),
metric_effects AS (
    SELECT
        pair, metric, phase, unit, min(better) AS better, count(effect) AS cases, median(effect) AS shift,
        list(effect) FILTER (effect IS NOT NULL) AS effects, max(run_variance) AS run_variance,
        max(run_degrees) AS run_degrees, max(base_runs) AS runs
    FROM _case_errors(base, candidate, last, floor)
    GROUP BY pair, metric, phase, unit
    HAVING count(effect) >= 20 AND min(better) IS NOT NULL
),
errors AS (
    SELECT
        *, 3 + run_degrees AS degrees,
        sqrt(
            (3 * 0.0004::DOUBLE + run_degrees * coalesce(run_variance, 0)) / (3 + run_degrees) * (1 + _median_variance(runs))
            + pow(1.4826::DOUBLE * list_median(list_transform(effects, lambda x: abs(x - shift))), 2) * _median_variance(cases)
        ) AS error
    FROM metric_effects
),
tests AS (
    SELECT
        *, CASE better WHEN 'lower' THEN -shift ELSE shift END AS gain, _t975(degrees) * error AS reach,
        2 * _t_tail(abs(shift) / error, degrees) AS p
    FROM errors
)

SELECT
    config, host, metric, phase, unit, better, cases, runs, exp(gain) AS ratio, exp(gain - reach) AS low, exp(gain + reach) AS high,
    p,
    CASE
        WHEN abs(gain) + reach <= ln(1 + floor) THEN 'SAME'
        WHEN p > fdr / 5 OR abs(gain) < ln(1 + floor) THEN 'UNSURE'
        WHEN unit = 'ns' OR unit LIKE '%/s' THEN CASE WHEN gain > 0 THEN 'FASTER' ELSE 'SLOWER' END
        ELSE CASE WHEN gain > 0 THEN 'BETTER' ELSE 'WORSE' END
    END AS verdict,
    printf('%+.1f %% shared by %d cases, taken out of each; p = %.2g', 100 * (exp(shift) - 1), cases, p)
        || CASE WHEN runs = 1 THEN '; one run tells little of how runs differ as a whole' ELSE '' END AS reason
FROM tests
JOIN pairs USING (pair)
