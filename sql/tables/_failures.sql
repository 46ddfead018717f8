-- One row per case of a run whose performance did not end well: the few that a comparison must look at twice.
--
-- run_id   VARCHAR  Run it belongs to.
-- case_id  VARCHAR  Case.
-- status   VARCHAR  fail_to_run, OOM, timeout, skipped, interrupted …
-- reason   VARCHAR  Why, in one line.
-- void     BOOLEAN  Whether its numbers count for nothing; what was measured before an interruption counts.
SELECT
    run_id, case_id, status, reason, status <> 'interrupted' AS void
FROM case_outcomes
WHERE run_id IN (SELECT run_id FROM _touched) AND kind = 'performance' AND status NOT IN ('ok', 'unknown')
