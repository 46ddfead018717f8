-- One row per case × metric × phase × unit measured on either side of a comparison, and per case that failed without a number: what
-- `comparisons` shows, and what `regressions` needs beside it: the numbers of `_case_verdicts`, then in words and in the units of the values.
--
-- arguments: base, candidate, last, floor, fdr, across
--
-- pair         BIGINT   Number of the config and class of machine that are judged apart; 0 where the base is given.
-- from: comparisons
-- first_place  BIGINT   Place in time of the first run of the candidate that measured it.
-- streak       BIGINT   Runs of the base before the candidate, without a gap, that are as the candidate is.
-- since_place  BIGINT   Place of the first of these, or of the candidate's first run where there is none.
-- good_place   BIGINT   Place of the last run of the base before them; NULL where there is none.
-- log_shift    DOUBLE   Median effect of all cases of the metric; 0 of fewer than 20 cases.
-- own_reach    DOUBLE   Half of the 95 % interval of the logarithm of the ratio by the case alone, see `_case_errors`.
-- base_total   BIGINT   Runs of the base, whatever they measured.
-- axes: shifts without shift
WITH
pairs AS (
    SELECT
        pair, CASE WHEN pair > 0 THEN min(config) END AS config,
        CASE WHEN pair > 0 THEN min(host) FILTER (side = 'candidate') END AS host,
        count(DISTINCT host) FILTER (side = 'candidate') AS hosts,
        count(*) FILTER (side = 'base') AS base_total, bool_or(is_anywhere) AS is_anywhere, bool_or(is_other_machine) AS is_other_class
    FROM _comparison_sides(base, candidate, last)
    GROUP BY pair
),
side_values AS (
    SELECT
        coalesce(judged.pair, ended.pair) AS pair, coalesce(judged.case_id, ended.case_id) AS case_id,
        judged.* EXCLUDE (pair, series_id, case_id, base_value, candidate_value, verdict), verdict AS number_verdict,
        CASE WHEN NOT coalesce(base_void, false) THEN base_value END AS base_value,
        CASE WHEN NOT coalesce(candidate_void, false) THEN candidate_value END AS candidate_value,
        CASE WHEN abs(shift) >= ln(1 + case_floor) OR shift <> 0 AND is_other_machine THEN coalesce(shift_reach, 0) ELSE 0 END
            AS shared_reach,
        ended.* EXCLUDE (pair, case_id)
    FROM _case_verdicts(base, candidate, last, floor, fdr, across) AS judged
    FULL JOIN _comparison_endings(base, candidate, last) AS ended
        ON judged.pair = ended.pair AND judged.case_id = ended.case_id
    WHERE metric IS NOT NULL OR base_failed > 0 OR candidate_failed > 0 OR base_void OR candidate_void
),
measured_sides AS (
    SELECT
        * REPLACE (
            CASE WHEN base_value IS NOT NULL THEN base_runs END AS base_runs,
            CASE WHEN candidate_value IS NOT NULL THEN candidate_runs END AS candidate_runs,
            CASE WHEN base_value IS NOT NULL THEN base_n END AS base_n,
            CASE WHEN candidate_value IS NOT NULL THEN candidate_n END AS candidate_n
        ),
        base_value IS NOT NULL AS has_base, candidate_value IS NOT NULL AS has_candidate,
        CASE
            WHEN NOT (base_value > 0 AND candidate_value > 0 AND base_value / candidate_value BETWEEN 1e-300 AND 1e300) THEN NULL
            WHEN better = 'lower' THEN ln(base_value / candidate_value)
            ELSE ln(candidate_value / base_value)
        END AS log_ratio,
        CASE WHEN is_exact THEN 0 ELSE effect - shift - change_low + shared_reach END AS below,
        CASE WHEN is_exact THEN 0 ELSE change_high - effect + shift + shared_reach END AS above,
        _finite(exp(reach + 0.8416212335729143::DOUBLE * error) - 1) AS detectable
    FROM side_values
),
latencies AS (
    SELECT pair, case_id, max(log_ratio) AS own_log_ratio
    FROM measured_sides
    WHERE metric IN ('latency', 'absolute_latency') AND _is_warm(phase)
    GROUP BY pair, case_id
),
numbers AS (
    SELECT
        * EXCLUDE (number_verdict, below, above, shared_reach),
        log_ratio - CASE WHEN better = 'lower' THEN above ELSE below END AS log_low,
        log_ratio + CASE WHEN better = 'lower' THEN below ELSE above END AS log_high,
        CASE
            WHEN has_base AND has_candidate THEN number_verdict
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
    numbers.pair, config, host, numbers.case_id, work_hash, {axes}, metric,
    phase, unit, better, base_value, candidate_value, base_runs, candidate_runs, base_n, candidate_n,
    candidate_value - base_value AS difference, exp(log_ratio) AS ratio, _finite(exp(log_low)) AS low, _finite(exp(log_high)) AS high,
    CASE WHEN shift <> 0 THEN _finite(exp(_gain(shift, better))) END AS shift,
    case_floor AS floor, detectable, noise, p, q, verdict,
    CASE WHEN has_base AND has_candidate THEN _comparison_evidence(base_runs, candidate_runs, hosts, verdict, is_repeated) END
        AS evidence,
    concat_ws(
        '; ',
        CASE
            WHEN NOT has_candidate AND candidate_status IS NULL THEN 'not measured by the candidate'
            WHEN NOT has_base AND base_total = 0 THEN 'no earlier run of its config on its class of machine'
            WHEN NOT has_base AND base_status IS NULL THEN 'not measured by the base'
            WHEN NOT (has_candidate AND has_base) THEN NULL
            WHEN better IS NULL AND verdict IS NULL THEN 'neither way is better'
            WHEN verdict IS NULL AND phase = 'warmup' THEN 'calls that warm up'
            WHEN verdict IS NULL AND NOT _is_warm(phase) THEN 'one cold call a run'
            WHEN verdict IS NULL THEN printf('another statistic of %s', _measurement(metric))
            WHEN is_exact AND base_value = candidate_value THEN 'equal'
            WHEN is_exact THEN 'a count, exact'
            WHEN _is_failures(metric) THEN concat(
                format('{:.0f}{} failed, then {:.0f}{}', base_value, coalesce(format(' of {:.0f}', base_trials), ''), candidate_value,
                    coalesce(format(' of {:.0f}', candidate_trials), '')),
                CASE WHEN verdict = 'UNSURE' THEN ': chance does as much' END
            )
            WHEN verdict = 'SAME' THEN printf('within %g %%', 100 * case_floor)
            WHEN effect IS NULL THEN 'a value of 0 or less has no ratio'
            WHEN size_effect <> 0 AND verdict = 'UNSURE'
                THEN printf('its steps have %.2f times the tokens: compare costs with bench cost-model', exp(size_effect))
            WHEN is_other_machine
                THEN CASE WHEN is_other_class THEN 'another class of machine' ELSE 'all cases moved together, and no processor is known: it may be another machine' END
                    || printf(', taken to differ by %.0f %% from case to case', 100 * (exp(session_reach) - 1))
            WHEN is_assumed THEN _assumption(cases, session_reach, usual_reach, doctor_reach, cases_reach, base_processes, candidate_processes)
            WHEN p IS NULL THEN 'fewer than 6 samples on a side'
            WHEN verdict = 'UNSURE' AND tied > fdr AND abs(change) > reach THEN 'other runs of the base differ as much'
            WHEN verdict = 'UNSURE' AND rank_p > fdr AND abs(change) > reach THEN 'the runs of both sides overlap, as chance may have it'
            WHEN verdict = 'UNSURE' AND abs(change) > reach AND abs(change) >= ln(1 + case_floor) AND q <= 3 * fdr
                THEN printf('changed beyond the %+.1f %% that all cases share, but not as it stands', 100 * (exp(numbers.shift) - 1))
            WHEN verdict = 'UNSURE' AND abs(change) > reach AND (abs(change) < ln(1 + case_floor) OR p > fdr)
                THEN printf('a difference, but it may be less than %g %%', 100 * case_floor)
            WHEN starts_with(verdict, 'LIKELY') OR verdict = 'UNSURE' AND abs(change) >= ln(1 + case_floor) AND p <= fdr
                THEN format('chance alone does this to {} of {}, q = {:.2g}', coalesce(nullif(round(p * tests), 0), 1)::BIGINT, tests, q)
            WHEN verdict <> 'UNSURE' THEN CASE WHEN q < 0.001 THEN 'q below 0.001' ELSE format('q = {:.2g}', q) END
            WHEN detectable > 9 OR detectable IS NULL AND error > 0 THEN 'no difference found (smallest detectable: over 10x)'
            ELSE printf('no difference found (smallest detectable: %.1f %%)', 100 * detectable)
        END,
        CASE WHEN metric = 'speedup' AND verdict NOT IN ('SAME', 'UNSURE') THEN _speedup_reason(log_ratio, own_log_ratio, case_floor) END,
        CASE WHEN abs(numbers.shift) >= ln(1 + case_floor) AND has_base AND has_candidate AND NOT is_exact
            THEN CASE WHEN regexp_matches(verdict, '(SLOWER|FASTER|WORSE|BETTER)$')
                THEN format('{:.2f}x {} than all cases together (95 % {:.2f}–{:.2f})', exp(abs(change)), lower(regexp_extract(verdict, '[A-Z]+$')),
                        exp(least(change_low * sign(change), change_high * sign(change))),
                        exp(greatest(change_low * sign(change), change_high * sign(change))))
                    || printf(', which share %+.1f %%', 100 * (exp(numbers.shift) - 1))
                ELSE printf('beyond the %+.1f %% that all cases share', 100 * (exp(numbers.shift) - 1)) END END,
        CASE WHEN noise IS NOT NULL AND has_base AND has_candidate AND effect IS NOT NULL AND NOT is_exact
            THEN printf('noise of a run %.1f %%', 100 * noise) END,
        CASE WHEN candidate_runs > 1 AND size_effect = 0 AND abs(change) < 0.7::DOUBLE * abs(effect - numbers.shift)
            THEN 'its runs disagree' END,
        CASE WHEN size_effect <> 0 AND verdict <> 'UNSURE'
            THEN printf('its steps have %.2f times the tokens', exp(size_effect)) END,
        CASE WHEN is_anywhere THEN 'baseline of other hosts' END,
        _ending_reason('base', base_status, base_failed, base_runs, base_reason),
        _ending_reason('candidate', candidate_status, candidate_failed, candidate_runs, candidate_reason)
    ) AS reason,
    CASE WHEN base_status IS NULL AND (has_base OR candidate_void) THEN 'ok' ELSE base_status END AS base_status,
    CASE WHEN candidate_status IS NULL AND (has_candidate OR base_void) THEN 'ok' ELSE candidate_status END AS candidate_status,
    coalesce(is_headline, true) AS is_headline, first_place, streak, since_place, good_place, numbers.shift AS log_shift, own_reach, base_total, cases,
    shift_reach, shift_p, shift_runs
FROM numbers
JOIN pairs ON numbers.pair = pairs.pair
LEFT JOIN latencies ON numbers.pair = latencies.pair AND numbers.case_id = latencies.case_id
LEFT JOIN case_axes AS axes ON numbers.case_id = axes.case_id
