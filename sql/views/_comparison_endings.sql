-- One row per case that failed, or whose accuracy was judged, on either side of a comparison: how it ended there.
-- A case whose accuracy fails while it passes on the other side has no numbers on this side: a fast wrong answer is no
-- answer. Where both are wrong, or one was not judged, their numbers compare.
--
-- arguments: base, candidate
--
-- case_id             Case.
-- work_hash           What was to be computed, whoever computes it.
-- suite               Suite of the workload.
-- name                Model, function, command or benchmark.
-- mode                inference or training.
-- device              cpu, cuda …
-- dtype               float32, bfloat16, amp …
-- backend             Compiler or implementation.
-- batch_size          Samples in one batch.
-- sequence_length     Tokens in one sequence.
-- parameters          Further axes, as a JSON object.
-- base_status         How it failed in any run of the base, else how its accuracy did; NULL where neither did.
-- candidate_status    The same of the candidate.
-- base_reason         Why, in one line.
-- candidate_reason    The same of the candidate.
-- base_failed         Runs of the base in which it failed.
-- candidate_failed    The same of the candidate.
-- base_void           Whether nothing of the base counts, because its accuracy fails and the candidate's passes.
-- candidate_void      The same of the candidate.
WITH
judgements AS (
    SELECT *, NULL AS wrong
    FROM _failures
    UNION ALL
    SELECT
        run_id, case_id, work_hash, suite, name, mode, device, dtype, backend, batch_size, sequence_length, parameters,
        accuracy, NULL, false, accuracy NOT IN ('pass', 'pass_due_to_skip')
    FROM case_summaries
    WHERE accuracy IS NOT NULL
),
sided AS (
    SELECT judgements.*, side = 'base' AS here
    FROM judgements
    JOIN _comparison_sides(base, candidate) AS run ON judgements.run_id = run.run_id
)

SELECT
    case_id, min(work_hash) AS work_hash, min(suite) AS suite, min(name) AS name, min(mode) AS mode,
    min(device) AS device, min(dtype) AS dtype, min(backend) AS backend, min(batch_size) AS batch_size,
    min(sequence_length) AS sequence_length, min(parameters) AS parameters,
    coalesce(min(status) FILTER (here AND wrong IS NULL), min(status) FILTER (here AND wrong)) AS base_status,
    coalesce(min(status) FILTER (NOT here AND wrong IS NULL), min(status) FILTER (NOT here AND wrong)) AS candidate_status,
    min(reason) FILTER (here) AS base_reason, min(reason) FILTER (NOT here) AS candidate_reason,
    count(*) FILTER (here AND void) AS base_failed, count(*) FILTER (NOT here AND void) AS candidate_failed,
    coalesce(bool_or(wrong) FILTER (here) AND NOT bool_or(wrong) FILTER (NOT here), false) AS base_void,
    coalesce(bool_or(wrong) FILTER (NOT here) AND NOT bool_or(wrong) FILTER (here), false) AS candidate_void
FROM sided
GROUP BY case_id
