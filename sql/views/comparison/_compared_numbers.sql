-- One row per case × metric × phase × unit measured on either side of a comparison, and per case that failed without a number: what
-- was found. `_compared_cases` puts it into words.
--
-- arguments: base, candidate, last, floor, fdr, across
--
-- from: _case_verdicts without series_id base_value candidate_value change_low change_high verdict
-- base_value       DOUBLE   Value of the base; NULL where it did not measure it, or its numbers do not count.
-- candidate_value  DOUBLE   The same of the candidate.
-- from: _comparison_endings without pair case_id
-- log_ratio        DOUBLE   ln of how many times better the candidate is; NULL where a side is missing, or has no value above 0.
-- detectable       DOUBLE   Smallest change, as a fraction, that an error of this size would show four times in five; NULL where
--                           sessions are assumed, or no number is as large.
-- log_low          DOUBLE   Lower end of the 95 % interval of log_ratio; where all cases share a shift beyond the floor it includes
--                           how runs differ as a whole.
-- log_high         DOUBLE   Upper end.
-- verdict          VARCHAR  That of `comparisons`.
-- config           VARCHAR  Config of the candidate; NULL where the base is given.
-- host             VARCHAR  Its machine; NULL where the base is given or nobody said.
-- hosts            BIGINT   Machines of the candidate.
-- base_total       BIGINT   Runs of the base, whatever they measured.
-- is_anywhere      BOOLEAN  Whether these are of any host.
-- axes: case without case_id
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
        coalesce(judged.pair, ended.pair) AS pair, coalesce(judged.case_id, ended.case_id) AS case_id,
        judged.* EXCLUDE (pair, series_id, case_id, base_value, candidate_value, verdict), verdict AS number_verdict,
        CASE WHEN NOT coalesce(base_void, false) THEN base_value END AS base_value,
        CASE WHEN NOT coalesce(candidate_void, false) THEN candidate_value END AS candidate_value,
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
    FROM (SELECT *, CASE WHEN shift <> 0 AND is_other_machine THEN ln(3) WHEN abs(shift) >= ln(1 + case_floor) THEN coalesce(shift_reach, 0) ELSE 0 END AS shared_reach FROM side_values)
)

SELECT
    numbers.* EXCLUDE (has_base, has_candidate, number_verdict, below, above, shared_reach, change_low, change_high),
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
    END AS verdict,
    pairs.* EXCLUDE (pair), axes.* EXCLUDE (case_id, panel)
FROM measured_sides AS numbers
JOIN pairs ON numbers.pair = pairs.pair
LEFT JOIN case_axes AS axes ON numbers.case_id = axes.case_id
