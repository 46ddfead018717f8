-- One row per run × suite × mode × dtype × device × backend: how many of its cases pass.
-- A case passes if it is ok, its accuracy is pass or pass_due_to_skip where the run judged accuracy for that suite and
-- backend, and it has a speedup where one was measured or reported. Skipped cases do not count.
--
-- axes: run, panel
-- passing  BIGINT   Cases that pass.
-- total    BIGINT   Cases judged for performance.
-- rate     VARCHAR  Both as text, such as "82%, 50/61".
SELECT run_id, config, suite, mode, dtype, device, backend, passing, total, rate
FROM _summaries
WHERE total > 0
