-- One row per case × part of its time that either side recorded, for cases with parts on both. A line is known by file, function and text,
-- wherever it stands; an operator or kernel by its name. A share is the mean over the runs of a side.
--
-- arguments: base, candidate
--
-- case_id             VARCHAR  Case.
-- kind                VARCHAR  line, operator or kernel.
-- file                VARCHAR  Source file; empty for what no line of a file does.
-- function            VARCHAR  Function that the line belongs to, operator or kernel.
-- text                VARCHAR  Source text of the line.
-- line                BIGINT   Line in the candidate's file, else in the base's; 0 for what no line of a file does.
-- base_line           BIGINT   Line in the base's file; NULL of a part that the base does not have.
-- base                DOUBLE   Share of the time of a call of the base, a list of run ids, 0 to 1.
-- candidate           DOUBLE   The same of the candidate.
-- base_error          DOUBLE   Half-width of the 95 % interval of the base's share; NULL of a single process.
-- candidate_error     DOUBLE   The same of the candidate.
-- base_degrees        DOUBLE   Degrees of freedom of the Student's t of that interval; NULL where the shares are equal or there is none.
-- candidate_degrees   DOUBLE   The same of the candidate.
-- base_calls          DOUBLE   How often a call runs the operator or kernel; NULL of a line, and where the base does not run it.
-- candidate_calls     DOUBLE   The same of the candidate.
-- base_slowdown       DOUBLE   Time of a call while it was profiled / without the profiler; of a line processor time.
-- candidate_slowdown  DOUBLE   The same of the candidate.
WITH
sampled AS (
    SELECT
        * REPLACE (_part_name(function) AS function), list_contains(candidate::VARCHAR[], run_id) AS is_candidate,
        pow(error / _t975(n - 1), 2) AS variance
    FROM time_parts
    WHERE list_contains(base::VARCHAR[], run_id) OR list_contains(candidate::VARCHAR[], run_id)
),
sides AS (
    SELECT
        case_id, kind, count(DISTINCT run_id) FILTER (NOT is_candidate) AS base_runs,
        count(DISTINCT run_id) FILTER (is_candidate) AS candidate_runs,
        avg(slowdown) FILTER (NOT is_candidate) AS base_slowdown, avg(slowdown) FILTER (is_candidate) AS candidate_slowdown
    FROM sampled
    GROUP BY case_id, kind
),
parts AS (
    SELECT
        sampled.case_id, sampled.kind, file, function, text, coalesce(max(line) FILTER (is_candidate), max(line)) AS line,
        max(line) FILTER (NOT is_candidate) AS base_line,
        coalesce(sum(share) FILTER (NOT is_candidate), 0) / base_runs AS base,
        coalesce(sum(share) FILTER (is_candidate), 0) / candidate_runs AS candidate,
        CASE WHEN count(error) = count(*) THEN sqrt(coalesce(sum(variance) FILTER (NOT is_candidate), 0)) / base_runs END AS base_error,
        CASE WHEN count(error) = count(*) THEN sqrt(coalesce(sum(variance) FILTER (is_candidate), 0)) / candidate_runs END AS candidate_error,
        pow(sum(variance) FILTER (NOT is_candidate), 2) / nullif(sum(variance * variance / (n - 1)) FILTER (NOT is_candidate), 0)
            AS base_degrees,
        pow(sum(variance) FILTER (is_candidate), 2) / nullif(sum(variance * variance / (n - 1)) FILTER (is_candidate), 0)
            AS candidate_degrees,
        sum(calls) FILTER (NOT is_candidate) / base_runs AS base_calls, sum(calls) FILTER (is_candidate) / candidate_runs AS candidate_calls,
        base_slowdown, candidate_slowdown
    FROM sampled
    JOIN sides ON sampled.case_id = sides.case_id AND sampled.kind = sides.kind
    WHERE base_runs > 0 AND candidate_runs > 0
    GROUP BY sampled.case_id, sampled.kind, file, function, text, base_runs, candidate_runs, base_slowdown, candidate_slowdown
)

SELECT
    * REPLACE (
        base_error * coalesce(_t975(base_degrees), 0) AS base_error,
        candidate_error * coalesce(_t975(candidate_degrees), 0) AS candidate_error
    )
FROM parts
