-- One row per run × suite × mode × dtype × device × backend in which a case was judged: its cases summed up.
-- What the views show as pass_rates, geomean_speedups, compile_times, memory_compression. Skipped cases do not count.
-- The width of a geometric mean is half its 95 % interval on the log scale, from the intervals of its cases: how well this
-- run measured them, not how other models would fare. It is NULL where a case has none.
--
-- axes: run, panel
-- panel                      VARCHAR    These five in one (see case_axes).
-- passing                    BIGINT     Cases that pass.
-- total                      BIGINT     Cases judged for performance.
-- rate                       VARCHAR    Both as text, such as "82%, 50/61"; NULL where none was judged.
-- skipped                    BIGINT     Cases skipped.
-- n_compiled                 BIGINT     Passing cases whose compile latency is known.
-- mean_compile_ns            DOUBLE     Mean of these latencies.
-- max_compile_ns             DOUBLE     Longest.
-- slowest                    VARCHAR    Name of the case that took longest.
-- n_compressed               BIGINT     Passing cases whose compression ratio is known.
-- mean_compression           DOUBLE     Mean of these ratios.
-- min_compression            DOUBLE     Smallest.
-- worst                      VARCHAR    Name of the case with the smallest.
-- n_compared                 BIGINT     Cases with something to compare with, or whose speedup an import reports.
-- n                          BIGINT     Those of them that pass.
-- n_elsewhere                BIGINT     Work of the same setting that passes on every other backend on which anything does; NULL
--                                       where there is none.
-- n_matched                  BIGINT     Work that passes here and elsewhere.
-- speedup                    DOUBLE     Geometric mean over n.
-- dashboard_speedup          DOUBLE     The same with slowdowns as 1.
-- width                      DOUBLE     Width of both.
-- matched_speedup            DOUBLE     Geometric mean over n_matched.
-- matched_dashboard_speedup  DOUBLE     The same with slowdowns as 1.
-- matched_width              DOUBLE     Width of both.
-- excluded                   VARCHAR[]  What n leaves out of n_compared, as 'name: reason', in order.
-- matched_excluded           VARCHAR[]  What n_matched leaves out.
WITH
judged_cases AS (  -- for performance or for accuracy alone, which tells no more than that there is a panel
    SELECT
        outcome.run_id, outcome.config, outcome.suite, outcome.mode, outcome.dtype, outcome.device, outcome.backend,
        outcome.panel, outcome.name, outcome.work_hash, ln(CASE WHEN passing AND speedup > 0 THEN speedup END) AS log_speedup,
        CASE WHEN low > 0 AND high > 0 THEN (ln(high) - ln(low)) / 2 END AS width, passing, summary.reason, compile_ns,
        compression_ratio, summary.status <> 'skipped' AS in_total, in_total AND origin IS NOT NULL AS is_compared,
        log_speedup IS NOT NULL AS in_mean
    FROM case_outcomes AS outcome
    LEFT JOIN case_summaries AS summary
        ON outcome.run_id = summary.run_id AND outcome.case_id = summary.case_id AND outcome.kind = 'performance'
    WHERE outcome.run_id IN (SELECT run_id FROM _touched)
),
panels AS (
    SELECT
        run_id, panel, _setting(panel) AS setting,
        sum(bool_or(in_mean)::INTEGER) OVER (PARTITION BY run_id, _setting(panel)) AS backends
    FROM judged_cases
    GROUP BY run_id, panel
),
passing_works AS (
    SELECT run_id, work_hash, min(panel) AS panel, count(DISTINCT panel) AS shared
    FROM judged_cases
    WHERE in_mean
    GROUP BY run_id, work_hash
),
settings AS (
    SELECT
        panels.run_id, setting, count(*) FILTER (shared = backends) AS n_everywhere,
        count(*) FILTER (shared = backends - 1) AS n_but_one
    FROM passing_works AS work
    JOIN panels ON work.run_id = panels.run_id AND work.panel = panels.panel
    GROUP BY panels.run_id, setting
),
covered_cases AS (
    SELECT judged_cases.*, shared, backends, n_everywhere, n_but_one, in_mean AND shared = backends AS in_matched_mean
    FROM judged_cases
    JOIN panels ON judged_cases.run_id = panels.run_id AND judged_cases.panel = panels.panel
    LEFT JOIN settings ON panels.run_id = settings.run_id AND panels.setting = settings.setting
    LEFT JOIN passing_works AS work ON judged_cases.run_id = work.run_id AND judged_cases.work_hash = work.work_hash
)

SELECT
    run_id, config, suite, mode, dtype, device, backend, panel,
    count(*) FILTER (passing) AS passing,
    count(*) FILTER (in_total) AS total,
    _pass_rate(count(*) FILTER (passing), count(*) FILTER (in_total)) AS rate,
    count(*) FILTER (NOT in_total) AS skipped,
    count(compile_ns) FILTER (passing) AS n_compiled,
    _ordered_mean(list(compile_ns) FILTER (passing AND compile_ns IS NOT NULL)) AS mean_compile_ns,
    max(compile_ns) FILTER (passing) AS max_compile_ns,
    arg_max(name, (compile_ns, name)) FILTER (passing AND compile_ns IS NOT NULL) AS slowest,
    count(compression_ratio) FILTER (passing) AS n_compressed,
    _ordered_mean(list(compression_ratio) FILTER (passing AND compression_ratio IS NOT NULL)) AS mean_compression,
    min(compression_ratio) FILTER (passing) AS min_compression,
    arg_min(name, (compression_ratio, name)) FILTER (passing AND compression_ratio IS NOT NULL) AS worst,
    count(*) FILTER (is_compared) AS n_compared,
    count(*) FILTER (in_mean) AS n,
    _passing_elsewhere(in_mean, shared, backends, n_everywhere, n_but_one) AS n_elsewhere,
    count(*) FILTER (in_matched_mean) AS n_matched,
    _geometric_mean(log_speedup, in_mean) AS speedup,
    _geometric_mean(greatest(log_speedup, 0), in_mean) AS dashboard_speedup,
    _geometric_width(width, in_mean) AS width,
    _geometric_mean(log_speedup, in_matched_mean) AS matched_speedup,
    _geometric_mean(greatest(log_speedup, 0), in_matched_mean) AS matched_dashboard_speedup,
    _geometric_width(width, in_matched_mean) AS matched_width,
    coalesce(list(name || ': ' || reason ORDER BY name, reason) FILTER (is_compared AND NOT in_mean), []) AS excluded,
    coalesce(list(name || ': ' || coalesce(reason, 'does not pass on every backend') ORDER BY name, reason)
        FILTER (is_compared AND in_matched_mean IS NOT true), []) AS matched_excluded
FROM covered_cases
GROUP BY run_id, config, suite, mode, dtype, device, backend, panel
