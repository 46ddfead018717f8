-- One row per case of a run whose performance did not end well: the few that a comparison must look at twice.
--
-- run_id            Run it belongs to.
-- case_id           Case.
-- work_hash         What was to be computed, whoever computes it.
-- suite             Suite of the workload.
-- name              Model, function, command or benchmark.
-- mode              inference or training.
-- device            cpu, cuda …
-- dtype             float32, bfloat16, amp …
-- backend           Compiler or implementation.
-- batch_size        Samples in one batch.
-- sequence_length   Tokens in one sequence.
-- parameters        Further axes, as a JSON object.
-- status            fail_to_run, OOM, timeout, skipped, interrupted …
-- reason            Why, in one line.
-- void              Whether its numbers count for nothing; what was measured before an interruption counts.
SELECT
    run_id, case_id, work_hash, suite, name, mode, device, dtype, backend, batch_size, sequence_length, parameters, status,
    reason, status <> 'interrupted' AS void
FROM case_outcomes
WHERE run_id IN (SELECT run_id FROM _touched) AND kind = 'performance' AND status NOT IN ('ok', 'unknown')
