-- One row per case that has something to compare with, or whose speedup an import reports: how the geometric means of its
-- run count it (see `geomean_speedups`). Skipped cases do not count.
--
-- axes: run, case
-- speedup     DOUBLE   Baseline / case; NULL where either failed.
-- left_out    VARCHAR  Why it is left out; NULL where it counts.
-- matched     BOOLEAN  Whether it passes on every backend, and counts for the matched mean as well.
WITH
judged_cases AS (
    SELECT *, coalesce(passing AND speedup > 0, false) AS counts
    FROM case_summaries
    WHERE status <> 'skipped'
),
works AS (
    SELECT run_id, work_hash, count(DISTINCT backend) AS backends
    FROM judged_cases
    WHERE counts
    GROUP BY run_id, work_hash
),
panels AS (
    SELECT run_id, suite, mode, dtype, device, count(DISTINCT backend) AS backends
    FROM judged_cases
    WHERE counts
    GROUP BY run_id, suite, mode, dtype, device
),
covered_cases AS (
    SELECT judged_cases.*, counts AND works.backends = panels.backends AS is_covered
    FROM judged_cases
    LEFT JOIN works ON judged_cases.run_id = works.run_id AND judged_cases.work_hash = works.work_hash
    LEFT JOIN panels
        ON judged_cases.run_id = panels.run_id
        AND judged_cases.suite IS NOT DISTINCT FROM panels.suite AND judged_cases.mode IS NOT DISTINCT FROM panels.mode
        AND judged_cases.dtype IS NOT DISTINCT FROM panels.dtype AND judged_cases.device IS NOT DISTINCT FROM panels.device
)

SELECT
    run_id, config, case_id, work_hash, suite, name, mode, device, dtype, backend, batch_size, sequence_length,
    parameters, speedup, CASE WHEN NOT counts THEN coalesce(reason, 'no speedup') END AS left_out,
    coalesce(is_covered, false) AS matched
FROM covered_cases
WHERE origin IS NOT NULL
