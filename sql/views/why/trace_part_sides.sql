-- One row per kind × operator or kernel of the traces of two sides: how long they take on each, as `trace_parts` has it; the largest difference
-- first. A time is the mean over the runs of a side.
--
-- arguments: base, candidate
--
-- kind                VARCHAR  As in `trace_parts`: kernel, idle, cpu_op …
-- name                VARCHAR  Operator, kernel or call.
-- device              BOOLEAN  Whether it is time of a GPU.
-- base_ns             DOUBLE   Time that is its own, of the base, a list of run ids: the rows of a GPU, and of the host, add up.
-- candidate_ns        DOUBLE   The same of the candidate.
-- difference_ns       DOUBLE   Candidate - base.
-- base_total_ns       DOUBLE   Time with what it calls or overlaps, of the base.
-- candidate_total_ns  DOUBLE   The same of the candidate.
-- base_calls          DOUBLE   How many there are in the base.
-- candidate_calls     DOUBLE   The same of the candidate.
-- base_launches       BIGINT   Kinds of grid and block, or of shapes of inputs, in the base.
-- candidate_launches  BIGINT   The same of the candidate.
WITH
parts AS (
    SELECT
        *, list_contains(candidate::VARCHAR[], run_id) AS is_candidate,
        len(base::VARCHAR[]) AS base_runs, len(candidate::VARCHAR[]) AS candidate_runs
    FROM trace_parts(list_concat(base::VARCHAR[], candidate::VARCHAR[]))
),
sums AS (
    SELECT
        kind, name, device,
        coalesce(sum(own_ns) FILTER (NOT is_candidate), 0)::DOUBLE / base_runs AS base_ns,
        coalesce(sum(own_ns) FILTER (is_candidate), 0)::DOUBLE / candidate_runs AS candidate_ns,
        coalesce(sum(total_ns) FILTER (NOT is_candidate), 0)::DOUBLE / base_runs AS base_total_ns,
        coalesce(sum(total_ns) FILTER (is_candidate), 0)::DOUBLE / candidate_runs AS candidate_total_ns,
        coalesce(sum(calls) FILTER (NOT is_candidate), 0)::DOUBLE / base_runs AS base_calls,
        coalesce(sum(calls) FILTER (is_candidate), 0)::DOUBLE / candidate_runs AS candidate_calls,
        coalesce(max(launches) FILTER (NOT is_candidate), 0)::BIGINT AS base_launches,
        coalesce(max(launches) FILTER (is_candidate), 0)::BIGINT AS candidate_launches
    FROM parts
    GROUP BY kind, name, device, base_runs, candidate_runs
)

SELECT
    kind, name, device, base_ns, candidate_ns, candidate_ns - base_ns AS difference_ns, base_total_ns, candidate_total_ns,
    base_calls, candidate_calls, base_launches, candidate_launches
FROM sums
ORDER BY abs(candidate_ns - base_ns) DESC, base_ns DESC, kind, name
