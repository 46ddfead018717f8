-- One row per case × line that either side sampled, for cases that both sampled. A line is known by file, function and text, wherever it
-- stands. A share is the mean over the runs of a side.
--
-- arguments: base, candidate
--
-- case_id          VARCHAR  Case sampled.
-- file             VARCHAR  Source file; empty for what no line of a file does.
-- function         VARCHAR  Function that the line belongs to.
-- text             VARCHAR  Source text of the line.
-- line             BIGINT   Line in the candidate's file, else in the base's; 0 for what no line of a file does.
-- base             DOUBLE   Share of the time of a call of the base, a list of run ids, 0 to 1.
-- candidate        DOUBLE   The same of the candidate.
-- base_error       DOUBLE   Half-width of the 95 % interval of the base's share; NULL where a line was sampled in one process only.
-- candidate_error  DOUBLE   The same of the candidate.
WITH
sampled AS (
    SELECT *, list_contains(candidate::VARCHAR[], run_id) AS is_candidate
    FROM line_times
    WHERE list_contains(base::VARCHAR[], run_id) OR list_contains(candidate::VARCHAR[], run_id)
),
sides AS (
    SELECT
        case_id, count(DISTINCT run_id) FILTER (NOT is_candidate) AS base_runs, count(DISTINCT run_id) FILTER (is_candidate) AS candidate_runs
    FROM sampled
    GROUP BY case_id
)

SELECT
    sampled.case_id, file, function, text, coalesce(max(line) FILTER (is_candidate), max(line)) AS line,
    coalesce(sum(share) FILTER (NOT is_candidate), 0) / base_runs AS base,
    coalesce(sum(share) FILTER (is_candidate), 0) / candidate_runs AS candidate,
    CASE WHEN count(error) = count(*) THEN sqrt(coalesce(sum(error * error) FILTER (NOT is_candidate), 0)) / base_runs END AS base_error,
    CASE WHEN count(error) = count(*) THEN sqrt(coalesce(sum(error * error) FILTER (is_candidate), 0)) / candidate_runs END AS candidate_error
FROM sampled
JOIN sides ON sampled.case_id = sides.case_id
WHERE base_runs > 0 AND candidate_runs > 0
GROUP BY sampled.case_id, file, function, text, base_runs, candidate_runs
