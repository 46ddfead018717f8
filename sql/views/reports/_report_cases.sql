-- One row per case of a report: how it ended in the run of the report that counts.
-- A report is a run, or all parts of one night (see _report_runs and _superseded_cases).
--
-- report_id  VARCHAR  Report: the id of its last run.
-- same_id    VARCHAR  The case that it is, though its batch size may be unknown in this run (see _same_cases).
-- axes: run, case
-- panel      VARCHAR  Its suite, mode, dtype, device and backend (see case_axes).
-- speedup    DOUBLE   Baseline / case; NULL where either failed.
-- origin     VARCHAR  Where a speedup comes from, measured or reported; NULL for a case that has nothing to compare with.
-- status     VARCHAR  How it ended.
-- passing    BOOLEAN  Whether it passes.
-- reason     VARCHAR  Why it does not; NULL if it passes.
SELECT
    report_id, coalesce(same_id, summary.case_id) AS same_id, summary.run_id, summary.config, summary.case_id, work_hash, {axes},
    panel, speedup, origin, status, passing, reason
FROM case_summaries AS summary
JOIN _report_runs AS run ON summary.run_id = run.run_id
ANTI JOIN _superseded_cases AS again ON summary.run_id = again.run_id AND summary.case_id = again.case_id
LEFT JOIN _same_cases AS same ON summary.run_id = same.run_id AND summary.case_id = same.case_id
