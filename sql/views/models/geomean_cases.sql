-- One row per case that has something to compare with, or whose speedup an import reports: how the geometric means of its
-- run count it (see `geomean_speedups`). Skipped cases do not count.
--
-- axes: run, case
-- speedup     DOUBLE   Baseline / case; NULL where either failed.
-- left_out    VARCHAR  Why it is left out; NULL where it counts.
-- matched     BOOLEAN  Whether it passes on every backend, and counts for the matched mean as well.
WITH
judged_cases AS (
    SELECT *, coalesce(passing AND speedup > 0, false) AS in_mean
    FROM case_summaries
    WHERE status <> 'skipped'
),
panels AS (
    SELECT run_id, panel, count(*) FILTER (n > 0) OVER (PARTITION BY run_id, _setting(panel)) AS backends
    FROM _summaries
),
passing_works AS (
    SELECT run_id, work_hash, count(DISTINCT panel) AS shared
    FROM judged_cases
    WHERE in_mean
    GROUP BY run_id, work_hash
)

SELECT
    own.run_id, config, case_id, own.work_hash, {axes},
    speedup, CASE WHEN NOT in_mean THEN coalesce(reason, 'no speedup') END AS left_out,
    coalesce(in_mean AND shared = backends, false) AS matched
FROM judged_cases AS own
JOIN panels ON own.run_id = panels.run_id AND own.panel = panels.panel
LEFT JOIN passing_works AS work ON own.run_id = work.run_id AND own.work_hash = work.work_hash
WHERE origin IS NOT NULL
