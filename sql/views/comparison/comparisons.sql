-- One row per case × metric × phase measured on either side of a comparison, and per case that failed without a number.
-- The same case means the same axes, the backend among them. The run, not the sample, is the unit of evidence: a value is
-- the median over a side's runs of their medians, its error that between runs, as they show it or earlier runs do (see
-- `_comparison_samples`). The interval is Student's t on the errors of both sides, with the smaller of their degrees of
-- freedom, in logarithms. Where nothing is known of noise from run to run it is that of the samples alone, and the reason
-- says so. A count of unknown noise is taken to be exact, and what is no time and equal to the last digit is the same.
--
-- arguments: base, candidate, margin := 0.02
--
-- axes: case, value
-- metric            VARCHAR  What was measured; NULL for a case that failed and left no number on either side.
-- base_value        DOUBLE   Value of `base`, a list of run ids; NULL where it did not measure it, or its numbers do not
--                            count.
-- candidate_value   DOUBLE   Value of `candidate`, the list of run ids under judgement.
-- base_runs         BIGINT   Runs behind the value; NULL without one.
-- candidate_runs    BIGINT   The same of the candidate.
-- base_n            BIGINT   Samples in all of them.
-- candidate_n       BIGINT   The same of the candidate.
-- difference        DOUBLE   Candidate - base, in the unit.
-- ratio             DOUBLE   Above 1 is better: base / candidate where lower is better, candidate / base where higher is,
--                            or where neither is. NULL where a side is missing, or has no value above 0.
-- low               DOUBLE   Lower end of its 95 % interval; NULL where nothing tells the error.
-- high              DOUBLE   Upper end.
-- detectable        DOUBLE   Smallest change, as a fraction, that an error of this size would show four times in five.
-- noise             DOUBLE   Standard deviation of ln(value) from run to run, as used here; NULL unknown.
-- p                 DOUBLE   Probability of so large a difference, either way, if there were none.
-- verdict           VARCHAR  FASTER or SLOWER (times and rates), BETTER or WORSE (all else): the interval excludes 1, and
--                            the ratio is `margin` away from it or more. SAME: the whole interval lies within the margin.
--                            ONLY-THERE: only the base has it. ONLY-HERE: only the candidate has it. UNSURE: anything else.
--                            NULL where neither way is better.
-- reason            VARCHAR  Why, in one line.
-- base_status       VARCHAR  ok, or how the case failed in any run of the base, or its accuracy; NULL where that is not
--                            known.
-- candidate_status  VARCHAR  The same of the candidate.
WITH
side_values AS (
    SELECT
        coalesce(sample.case_id, ended.case_id) AS case_id, metric, phase, unit, better,
        CASE WHEN NOT coalesce(base_void, false) THEN base_value END AS base_value,
        CASE WHEN NOT coalesce(candidate_void, false) THEN candidate_value END AS candidate_value,
        base_runs, candidate_runs, base_n, candidate_n, noise, error, degrees, base_status, candidate_status, base_reason,
        candidate_reason, base_failed, candidate_failed, base_void, candidate_void
    FROM _comparison_samples(base, candidate) AS sample
    FULL JOIN _comparison_endings(base, candidate) AS ended ON sample.case_id = ended.case_id
    WHERE metric IS NOT NULL OR base_failed > 0 OR candidate_failed > 0 OR base_void OR candidate_void
),
effects AS (
    SELECT
        *, base_value IS NOT NULL AS there, candidate_value IS NOT NULL AS here,
        CASE WHEN better = 'lower' THEN base_value - candidate_value ELSE candidate_value - base_value END AS gain,
        CASE
            WHEN NOT (base_value > 0 AND candidate_value > 0 AND base_value / candidate_value BETWEEN 1e-300 AND 1e300) THEN NULL
            WHEN better = 'lower' THEN ln(base_value / candidate_value)
            ELSE ln(candidate_value / base_value)
        END AS effect,
        _t975(degrees) AS t
    FROM side_values
),
intervals AS (
    SELECT
        *, effect - t * error AS lowest, effect + t * error AS highest,
        exp((t + 0.8416212335729143::DOUBLE) * error) - 1 AS detectable,
        (effect IS NULL OR error IS NULL)
            AND (unit = 'count' OR gain = 0 AND coalesce(NOT (unit = 'ns' OR unit LIKE '%/s'), true)) AS exact
    FROM effects
),
verdicts AS (
    SELECT
        *,
        CASE
            WHEN NOT there AND NOT here THEN CASE
                WHEN base_failed > 0 AND candidate_failed > 0 THEN 'UNSURE'
                WHEN candidate_void OR base_failed > 0 THEN 'ONLY-THERE'
                ELSE 'ONLY-HERE'
            END
            WHEN NOT here THEN 'ONLY-THERE'
            WHEN NOT there THEN 'ONLY-HERE'
            WHEN better IS NULL THEN NULL
            WHEN exact AND gain = 0 OR lowest >= -ln(1 + margin) AND highest <= ln(1 + margin) THEN 'SAME'
            WHEN exact OR (lowest > 0 OR highest < 0) AND abs(effect) >= ln(1 + margin) THEN CASE
                WHEN unit = 'ns' OR unit LIKE '%/s' THEN CASE WHEN gain > 0 THEN 'FASTER' ELSE 'SLOWER' END
                ELSE CASE WHEN gain > 0 THEN 'BETTER' ELSE 'WORSE' END
            END
            ELSE 'UNSURE'
        END AS verdict
    FROM intervals
)

SELECT
    case_id, work_hash, suite, name, mode, device, dtype, backend, batch_size, sequence_length, parameters, metric, phase,
    unit, better, base_value, candidate_value,
    CASE WHEN there THEN base_runs END AS base_runs, CASE WHEN here THEN candidate_runs END AS candidate_runs,
    CASE WHEN there THEN base_n END AS base_n, CASE WHEN here THEN candidate_n END AS candidate_n,
    candidate_value - base_value AS difference, exp(effect) AS ratio, _finite(exp(lowest)) AS low, _finite(exp(highest)) AS high, _finite(detectable) AS detectable,
    noise,
    CASE
        WHEN error > 0 THEN 2 * _t_tail(abs(effect) / error, degrees)
        WHEN effect <> 0 THEN 0 * error
        WHEN effect = 0 THEN 1 + 0 * error
    END AS p,
    verdict,
    concat_ws(
        '; ',
        CASE
            WHEN NOT here AND candidate_status IS NULL THEN 'not measured by the candidate'
            WHEN NOT there AND base_status IS NULL THEN 'not measured by the base'
            WHEN NOT (here AND there) THEN NULL
            WHEN verdict IS NULL THEN 'neither way is better'
            WHEN exact AND gain = 0 THEN 'equal'
            WHEN exact THEN 'a count, taken to be exact'
            WHEN verdict = 'SAME' THEN printf('within %g %%', 100 * margin)
            WHEN verdict <> 'UNSURE' THEN NULL
            WHEN effect IS NULL THEN 'a value of 0 or less has no ratio'
            WHEN error IS NULL THEN 'single samples, and no other runs to tell their noise'
            WHEN lowest <= 0 AND highest >= 0 AND detectable > 9 THEN 'no difference found (smallest detectable: over 10x)'
            WHEN lowest <= 0 AND highest >= 0
                THEN printf('no difference found (smallest detectable: %.1f %%)', 100 * detectable)
            ELSE printf('a difference, but it may be less than %g %%', 100 * margin)
        END,
        CASE
            WHEN effect IS NULL OR error IS NULL THEN NULL
            WHEN base_runs = 1 AND candidate_runs = 1 THEN 'one run each'
            ELSE printf('%d against %d run%s', base_runs, candidate_runs, CASE WHEN candidate_runs = 1 THEN '' ELSE 's' END)
        END,
        CASE
            WHEN effect IS NULL OR error IS NULL THEN NULL
            WHEN noise IS NULL THEN 'noise from run to run unknown: interval of the samples only'
            ELSE printf('noise of a run %.1f %%', 100 * noise)
        END,
        'base ' || base_status
            || CASE WHEN there AND base_failed > 0
                THEN printf(' in %d of %d runs', base_failed, base_failed + base_runs) ELSE '' END
            || coalesce(': ' || base_reason, ''),
        'candidate ' || candidate_status
            || CASE WHEN here AND candidate_failed > 0
                THEN printf(' in %d of %d runs', candidate_failed, candidate_failed + candidate_runs) ELSE '' END
            || coalesce(': ' || candidate_reason, '')
    ) AS reason,
    CASE WHEN base_status IS NULL AND (there OR candidate_void) THEN 'ok' ELSE base_status END AS base_status,
    CASE WHEN candidate_status IS NULL AND (here OR base_void) THEN 'ok' ELSE candidate_status END AS candidate_status
FROM verdicts
LEFT JOIN case_axes USING (case_id)
