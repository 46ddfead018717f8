-- One row per run × suite × mode × dtype × device × backend: how many of its cases pass.
-- A case passes if it is ok, its accuracy is pass or pass_due_to_skip where the run judged accuracy for that suite and
-- backend, and it has a speedup where one was measured or reported. Skipped cases do not count.
--
-- run_id    Run.
-- config    Config of that run.
-- suite     Suite of the workloads.
-- mode      inference or training.
-- dtype     float32, bfloat16, amp …
-- device    cpu, cuda …
-- backend   Compiler or implementation.
-- passing   Cases that pass.
-- total     Cases judged for performance.
-- rate      Both as text, such as "82%, 50/61".
SELECT run_id, config, suite, mode, dtype, device, backend, passing, total, rate
FROM _summaries
WHERE total > 0
