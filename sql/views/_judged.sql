-- One row per announced case judged for performance, with the accuracy of its model.
-- Accuracy is that of the case itself, else of the cases of the same run, suite, name, mode, device, dtype and backend
-- (accuracy is often checked at another batch size), of several the one that does not pass.
--
-- run_id            Run it belongs to.
-- config            Config of that run.
-- case_id           Case.
-- work_hash         What was computed, whoever computed it.
-- suite             Suite of the workload.
-- name              Model, function, command or benchmark.
-- mode              inference or training.
-- device            cpu, cuda …
-- dtype             float32, bfloat16, amp …
-- backend           Compiler or implementation.
-- batch_size        Samples in one batch.
-- sequence_length   Tokens in one sequence.
-- parameters        Further axes, as a JSON object.
-- status            How the performance of the case ended; ok where it was measured.
-- reason            Why, in one line.
-- accuracy          How its accuracy was judged; NULL where it was not.
-- sound             Whether the status is ok and the accuracy pass or pass_due_to_skip. Accuracy is asked for where the
--                   run judged that of any case of the same suite and backend.
WITH
accuracies AS (
    SELECT *, status IN ('pass', 'pass_due_to_skip') AS passes
    FROM case_outcomes
    WHERE kind = 'accuracy'
),
by_model AS (
    SELECT run_id, suite, name, mode, device, dtype, backend, min_by(status, (passes, status)) AS status
    FROM accuracies
    GROUP BY ALL
),
asked AS (SELECT DISTINCT run_id, suite, backend FROM accuracies)

SELECT
    case_.run_id, case_.config, case_.case_id, case_.work_hash, case_.suite, case_.name, case_.mode, case_.device,
    case_.dtype, case_.backend, case_.batch_size, case_.sequence_length, case_.parameters, case_.status, case_.reason,
    coalesce(own.status, by_model.status) AS accuracy,
    case_.status = 'ok' AND (asked.run_id IS NULL
        OR coalesce(coalesce(own.status, by_model.status) IN ('pass', 'pass_due_to_skip'), false)) AS sound
FROM case_outcomes AS case_
LEFT JOIN accuracies AS own ON case_.run_id = own.run_id AND case_.case_id = own.case_id
LEFT JOIN by_model
    ON case_.run_id = by_model.run_id AND case_.name = by_model.name
    AND case_.suite IS NOT DISTINCT FROM by_model.suite AND case_.mode IS NOT DISTINCT FROM by_model.mode
    AND case_.device IS NOT DISTINCT FROM by_model.device AND case_.dtype IS NOT DISTINCT FROM by_model.dtype
    AND case_.backend IS NOT DISTINCT FROM by_model.backend
LEFT JOIN asked
    ON case_.run_id = asked.run_id AND case_.suite IS NOT DISTINCT FROM asked.suite
    AND case_.backend IS NOT DISTINCT FROM asked.backend
WHERE case_.kind = 'performance'
