-- One row per metric × phase of a comparison that 20 cases or more have on both sides: by how much all of them moved together.
-- It is the median of the cases' effects, which `comparisons` takes out of each. A run is as slow as its machine was, so the
-- shift is judged by those of the runs before: their variance, moderated by a prior of 2 % that counts as 3 degrees of freedom,
-- so that one run each shows a shift of a tenth or more. All candidates count as one run, because they share the machine.
--
-- arguments: base, candidate, floor := NULL, fdr := {fdr}, last := {window}
--
-- config    VARCHAR  Config of the candidate; NULL where the base is given.
-- host      VARCHAR  Its machine; NULL where the base is given or nobody said.
-- axes: value
-- cases     BIGINT   Cases that have the metric on both sides.
-- runs      BIGINT   Runs of the base, at most.
-- ratio     DOUBLE   Above 1 is better: base / candidate where lower is better, else candidate / base.
-- low       DOUBLE   Lower end of its 95 % interval.
-- high      DOUBLE   Upper end.
-- floor     DOUBLE   Smallest change that counts, as a fraction: that of the case with the smallest.
-- p         DOUBLE   Probability of so large a shift, either way, by chance; NULL where the sides' machines may explain it.
-- verdict   VARCHAR  FASTER, SLOWER, BETTER, WORSE: by the floor or more, and p within a fifth of `fdr`. SAME: the interval lies
--                    within the floor. UNSURE: anything else.
-- reason    VARCHAR  Why, in one line.
WITH
compared_cases AS (SELECT * FROM _compared_cases(base, candidate, last, floor, fdr, false))

SELECT
    config, host, metric, phase, unit, better, cases, runs, exp(gain) AS ratio, exp(gain - reach) AS low, exp(gain + reach) AS high,
    shift_floor AS floor, p, _shift_verdict(gain, reach, p, unit, shift_floor, fdr) AS verdict, _shift_reason(shift, cases, p, runs) AS reason
FROM (
    SELECT
        config, host, metric, phase, unit, min(better) AS better, min(cases) AS cases, min(shift_runs) AS runs, min(log_shift) AS shift,
        _gain(min(log_shift), min(better)) AS gain, min(shift_reach) AS reach, min(shift_p) AS p, min(case_.floor) AS shift_floor,
        min(fdr) AS fdr
    FROM compared_cases AS case_
    WHERE cases >= 20
    GROUP BY pair, config, host, metric, phase, unit
    HAVING min(better) IS NOT NULL
) AS metric_shifts
