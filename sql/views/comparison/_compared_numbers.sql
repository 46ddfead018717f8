-- One row per case × metric × phase × unit measured on either side of a comparison, and per case that failed without a number: what
-- was found. `_compared_cases` puts it into words.
--
-- arguments: base, candidate, last, floor, fdr
--
-- pair              BIGINT   Number of the config and host that are judged apart; 0 where the base is given.
-- config            VARCHAR  Config of the candidate; NULL where the base is given.
-- host              VARCHAR  Its machine; NULL where the base is given or nobody said.
-- axes: case, value
-- metric            VARCHAR  What was measured; NULL for a case that failed and left no number on either side.
-- base_value        DOUBLE   Value of the base; NULL where it did not measure it, or its numbers do not count.
-- candidate_value   DOUBLE   The same of the candidate.
-- base_runs         BIGINT   Runs behind the value; NULL without one.
-- candidate_runs    BIGINT   The same of the candidate.
-- base_n            BIGINT   Samples in all of them.
-- candidate_n       BIGINT   The same of the candidate.
-- effect            DOUBLE   ln(candidate / base), of a count of 1 + value; NULL where a side has no logarithm.
-- size_effect       DOUBLE   ln of how many times the tokens the candidate's scheduler steps of the bin have at most, where all
--                            its runs have more than the base's, or all have fewer, by `floor` or more; else 0.
-- log_ratio         DOUBLE   ln of how many times better the candidate is; NULL where a side is missing, or has no value above 0.
-- axes: shifts
-- change            DOUBLE   Effect that is tested.
-- noise             DOUBLE   Standard deviation of ln(value) from run to run; NULL where nothing tells it.
-- error             DOUBLE   Standard error of the change; NULL where nothing tells it.
-- reach             DOUBLE   Half of the 95 % interval of the change.
-- detectable        DOUBLE   Smallest change, as a fraction, that an error of this size would show four times in five; NULL where
--                            nothing tells it, or no number is as large.
-- tied              DOUBLE   Share of the base's runs that are as far from its value, where most are equal to it, of a history without the
--                            streak; else 0.
-- p                 DOUBLE   Probability of so large a change, either way, if there were none.
-- q                 DOUBLE   Share of false alarms to expect if this row and all with a smaller p were called changed.
-- tests             BIGINT   Rows judged together.
-- verdict           VARCHAR  That of `comparisons`.
-- is_exact          BOOLEAN  Whether the values are compared as they stand.
-- is_repeated       BOOLEAN  Whether several candidates differ from the base in the same direction.
-- hosts             BIGINT   Machines of the candidate.
-- base_total        BIGINT   Runs of the base, whatever they measured.
-- is_anywhere       BOOLEAN  Whether these are of any host.
-- base_status       VARCHAR  How the case failed in any run of the base, else how its accuracy did; NULL where neither did.
-- candidate_status  VARCHAR  The same of the candidate.
-- base_reason       VARCHAR  Why, in one line.
-- candidate_reason  VARCHAR  The same of the candidate.
-- base_failed       BIGINT   Runs of the base in which it failed.
-- candidate_failed  BIGINT   The same of the candidate.
-- base_void         BOOLEAN  Whether nothing of the base counts, because its accuracy fails and the candidate's passes.
-- candidate_void    BOOLEAN  The same of the candidate.
-- first_place       BIGINT   Place in time of the first run of the candidate that measured it.
-- streak            BIGINT   Runs of the base before the candidate, without a gap, that are as the candidate is: beyond the floor, and half
--                            as far from the base's value or farther.
-- since_place       BIGINT   Place of the first of these, or of the candidate's first run where there is none.
-- good_place        BIGINT   Place of the last run of the base before them; NULL where there is none.
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
        base_runs, candidate_runs, base_n, candidate_n, effect, size_effect, first_place, streak, since_place, good_place, is_repeated,
        cases, shift, shift_reach, shift_p, shift_runs, change, noise, error, reach, is_exact, tied, p, q,
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
        _finite(exp(reach + 0.8416212335729143::DOUBLE * error) - 1) AS detectable
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
    pair, config, host, case_id, work_hash, suite, name, mode, device, dtype, backend, batch_size, sequence_length, parameters,
    metric, phase, unit, better, base_value, candidate_value, CASE WHEN has_base THEN base_runs END AS base_runs,
    CASE WHEN has_candidate THEN candidate_runs END AS candidate_runs, CASE WHEN has_base THEN base_n END AS base_n,
    CASE WHEN has_candidate THEN candidate_n END AS candidate_n, effect, size_effect, log_ratio, cases, shift, shift_reach, shift_p,
    shift_runs, change, noise, error, reach, detectable, tied, p, q, tests, verdict, is_exact, is_repeated, hosts, base_total, is_anywhere,
    base_status, candidate_status, base_reason, candidate_reason, base_failed, candidate_failed, base_void, candidate_void,
    first_place, streak, since_place, good_place
FROM verdicts
JOIN pairs USING (pair)
LEFT JOIN case_axes USING (case_id)
