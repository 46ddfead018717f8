-- One row per case of a run that is part of a report and does not count there: another part measured it again.
-- Of several runs of a report the last counts in which the case was not interrupted (see _report_runs).
--
-- run_id   VARCHAR  Run.
-- case_id  VARCHAR  Case.
SELECT run_id, case_id
FROM (
    SELECT
        outcome.run_id, case_id,
        row_number() OVER (PARTITION BY report_id, case_id ORDER BY status = 'interrupted', part DESC) AS place
    FROM case_outcomes AS outcome
    JOIN _report_runs AS run ON outcome.run_id = run.run_id
    WHERE kind = 'performance' AND parts > 1
)
WHERE place > 1
