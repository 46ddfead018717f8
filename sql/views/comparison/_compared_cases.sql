-- One row per case × metric × phase × unit measured on either side of a comparison, and per case that failed without a number: what
-- `comparisons` shows, and what `regressions` needs beside it.
--
-- arguments: base, candidate, last, floor, fdr
--
-- pair              BIGINT   Number of the config and host that are judged apart; 0 where the base is given.
-- config            VARCHAR  Config of the candidate; NULL where the base is given.
-- host              VARCHAR  Its machine; NULL where the base is given or nobody said.
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
-- shift             DOUBLE   Ratio that all cases of the metric share, which is taken out before the case is judged; NULL of
--                            fewer than 20 cases (shared_shifts).
-- detectable        DOUBLE   Smallest change, as a fraction, that an error of this size would show four times in five.
-- noise             DOUBLE   Standard deviation of ln(value) from run to run, as used here; NULL unknown.
-- p                 DOUBLE   Probability of so large a difference, either way, if there were none.
-- q                 DOUBLE   Share of false alarms to expect if this row and all with a smaller p were called changed.
-- verdict           VARCHAR  FASTER or SLOWER (times and rates), BETTER or WORSE (all else): changed by `floor` or more, with
--                            q within `fdr`. SAME: the whole interval lies within the floor. ADDED, REMOVED: measured on one
--                            side only. BROKEN, FIXED: failed, wrong or skipped on one side only. UNSURE: anything else.
--                            NULL where neither way is better.
-- evidence          VARCHAR  Runs on each side, machines of the candidate, and whether its runs confirm each other.
-- reason            VARCHAR  Why, in one line.
-- base_status       VARCHAR  ok, or how the case failed in any run of the base, or its accuracy; NULL where that is not
--                            known.
-- candidate_status  VARCHAR  The same of the candidate.
-- first_place       BIGINT   Place in time of the first run of the candidate that measured it.
-- base_places       BIGINT[]  Places of the runs of the base that have a logarithm.
-- base_deviations   DOUBLE[]  Distances of these from the base's value, in the same order.
-- effect            DOUBLE   ln(candidate / base), of a count of 1 + value; NULL where a side has no logarithm.
-- log_shift         DOUBLE   Median effect of all cases of the metric; 0 of fewer than 20 cases.
-- axes: shifts without shift
WITH
pairs AS (
    SELECT
        pair, CASE WHEN pair > 0 THEN min(config) END AS config,
        CASE WHEN pair > 0 THEN min(host) FILTER (side = 'candidate') END AS host,
        count(DISTINCT coalesce(host, '')) FILTER (side = 'candidate') AS hosts,
        count(*) FILTER (side = 'base') AS base_total, bool_or(is_anywhere) AS is_anywhere
    FROM _comparison_sides(base, candidate, last)
    GROUP BY pair
),
side_values AS (
    SELECT
        coalesce(judged.pair, ended.pair) AS pair, coalesce(judged.case_id, ended.case_id) AS case_id, metric, phase, unit, better,
        CASE WHEN NOT coalesce(base_void, false) THEN base_value END AS base_value,
        CASE WHEN NOT coalesce(candidate_void, false) THEN candidate_value END AS candidate_value,
        base_runs, candidate_runs, base_n, candidate_n, effect, first_place, base_places, base_deviations, is_repeated,
        cases, shift, shift_reach, shift_p, shift_runs, change, noise, error, reach, is_exact, p, q,
        tests, verdict, base_status, candidate_status, base_reason, candidate_reason, base_failed, candidate_failed, base_void,
        candidate_void
    FROM _case_verdicts(base, candidate, last, floor, fdr) AS judged
    FULL JOIN _comparison_endings(base, candidate, last) AS ended
        ON judged.pair = ended.pair AND judged.case_id = ended.case_id
    WHERE metric IS NOT NULL OR base_failed > 0 OR candidate_failed > 0 OR base_void OR candidate_void
),
measured_sides AS (
    SELECT
        *, base_value IS NOT NULL AS has_base, candidate_value IS NOT NULL AS has_candidate,
        CASE
            WHEN NOT (base_value > 0 AND candidate_value > 0 AND base_value / candidate_value BETWEEN 1e-300 AND 1e300) THEN NULL
            WHEN better = 'lower' THEN ln(base_value / candidate_value)
            ELSE ln(candidate_value / base_value)
        END AS log_ratio,
        exp(reach + 0.8416212335729143::DOUBLE * error) - 1 AS detectable
    FROM side_values
),
verdicts AS (
    SELECT
        * EXCLUDE verdict, CASE
            WHEN has_base AND has_candidate THEN verdict
            WHEN NOT has_base AND NOT has_candidate AND base_failed > 0 AND candidate_failed > 0 THEN 'UNSURE'
            WHEN has_base OR NOT has_candidate AND candidate_void
                THEN CASE WHEN candidate_status IS NULL THEN 'REMOVED' ELSE 'BROKEN' END
            WHEN has_candidate OR base_void THEN CASE WHEN base_status IS NULL THEN 'ADDED' ELSE 'FIXED' END
            WHEN base_failed > 0 THEN 'REMOVED'
            ELSE 'ADDED'
        END AS verdict
    FROM measured_sides
)

SELECT
    pair, config, host,
    case_id, work_hash, suite, name, mode, device, dtype, backend, batch_size, sequence_length, parameters, metric, phase,
    unit, better, base_value, candidate_value,
    CASE WHEN has_base THEN base_runs END AS base_runs, CASE WHEN has_candidate THEN candidate_runs END AS candidate_runs,
    CASE WHEN has_base THEN base_n END AS base_n, CASE WHEN has_candidate THEN candidate_n END AS candidate_n,
    candidate_value - base_value AS difference, exp(log_ratio) AS ratio, _finite(exp(log_ratio - reach)) AS low,
    _finite(exp(log_ratio + reach)) AS high,
    CASE WHEN shift <> 0 THEN _finite(exp(CASE better WHEN 'lower' THEN -shift ELSE shift END)) END AS shift,
    _finite(detectable) AS detectable, noise, p, q, verdict,
    CASE WHEN has_base AND has_candidate THEN concat_ws(
        '',
        CASE WHEN base_runs = 1 AND candidate_runs = 1 THEN 'one run each'
            ELSE printf('%d against %d run%s', base_runs, candidate_runs, CASE WHEN candidate_runs = 1 THEN '' ELSE 's' END) END,
        CASE WHEN hosts > 1 THEN printf(' on %d hosts', hosts) END,
        CASE WHEN verdict IN ('SLOWER', 'WORSE', 'FASTER', 'BETTER')
            THEN CASE WHEN is_repeated THEN ', confirmed' ELSE ', not confirmed' END END
    ) END AS evidence,
    concat_ws(
        '; ',
        CASE
            WHEN NOT has_candidate AND candidate_status IS NULL THEN 'not measured by the candidate'
            WHEN NOT has_base AND base_total = 0 THEN 'no earlier run of its config on its host'
            WHEN NOT has_base AND base_status IS NULL THEN 'not measured by the base'
            WHEN NOT (has_candidate AND has_base) THEN NULL
            WHEN verdict IS NULL THEN 'neither way is better'
            WHEN is_exact AND base_value = candidate_value THEN 'equal'
            WHEN is_exact THEN 'a count, taken to be exact'
            WHEN verdict = 'SAME' THEN printf('within %g %%', 100 * floor)
            WHEN verdict <> 'UNSURE' THEN CASE WHEN q < 0.001 THEN 'q below 0.001' ELSE format('q = {:.2g}', q) END
            WHEN effect IS NULL THEN 'a value of 0 or less has no ratio'
            WHEN noise IS NULL THEN 'noise from run to run unknown: measure each side again'
                || CASE WHEN error IS NULL THEN '' ELSE ' (the interval is that of the samples)' END
            WHEN abs(change) >= ln(1 + floor) AND p <= fdr
                THEN format('chance alone does this to one of {}, q = {:.2g}', tests, q)
            WHEN abs(change) > reach THEN printf('a difference, but it may be less than %g %%', 100 * floor)
            WHEN detectable > 9 THEN 'no difference found (smallest detectable: over 10x)'
            ELSE printf('no difference found (smallest detectable: %.1f %%)', 100 * detectable)
        END,
        CASE WHEN noise IS NOT NULL AND has_base AND has_candidate AND effect IS NOT NULL
            THEN printf('noise of a run %.1f %%', 100 * noise) END,
        CASE WHEN candidate_runs > 1 AND abs(change) < 0.7::DOUBLE * abs(effect - shift)
            THEN 'its runs disagree' END,
        CASE WHEN abs(shift) >= ln(1 + floor) AND has_base AND has_candidate AND NOT is_exact
            THEN printf('beyond the %+.1f %% that all cases share', 100 * (exp(shift) - 1)) END,
        CASE WHEN is_anywhere THEN 'baseline of other hosts' END,
        'base ' || base_status
            || CASE WHEN has_base AND base_failed > 0
                THEN printf(' in %d of %d runs', base_failed, base_failed + base_runs) ELSE '' END
            || coalesce(': ' || base_reason, ''),
        'candidate ' || candidate_status
            || CASE WHEN has_candidate AND candidate_failed > 0
                THEN printf(' in %d of %d runs', candidate_failed, candidate_failed + candidate_runs) ELSE '' END
            || coalesce(': ' || candidate_reason, '')
    ) AS reason,
    CASE WHEN base_status IS NULL AND (has_base OR candidate_void) THEN 'ok' ELSE base_status END AS base_status,
    CASE WHEN candidate_status IS NULL AND (has_candidate OR base_void) THEN 'ok' ELSE candidate_status END AS candidate_status,
    first_place, base_places, base_deviations, effect, verdicts.shift AS log_shift, cases, shift_reach, shift_p, shift_runs
FROM verdicts
JOIN pairs USING (pair)
LEFT JOIN case_axes USING (case_id)
