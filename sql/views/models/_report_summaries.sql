-- One row per report × suite × mode × dtype × device × backend in which a case was judged: its cases summed up.
-- A report is a run, or all parts of one night (see _report_runs and _superseded_cases).
--
-- axes: run
-- run_id             VARCHAR    Report: the id of its last run.
-- axes: panel
-- panel              VARCHAR    These five in one (see case_axes).
-- began_at           TIMESTAMP  When it began. UTC.
-- git_commit         VARCHAR    Commit it measured.
-- selection          VARCHAR    Models that `--only` chose; NULL for a whole plan.
-- is_typical         BOOLEAN    Whether it has no selection, or no report of the config is without one.
-- passing            BIGINT     Cases that pass.
-- total              BIGINT     Cases judged for performance, without those skipped.
-- rate               VARCHAR    Both as text, such as "82%, 50/61".
-- n                  BIGINT     Cases with a speedup that pass.
-- speedup            DOUBLE     Geometric mean of their speedups.
-- dashboard_speedup  DOUBLE     The same with slowdowns as 1.
-- width              DOUBLE     Half its 95 % interval on the log scale.
-- n_compiled         BIGINT     Passing cases whose compile latency is known.
-- mean_compile_ns    DOUBLE     Mean of these.
-- mean_compression   DOUBLE     Mean of the compression ratios of passing cases.
WITH
whole_reports AS (SELECT * FROM _report_runs WHERE parts = 1),
shared_reports AS (SELECT * FROM _report_runs WHERE parts > 1),
shared_cases AS (
    SELECT
        report_id, run.config, began_at, git_commit, selection, is_typical, suite, mode, dtype, device, backend, panel,
        status <> 'skipped' AS counted, passing, compile_ns,
        compression_ratio, (ln(high) - ln(low)) / 2 AS half, ln(CASE WHEN passing AND speedup > 0 THEN speedup END) AS log_speedup
    FROM case_summaries AS summary
    JOIN shared_reports AS run ON summary.run_id = run.run_id
    ANTI JOIN _superseded_cases AS again ON summary.run_id = again.run_id AND summary.case_id = again.case_id
),
shared_sums AS (
    SELECT
        report_id, config, suite, mode, dtype, device, backend, panel, min(began_at) AS began_at, min(git_commit) AS git_commit,
        min(selection) AS selection, bool_or(is_typical) AS is_typical, count(*) FILTER (passing) AS passing,
        count(*) FILTER (counted) AS total, count(log_speedup) AS n, exp(_ordered_mean(list(log_speedup))) AS speedup,
        exp(_ordered_mean(list(greatest(log_speedup, 0)) FILTER (log_speedup IS NOT NULL))) AS dashboard_speedup,
        CASE WHEN bool_and(half IS NOT NULL) FILTER (log_speedup IS NOT NULL)
            THEN sqrt(_ordered_mean(list(half * half) FILTER (log_speedup IS NOT NULL)) / count(log_speedup))
        END AS width,
        count(compile_ns) FILTER (passing) AS n_compiled,
        _ordered_mean(list(compile_ns) FILTER (passing AND compile_ns IS NOT NULL)) AS mean_compile_ns,
        _ordered_mean(list(compression_ratio) FILTER (passing AND compression_ratio IS NOT NULL)) AS mean_compression
    FROM shared_cases
    GROUP BY report_id, config, suite, mode, dtype, device, backend, panel
)

SELECT
    summary.run_id, summary.config, suite, mode, dtype, device, backend, panel, began_at, git_commit, selection, is_typical, passing,
    total, rate, n_here AS n, raw_speedup AS speedup, speedup AS dashboard_speedup, width, n_compiled, mean_compile_ns, mean_compression
FROM _summaries AS summary
JOIN whole_reports AS run ON summary.run_id = run.run_id
UNION ALL
SELECT
    report_id, config, suite, mode, dtype, device, backend, panel, began_at, git_commit, selection, is_typical, passing, total,
    _pass_rate(passing, total), n, speedup, dashboard_speedup, width, n_compiled, mean_compile_ns, mean_compression
FROM shared_sums
