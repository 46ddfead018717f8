-- One row per case: its axes. A case may be announced more than once, by several runs and by a run and its worker; steps of
-- a scheduler are announced by nobody, and are cases all the same (see `step_cells`).
--
-- axes: case
-- panel  VARCHAR  Suite, mode, dtype, device and backend in one: equal where all of these are, be they known or not.
WITH
announcements AS (
    SELECT * FROM cases
    UNION ALL BY NAME
    SELECT run_id, case_id, work_hash, suite, name, parameters FROM step_cells
)

SELECT
    case_id, min(work_hash) AS work_hash, {axis: min(axis) AS axis},
    _panel(min(suite), min(mode), min(dtype), min(device), min(backend)) AS panel
FROM announcements
WHERE case_id IN (SELECT case_id FROM announcements JOIN _touched USING (run_id))
GROUP BY case_id
