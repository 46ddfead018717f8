-- One row per report × suite × mode × dtype × device × backend in which a case was judged: its cases summed up.
-- A report is a run, or all parts of one night (see _report_runs and _superseded_cases); a run that confirms another is one, too.
--
-- axes: run
-- run_id             VARCHAR    Report: the id of its last run.
-- axes: panel
-- panel              VARCHAR    These five in one (see case_axes).
-- began_at           TIMESTAMP  When it began. UTC.
-- git_commit         VARCHAR    Commit it measured.
-- is_typical         BOOLEAN    Whether it has a place in histories: it confirms no other run, and measured a whole plan, or no report of
--                               the config did.
-- passing            BIGINT     Cases that pass.
-- total              BIGINT     Cases judged for performance, without those skipped.
-- rate               VARCHAR    Both as text, such as "82%, 50/61"; NULL where none was judged.
-- skipped            BIGINT     Cases skipped.
-- n                  BIGINT     Cases with a speedup that pass.
-- speedup            DOUBLE     Geometric mean of their speedups.
-- dashboard_speedup  DOUBLE     The same with slowdowns as 1.
-- width              DOUBLE     Half its 95 % interval on the log scale.
-- n_elsewhere        BIGINT     Work of the same setting that passes on every other backend on which anything does; NULL where there is
--                               none.
-- n_matched          BIGINT     Work that passes here and elsewhere.
-- matched_speedup    DOUBLE     Geometric mean over n_matched.
-- n_compiled         BIGINT     Passing cases whose compile latency is known.
-- mean_compile_ns    DOUBLE     Mean of these.
-- mean_compression   DOUBLE     Mean of the compression ratios of passing cases.
-- n_compared         BIGINT     Cases with something to compare with, or whose speedup an import reports.
-- excluded           VARCHAR[]  What n leaves out of n_compared, as 'name: reason', in order.
SELECT
    summary.run_id, summary.config, suite, mode, dtype, device, backend, panel, time.began_at, time.git_commit,
    coalesce(is_typical, false) AS is_typical, passing, total, rate, skipped, n, speedup, dashboard_speedup, width, n_elsewhere,
    n_matched, matched_speedup, n_compiled, mean_compile_ns, mean_compression, n_compared, excluded
FROM _summaries AS summary
JOIN _run_times AS time ON summary.run_id = time.run_id
LEFT JOIN _report_runs AS run ON summary.run_id = run.run_id
WHERE coalesce(parts, 1) = 1
UNION ALL
SELECT * FROM _night_summaries
