-- One row per case of a serving benchmark × metric that runs of both sides measured: what the candidate changed.
-- Runs and requests of a side are put together as in `serving_metrics`: the error is by runs where a side has several of a case, else
-- by blocks of time in its only run, which says nothing of how the next run would differ: where the other side has several runs, these
-- tell it, if they differ more than the blocks say; where neither has, it is assumed, as in `comparisons` (_assumed_reach). The interval is that of the logarithm of the ratio, Student's t with the degrees of
-- freedom of Welch and Satterthwaite, or those of the runs where they stand for both sides. A change counts if it is as large as the
-- `floor` (_floor_of), and its q, adjusted over all rows by Benjamini and Hochberg, at most `fdr`; where runs are assumed to differ, it is
-- likely if the interval excludes the floor. Where one side served nothing, which has
-- no logarithm, p is that of the difference.
--
-- arguments: base, candidate, ttft := NULL, tpot := NULL, e2e := NULL, floor := NULL, fdr := {fdr}
--
-- case_id          VARCHAR  Case: the model with its load and settings.
-- name             VARCHAR  Model.
-- backend          VARCHAR  Engine.
-- parameters       JSON     Load and settings.
-- metric           VARCHAR  Metric of `serving_metrics` that has a direction.
-- unit             VARCHAR  Its unit.
-- better           VARCHAR  'higher' or 'lower'.
-- base_value       DOUBLE   Value of the base.
-- candidate_value  DOUBLE   Value of the candidate.
-- ratio            DOUBLE   How many times better the candidate is: above 1 is better, 0 where it served nothing, NULL where the base
--                           did.
-- low              DOUBLE   Lower end of its 95 % interval; NULL where a side has no error or served nothing.
-- high             DOUBLE   Upper end.
-- p                DOUBLE   Probability of a ratio so far from 1, either way, if nothing changed; NULL where a side has no error, or sessions are assumed.
-- q                DOUBLE   The same, adjusted for the number of rows.
-- verdict          VARCHAR  FASTER, SLOWER (times and rates), BETTER, WORSE (all else), the same after LIKELY, SAME (surely within the
--                           floor) or UNSURE.
-- evidence         VARCHAR  What the interval is over, of each side, or for both.
WITH
sides AS (
    SELECT 'base' AS side, * FROM serving_metrics(ttft := ttft, tpot := tpot, e2e := e2e, runs := base)
    UNION ALL
    SELECT 'candidate', * FROM serving_metrics(ttft := ttft, tpot := tpot, e2e := e2e, runs := candidate)
),
side_values AS (  -- runs of several configs on a side are several runs
    SELECT
        side, case_id, metric, min(name) AS name, min(backend) AS backend, min(parameters) AS parameters, min(unit) AS unit,
        min(better) AS better, avg(value) AS value,
        CASE WHEN count(*) > 1 THEN stddev_samp(value) / sqrt(count(*)) ELSE min(error) END AS error,
        CASE WHEN count(*) > 1 THEN stddev_samp(value) WHEN min(n_runs) > 1 THEN min(error) * sqrt(min(n_runs)) END AS run_noise,
        CASE WHEN count(*) > 1 THEN count(*) - 1 ELSE min(degrees) END AS degrees,
        CASE WHEN count(*) > 1 THEN count(*) || ' configs'
            WHEN min(n_runs) > 1 THEN min(n_runs) || ' runs' ELSE min(blocks) || ' blocks' END AS evidence
    FROM sides
    WHERE better IS NOT NULL
    GROUP BY side, case_id, metric
),
effects AS (
    SELECT
        one.case_id, one.name, one.backend, one.parameters, one.metric, one.unit, one.better, one.value AS base_value,
        other.value AS candidate_value,
        CASE
            WHEN one.value > 0 AND other.value > 0
            THEN CASE one.better WHEN 'higher' THEN ln(other.value / one.value) ELSE ln(one.value / other.value) END
            WHEN one.better = 'higher' AND one.value > 0 AND other.value = 0 THEN '-inf'::DOUBLE
            WHEN one.better = 'higher' AND one.value = 0 AND other.value > 0 THEN 'inf'::DOUBLE
        END AS effect,
        one.value > 0 AND other.value > 0 AS is_ratio, is_ratio AND one.run_noise IS NULL AND other.run_noise IS NULL AS is_assumed, abs(other.value - one.value) AS difference,
        pow(one.error / CASE WHEN is_ratio THEN one.value ELSE 1 END, 2) AS base_own,
        pow(other.error / CASE WHEN is_ratio THEN other.value ELSE 1 END, 2) AS candidate_own,
        CASE WHEN one.run_noise IS NULL THEN pow(other.run_noise / CASE WHEN is_ratio THEN other.value ELSE 1 END, 2) END AS base_lent,
        CASE WHEN other.run_noise IS NULL THEN pow(one.run_noise / CASE WHEN is_ratio THEN one.value ELSE 1 END, 2) END AS candidate_lent,
        _floor_of(floor, floors, floor_metrics, floor_names, one.metric, one.name) AS case_floor, one.degrees AS base_degrees, other.degrees AS candidate_degrees,
        one.evidence AS base_evidence, other.evidence AS candidate_evidence
    FROM side_values AS one
    JOIN side_values AS other ON one.case_id = other.case_id AND one.metric = other.metric
    CROSS JOIN _floor_rules
    WHERE one.side = 'base' AND other.side = 'candidate'
),
variances AS (
    SELECT
        *, CASE WHEN base_lent > base_own THEN base_lent ELSE base_own END AS base_variance,
        CASE WHEN candidate_lent > candidate_own THEN candidate_lent ELSE candidate_own END AS candidate_variance
    FROM effects
),
tested AS (
    SELECT
        *, sqrt(base_variance + candidate_variance) AS error,
        CASE WHEN base_lent > base_own THEN candidate_degrees WHEN candidate_lent > candidate_own THEN base_degrees
            ELSE pow(base_variance + candidate_variance, 2) / nullif(
                pow(base_variance, 2) / base_degrees + pow(candidate_variance, 2) / candidate_degrees, 0
            )
        END AS degrees,
        CASE WHEN base_lent > base_own THEN candidate_evidence || ' for both' WHEN candidate_lent > candidate_own THEN base_evidence || ' for both'
            ELSE coalesce(base_evidence, 'too few requests') || ' against ' || coalesce(candidate_evidence, 'too few requests')
        END AS evidence
    FROM variances
),
judged AS (
    SELECT
        *, CASE WHEN is_assumed THEN _assumed_reach(metric, NULL, unit, NULL) END AS session_reach,
        sqrt(pow(coalesce(session_reach, 0), 2) + CASE WHEN error = 0 THEN 0 ELSE pow(_t975(degrees) * error, 2) END) AS reach,
        CASE
            WHEN is_assumed THEN NULL
            WHEN error > 0 AND effect IS NOT NULL
            THEN least(2 * _t_tail(CASE WHEN is_ratio THEN abs(effect) ELSE difference END / error, degrees), 1)
            WHEN error = 0 AND effect <> 0 THEN 0
        END AS p
    FROM tested
),
ranked AS (
    SELECT *, row_number() OVER (ORDER BY p NULLS LAST) AS place, count(p) OVER () AS tests FROM judged
),
adjusted AS (
    SELECT
        *, CASE WHEN p IS NOT NULL THEN _q_value(p, tests, place, NULL) END AS q,
        _change_verdict(effect > 0, CASE WHEN unit = 'ms' THEN 'ns' ELSE unit END) AS change
    FROM ranked
)

SELECT
    case_id, name, backend, parameters, metric, unit, better, base_value, candidate_value, _finite(exp(effect)) AS ratio,
    CASE WHEN is_ratio THEN exp(effect - reach) END AS low, CASE WHEN is_ratio THEN _finite(exp(effect + reach)) END AS high, p, q,
    CASE
        WHEN q <= fdr AND abs(effect) >= ln(1 + case_floor) THEN change
        WHEN is_assumed AND abs(effect) - reach > ln(1 + case_floor) THEN 'LIKELY ' || change
        WHEN abs(effect) + reach < ln(1 + case_floor) THEN 'SAME'
        ELSE 'UNSURE'
    END AS verdict,
    evidence || CASE WHEN reach > 0 AND is_assumed THEN printf(', sessions assumed within %.1f %%', 100 * session_reach) ELSE '' END AS evidence
FROM adjusted
