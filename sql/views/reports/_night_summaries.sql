-- One row per report of several runs × suite × mode × dtype × device × backend in which a case was judged: its cases summed up.
-- Of a case that several parts measured the last one counts (see _report_runs and _superseded_cases). Of one run `_summaries` has
-- the same.
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
WITH
night_runs AS (SELECT * FROM _report_runs WHERE parts > 1),
night_cases AS (
    SELECT
        report_id, run.config, run.began_at, run.git_commit, is_typical, suite, mode, dtype, device, backend, panel, name,
        work_hash, reason, passing, compile_ns, compression_ratio, status <> 'skipped' AS in_total,
        ln(CASE WHEN passing AND speedup > 0 THEN speedup END) AS log_speedup, log_speedup IS NOT NULL AS in_mean,
        CASE WHEN low > 0 AND high > 0 THEN (ln(high) - ln(low)) / 2 END AS width, in_total AND origin IS NOT NULL AS is_compared
    FROM case_summaries AS summary
    JOIN night_runs AS run ON summary.run_id = run.run_id
    ANTI JOIN _superseded_cases AS again ON summary.run_id = again.run_id AND summary.case_id = again.case_id
),
night_panels AS (
    SELECT
        report_id, panel, _setting(panel) AS setting,
        sum(bool_or(in_mean)::INTEGER) OVER (PARTITION BY report_id, _setting(panel)) AS backends
    FROM night_cases
    GROUP BY report_id, panel
),
passing_works AS (
    SELECT report_id, work_hash, min(panel) AS panel, count(DISTINCT panel) AS shared
    FROM night_cases
    WHERE in_mean
    GROUP BY report_id, work_hash
),
settings AS (
    SELECT
        panels.report_id, setting, count(*) FILTER (shared = backends) AS n_everywhere,
        count(*) FILTER (shared = backends - 1) AS n_but_one
    FROM passing_works AS work
    JOIN night_panels AS panels ON work.report_id = panels.report_id AND work.panel = panels.panel
    GROUP BY panels.report_id, setting
)

SELECT
    own.report_id AS run_id, config, suite, mode, dtype, device, backend, own.panel, min(began_at) AS began_at,
    min(git_commit) AS git_commit, bool_or(is_typical) AS is_typical, count(*) FILTER (passing) AS passing,
    count(*) FILTER (in_total) AS total, _pass_rate(count(*) FILTER (passing), count(*) FILTER (in_total)) AS rate,
    count(*) FILTER (NOT in_total) AS skipped, count(*) FILTER (in_mean) AS n,
    _geometric_mean(log_speedup, in_mean) AS speedup,
    _geometric_mean(greatest(log_speedup, 0), in_mean) AS dashboard_speedup, _geometric_width(width, in_mean) AS width,
    _passing_elsewhere(in_mean, shared, backends, n_everywhere, n_but_one) AS n_elsewhere,
    count(*) FILTER (in_mean AND shared = backends) AS n_matched,
    _geometric_mean(log_speedup, in_mean AND shared = backends) AS matched_speedup,
    count(compile_ns) FILTER (passing) AS n_compiled,
    _ordered_mean(list(compile_ns) FILTER (passing AND compile_ns IS NOT NULL)) AS mean_compile_ns,
    _ordered_mean(list(compression_ratio) FILTER (passing AND compression_ratio IS NOT NULL)) AS mean_compression,
    count(*) FILTER (is_compared) AS n_compared,
    coalesce(list(name || ': ' || reason ORDER BY name, reason) FILTER (is_compared AND NOT in_mean), []) AS excluded
FROM night_cases AS own
JOIN night_panels AS panels ON own.report_id = panels.report_id AND own.panel = panels.panel
LEFT JOIN settings ON panels.report_id = settings.report_id AND panels.setting = settings.setting
LEFT JOIN passing_works AS work ON own.report_id = work.report_id AND own.work_hash = work.work_hash
GROUP BY own.report_id, config, suite, mode, dtype, device, backend, own.panel
