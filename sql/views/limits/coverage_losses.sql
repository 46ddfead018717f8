-- One row per case of a report that passed in the report before and does not now: absent, failed, wrong, without its speedup.
-- A report is a run, or all parts of one night: runs of a fleet, of `--partition`, and what `--resume` added to them; while
-- parts are to come, nothing is absent. The report before is the last one of the same config and `--only` that had any case of
-- the same suite, mode, device and dtype, so that reports which take turns at suites or dtypes miss nothing of one another, and
-- a backend that is gone is missed. A suite, mode, device or dtype of which nothing is left is missed if the two reports before
-- had it, and share something else with this one. A model that failed is the same case even where its batch size is unknown
-- then (see _same_cases). Runs made to confirm another neither lose nor count.
--
-- axes: run, case without work_hash
-- run_id         VARCHAR  Report that lacks it, by its last run.
-- status         VARCHAR  What became of it: absent, fail_to_run, fail_accuracy, OOM, timeout, skipped, interrupted …
-- reason         VARCHAR  Why, in one line.
-- before_run_id  VARCHAR  The report before, in which it passed, by its last run.
SELECT
    run_id, config, case_id, {axes}, status, reason,
    before_run_id
FROM _coverage_losses(NULL)
