-- One row per run × suite × mode × dtype × device × backend in which a case was judged: its place among those of its config.
--
-- run_id         Run.
-- config         Config of that run.
-- suite          Suite of the workloads.
-- mode           inference or training.
-- dtype          float32, bfloat16, amp …
-- device         cpu, cuda …
-- backend        Compiler or implementation.
-- began_at       When the run began; for an import that does not say, when it was loaded. UTC.
-- position       Place among the runs of its config that ran the same, from 1, the oldest.
-- age            The same from the newest, 1.
-- previous_run   The one before; NULL for the first.
SELECT
    run_id, config, suite, mode, dtype, device, backend, began_at,
    row_number() OVER in_time AS position,
    count(*) OVER (PARTITION BY config, suite, mode, dtype, device, backend) - position + 1 AS age,
    lag(run_id) OVER in_time AS previous_run
FROM (SELECT run_id, config, suite, mode, dtype, device, backend FROM _summaries)
JOIN (SELECT run_id, began_at FROM _run_times) USING (run_id)
WINDOW in_time AS (PARTITION BY config, suite, mode, dtype, device, backend ORDER BY began_at NULLS FIRST, run_id)
