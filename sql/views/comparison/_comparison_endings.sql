-- One row per pair × case that failed, or whose accuracy was judged, on either side of a comparison: how it ended there.
-- A case whose accuracy fails while it passes on the other side has no numbers on this side: a fast wrong answer is no
-- answer. Where both are wrong, or one was not judged, their numbers compare.
--
-- arguments: base, candidate, last
--
-- pair              BIGINT   Number of the config and class of machine that are judged apart; 0 where the base is given.
-- case_id           VARCHAR  Case.
-- base_status       VARCHAR  How it failed in any run of the base, else how its accuracy did; NULL where neither did.
-- candidate_status  VARCHAR  The same of the candidate.
-- base_reason       VARCHAR  Why, in one line.
-- candidate_reason  VARCHAR  The same of the candidate.
-- base_failed       BIGINT   Runs of the base in which it failed.
-- candidate_failed  BIGINT   The same of the candidate.
-- base_void         BOOLEAN  Whether nothing of the base counts, because its accuracy fails and the candidate's passes.
-- candidate_void    BOOLEAN  The same of the candidate.
WITH
judgements AS (
    SELECT run_id, case_id, status, reason, void, NULL AS wrong
    FROM _failures
    UNION ALL
    SELECT run_id, case_id, accuracy, NULL, false, NOT _is_accurate(accuracy)
    FROM case_summaries
    WHERE accuracy IS NOT NULL
),
side_judgements AS (
    SELECT judgements.* REPLACE (coalesce(same_id, judgements.case_id) AS case_id), pair, side = 'base' AS is_base
    FROM judgements
    LEFT JOIN _same_cases AS same ON judgements.run_id = same.run_id AND judgements.case_id = same.case_id
    JOIN _comparison_sides(base, candidate, last) AS run ON judgements.run_id = run.run_id
)

SELECT
    pair, case_id,
    coalesce(min(status) FILTER (is_base AND wrong IS NULL), min(status) FILTER (is_base AND wrong)) AS base_status,
    coalesce(min(status) FILTER (NOT is_base AND wrong IS NULL), min(status) FILTER (NOT is_base AND wrong)) AS candidate_status,
    min(reason) FILTER (is_base) AS base_reason, min(reason) FILTER (NOT is_base) AS candidate_reason,
    count(*) FILTER (is_base AND void) AS base_failed, count(*) FILTER (NOT is_base AND void) AS candidate_failed,
    coalesce(bool_or(wrong) FILTER (is_base) AND NOT bool_or(wrong) FILTER (NOT is_base), false) AS base_void,
    coalesce(bool_or(wrong) FILTER (NOT is_base) AND NOT bool_or(wrong) FILTER (is_base), false) AS candidate_void
FROM side_judgements
GROUP BY pair, case_id
