-- One row per case × phase × reason and place for which the compiler broke a graph or compiled code again, on either of two sides.
--
-- arguments: base, candidate
--
-- case_id    VARCHAR  Case.
-- phase      VARCHAR  NULL of the first calls, warmup of the second.
-- kind       VARCHAR  graph_break or recompile.
-- reason     VARCHAR  Why, in the compiler's words: of a recompilation the guard that failed.
-- place      VARCHAR  Innermost place in the user's code: file.py:12 in forward; NULL where the compiler names none.
-- base       DOUBLE   How often in a run of the base, a list of run ids: mean over the runs that compiled the case; NULL if infinite.
-- candidate  DOUBLE   The same of the candidate.
WITH
found AS (
    SELECT
        run_id, case_id, phase, split_part(metric, ':', 1) AS kind, substr(metric, strpos(metric, ':') + 1) AS reason,
        regexp_extract(original_value, '[^\n]*$') AS place, value, list_contains(candidate::VARCHAR[], run_id) AS is_candidate
    FROM metrics
    WHERE (starts_with(metric, 'graph_break:') OR starts_with(metric, 'recompile:')) AND _finite(value) IS NOT NULL
        AND (list_contains(base::VARCHAR[], run_id) OR list_contains(candidate::VARCHAR[], run_id))
),
compiled AS (
    SELECT
        case_id, count(DISTINCT run_id) FILTER (NOT list_contains(candidate::VARCHAR[], run_id)) AS base_runs,
        count(DISTINCT run_id) FILTER (list_contains(candidate::VARCHAR[], run_id)) AS candidate_runs
    FROM metrics
    WHERE metric = 'graph_breaks' AND (list_contains(base::VARCHAR[], run_id) OR list_contains(candidate::VARCHAR[], run_id))
    GROUP BY case_id
)

SELECT
    found.case_id, phase, kind, reason, place,
    _finite(coalesce(sum(value) FILTER (NOT is_candidate), 0) / greatest(base_runs, 1)) AS base,
    _finite(coalesce(sum(value) FILTER (is_candidate), 0) / greatest(candidate_runs, 1)) AS candidate
FROM found
JOIN compiled ON found.case_id = compiled.case_id
GROUP BY found.case_id, phase, kind, reason, place, base_runs, candidate_runs
