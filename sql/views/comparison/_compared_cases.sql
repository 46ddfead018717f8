-- One row per case × metric × phase × unit measured on either side of a comparison, and per case that failed without a number: what
-- `comparisons` shows, and what `regressions` needs beside it. `_compared_numbers` in words and in the units of the values.
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
-- streak            BIGINT   Runs of the base before the candidate, without a gap, that are as the candidate is.
-- since_place       BIGINT   Place of the first of these, or of the candidate's first run where there is none.
-- good_place        BIGINT   Place of the last run of the base before them; NULL where there is none.
-- log_shift         DOUBLE   Median effect of all cases of the metric; 0 of fewer than 20 cases.
-- base_total        BIGINT   Runs of the base, whatever they measured.
-- axes: shifts without shift
WITH
numbers AS (
    SELECT *, base_value IS NOT NULL AS has_base, candidate_value IS NOT NULL AS has_candidate
    FROM _compared_numbers(base, candidate, last, floor, fdr)
)

SELECT
    pair, config, host, case_id, work_hash, suite, name, mode, device, dtype, backend, batch_size, sequence_length, parameters, metric,
    phase, unit, better, base_value, candidate_value, base_runs, candidate_runs, base_n, candidate_n,
    candidate_value - base_value AS difference, exp(log_ratio) AS ratio, _finite(exp(log_ratio - reach)) AS low,
    _finite(exp(log_ratio + reach)) AS high,
    CASE WHEN shift <> 0 THEN _finite(exp(_gain(shift, better))) END AS shift,
    detectable, noise, p, q, verdict,
    CASE WHEN has_base AND has_candidate THEN _comparison_evidence(base_runs, candidate_runs, hosts, verdict, is_repeated) END
        AS evidence,
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
            WHEN error IS NULL THEN 'fewer than 6 samples on a side: one slow sample decides'
            WHEN size_effect <> 0
                THEN printf('its steps have %.2f times the tokens: compare costs with bench cost-model', exp(size_effect))
            WHEN abs(change) >= ln(1 + floor) AND p <= fdr
                THEN format('chance alone does this to {} of {}, q = {:.2g}', coalesce(nullif(round(p * tests), 0), 1)::BIGINT, tests, q)
            WHEN tied > fdr AND abs(change) > reach THEN 'other runs of the base differ as much'
            WHEN abs(change) > reach THEN printf('a difference, but it may be less than %g %%', 100 * floor)
            WHEN detectable > 9 OR detectable IS NULL AND error > 0 THEN 'no difference found (smallest detectable: over 10x)'
            ELSE printf('no difference found (smallest detectable: %.1f %%)', 100 * detectable)
        END,
        CASE WHEN noise IS NOT NULL AND has_base AND has_candidate AND effect IS NOT NULL
            THEN printf('noise of a run %.1f %%', 100 * noise) END,
        CASE WHEN candidate_runs > 1 AND size_effect = 0 AND abs(change) < 0.7::DOUBLE * abs(effect - shift)
            THEN 'its runs disagree' END,
        CASE WHEN abs(shift) >= ln(1 + floor) AND has_base AND has_candidate AND NOT is_exact
            THEN printf('beyond the %+.1f %% that all cases share', 100 * (exp(shift) - 1)) END,
        CASE WHEN size_effect <> 0 AND verdict <> 'UNSURE'
            THEN printf('its steps have %.2f times the tokens', exp(size_effect)) END,
        CASE WHEN is_anywhere THEN 'baseline of other hosts' END,
        _ending_reason('base', base_status, base_failed, base_runs, base_reason),
        _ending_reason('candidate', candidate_status, candidate_failed, candidate_runs, candidate_reason)
    ) AS reason,
    CASE WHEN base_status IS NULL AND (has_base OR candidate_void) THEN 'ok' ELSE base_status END AS base_status,
    CASE WHEN candidate_status IS NULL AND (has_candidate OR base_void) THEN 'ok' ELSE candidate_status END AS candidate_status,
    first_place, streak, since_place, good_place, numbers.shift AS log_shift, base_total, cases, shift_reach, shift_p, shift_runs
FROM numbers
