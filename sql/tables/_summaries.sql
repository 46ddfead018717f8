-- One row per run × suite × mode × dtype × device × backend in which a case was judged: its cases summed up.
-- What the views show as pass_rates, geomean_speedups, compile_times, memory_compression. Skipped cases do not count.
-- The width of a geometric mean is half its 95 % interval on the log scale, from the intervals of its cases: how well this
-- run measured them, not how other models would fare. It is NULL where a case has none.
--
-- axes: run, panel
-- panel                VARCHAR    These five in one (see case_axes).
-- passing              BIGINT     Cases that pass.
-- total                BIGINT     Cases judged for performance.
-- rate                 VARCHAR    Both as text, such as "82%, 50/61"; NULL where none was judged.
-- skipped              BIGINT     Cases skipped.
-- n_compiled           BIGINT     Passing cases whose compile latency is known.
-- mean_compile_ns      DOUBLE     Mean of these latencies.
-- max_compile_ns       DOUBLE     Longest.
-- slowest              VARCHAR    Name of the case that took longest.
-- n_compressed         BIGINT     Passing cases whose compression ratio is known.
-- mean_compression     DOUBLE     Mean of these ratios.
-- min_compression      DOUBLE     Smallest.
-- worst                VARCHAR    Name of the case with the smallest.
-- n_compared           BIGINT     Cases with something to compare with, or whose speedup an import reports.
-- n_here               BIGINT     Those of them that pass.
-- n_elsewhere          BIGINT     Work of the same run, suite, mode, dtype and device that passes on every other backend on
--                                 which anything does; NULL where there is none.
-- n_matched            BIGINT     Work that passes here and elsewhere.
-- speedup              DOUBLE     Geometric mean over n_here, slowdowns as 1.
-- raw_speedup          DOUBLE     The same, slowdowns as they are.
-- width                DOUBLE     Width of both.
-- matched_speedup      DOUBLE     Geometric mean over n_matched, slowdowns as 1.
-- matched_raw_speedup  DOUBLE     The same, slowdowns as they are.
-- matched_width        DOUBLE     Width of both.
-- excluded             VARCHAR[]  What n_here leaves out of n_compared, as 'name: reason', in order.
-- matched_excluded     VARCHAR[]  What n_matched leaves out.
WITH
judged_cases AS (
    SELECT
        outcome.run_id, outcome.config, outcome.suite, outcome.mode, outcome.dtype, outcome.device, outcome.backend,
        outcome.panel, outcome.name, outcome.work_hash, speedup,
        CASE WHEN low > 0 AND high > 0 THEN (ln(high) - ln(low)) / 2 END AS width, passing, side.reason, compile_ns,
        compression_ratio, side.status <> 'skipped' AS counted, counted AND origin IS NOT NULL AS compared,
        coalesce(passing AND speedup > 0, false) AS counts
    FROM case_outcomes AS outcome
    LEFT JOIN case_summaries AS side
        ON outcome.run_id = side.run_id AND outcome.case_id = side.case_id AND outcome.kind = 'performance'
    WHERE outcome.run_id IN (SELECT run_id FROM _touched)
),
works AS (
    SELECT run_id, suite, mode, dtype, device, work_hash, count(DISTINCT backend) AS shared
    FROM judged_cases
    WHERE counts
    GROUP BY ALL
),
panels AS (
    SELECT run_id, suite, mode, dtype, device, count(DISTINCT backend) AS backends
    FROM judged_cases
    WHERE counts
    GROUP BY ALL
),
coverage AS (
    SELECT
        panels.*, count(*) FILTER (shared = backends) AS n_everywhere, count(*) FILTER (shared = backends - 1) AS n_but_one
    FROM panels
    JOIN works
        ON panels.run_id = works.run_id
        AND panels.suite IS NOT DISTINCT FROM works.suite AND panels.mode IS NOT DISTINCT FROM works.mode
        AND panels.dtype IS NOT DISTINCT FROM works.dtype AND panels.device IS NOT DISTINCT FROM works.device
    GROUP BY ALL
),
covered_cases AS (
    SELECT
        judged_cases.*, shared, backends, n_everywhere, n_but_one, counts AND shared = backends AS matched,
        ln(CASE WHEN counts THEN speedup END) AS log_speedup
    FROM judged_cases
    LEFT JOIN works ON judged_cases.run_id = works.run_id AND judged_cases.work_hash = works.work_hash
    LEFT JOIN coverage
        ON judged_cases.run_id = coverage.run_id
        AND judged_cases.suite IS NOT DISTINCT FROM coverage.suite AND judged_cases.mode IS NOT DISTINCT FROM coverage.mode
        AND judged_cases.dtype IS NOT DISTINCT FROM coverage.dtype
        AND judged_cases.device IS NOT DISTINCT FROM coverage.device
)

SELECT
    run_id, config, suite, mode, dtype, device, backend, panel,
    count(*) FILTER (passing) AS passing,
    count(*) FILTER (counted) AS total,
    _pass_rate(count(*) FILTER (passing), count(*) FILTER (counted)) AS rate,
    count(*) FILTER (NOT counted) AS skipped,
    count(compile_ns) FILTER (passing) AS n_compiled,
    _ordered_mean(list(compile_ns) FILTER (passing AND compile_ns IS NOT NULL)) AS mean_compile_ns,
    max(compile_ns) FILTER (passing) AS max_compile_ns,
    arg_max(name, (compile_ns, name)) FILTER (passing AND compile_ns IS NOT NULL) AS slowest,
    count(compression_ratio) FILTER (passing) AS n_compressed,
    _ordered_mean(list(compression_ratio) FILTER (passing AND compression_ratio IS NOT NULL)) AS mean_compression,
    min(compression_ratio) FILTER (passing) AS min_compression,
    arg_min(name, (compression_ratio, name)) FILTER (passing AND compression_ratio IS NOT NULL) AS worst,
    count(*) FILTER (compared) AS n_compared,
    count(*) FILTER (counts) AS n_here,
    CASE
        WHEN count(*) FILTER (counts) = 0 THEN max(n_everywhere)
        WHEN max(backends) > 1
            THEN max(n_everywhere) + max(n_but_one) - count(*) FILTER (counts AND shared = backends - 1)
    END AS n_elsewhere,
    count(*) FILTER (matched) AS n_matched,
    exp(_ordered_mean(list(greatest(log_speedup, 0)) FILTER (counts))) AS speedup,
    exp(_ordered_mean(list(log_speedup) FILTER (counts))) AS raw_speedup,
    CASE WHEN bool_and(width IS NOT NULL) FILTER (counts)
        THEN sqrt(_ordered_mean(list(width * width) FILTER (counts)) / n_here)
    END AS width,
    exp(_ordered_mean(list(greatest(log_speedup, 0)) FILTER (matched))) AS matched_speedup,
    exp(_ordered_mean(list(log_speedup) FILTER (matched))) AS matched_raw_speedup,
    CASE WHEN bool_and(width IS NOT NULL) FILTER (matched)
        THEN sqrt(_ordered_mean(list(width * width) FILTER (matched)) / n_matched)
    END AS matched_width,
    coalesce(list(name || ': ' || reason ORDER BY name, reason) FILTER (compared AND NOT counts), []) AS excluded,
    coalesce(list(name || ': ' || coalesce(reason, 'does not pass on every backend') ORDER BY name, reason)
        FILTER (compared AND matched IS NOT true), []) AS matched_excluded
FROM covered_cases
GROUP BY run_id, config, suite, mode, dtype, device, backend, panel
