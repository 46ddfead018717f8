-- One row per case that has something to compare with, or whose speedup an import reports: how the geometric means of its
-- run count it (see `geomean_speedups` with `matched`). Skipped cases do not count.
--
-- axes: run, case
-- speedup     DOUBLE   Baseline / case; NULL where either failed.
-- counted_as  DOUBLE   The speedup, a slowdown as 1; NULL where it is left out.
-- left_out    VARCHAR  Why it is left out; NULL where it counts.
WITH
judged AS (
    SELECT *, coalesce(passing AND speedup > 0, false) AS counts
    FROM case_summaries
    WHERE status <> 'skipped'
),
works AS (
    SELECT run_id, work_hash, count(DISTINCT backend) AS backends
    FROM judged
    WHERE counts
    GROUP BY run_id, work_hash
),
panels AS (
    SELECT run_id, suite, mode, dtype, device, count(DISTINCT backend) AS backends
    FROM judged
    WHERE counts
    GROUP BY run_id, suite, mode, dtype, device
),
matched AS (
    SELECT judged.*, counts AND works.backends = panels.backends AS is_covered
    FROM judged
    LEFT JOIN works ON judged.run_id = works.run_id AND judged.work_hash = works.work_hash
    LEFT JOIN panels
        ON judged.run_id = panels.run_id
        AND judged.suite IS NOT DISTINCT FROM panels.suite AND judged.mode IS NOT DISTINCT FROM panels.mode
        AND judged.dtype IS NOT DISTINCT FROM panels.dtype AND judged.device IS NOT DISTINCT FROM panels.device
)

SELECT
    run_id, config, case_id, work_hash, suite, name, mode, device, dtype, backend, batch_size, sequence_length,
    parameters, speedup, CASE WHEN is_covered THEN greatest(speedup, 1) END AS counted_as,
    CASE WHEN is_covered IS NOT true THEN coalesce(reason, 'does not pass on every backend') END AS left_out
FROM matched
WHERE origin IS NOT NULL
