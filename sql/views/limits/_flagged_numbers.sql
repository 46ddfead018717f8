-- One row per case of a run × metric that is worse than a limit, and one per case that failed or is not accurate: the numbers of
-- `flags`, which puts them into words.
--
-- arguments: min_speedup, max_compile_seconds, min_compression
--
-- axes: run, case without work_hash
-- case_id    VARCHAR  Case flagged.
-- panel      VARCHAR  Its suite, mode, dtype, device and backend (see case_axes).
-- metric     VARCHAR  speedup, compile_latency, compression_ratio, accuracy, or status for a case that failed.
-- unit       VARCHAR  Unit of value and threshold: ratio or s; NULL where there is no value.
-- value      DOUBLE   What was measured; NULL where nothing was.
-- low        DOUBLE   Lower end of its 95 % interval; NULL where none is known.
-- high       DOUBLE   Upper end.
-- n          BIGINT   Pairs of blocks behind it; NULL where nothing was paired.
-- threshold  DOUBLE   The limit it is beyond.
-- cause      VARCHAR  What went wrong; NULL where a value is beyond a limit.
SELECT
    run_id, config, case_id, {axes}, panel,
    'speedup' AS metric, 'ratio' AS unit, speedup AS value, low, high, n, min_speedup::DOUBLE AS threshold, NULL::VARCHAR AS cause
FROM case_summaries
WHERE speedup < threshold
UNION ALL
SELECT
    run_id, config, case_id, {axes}, panel,
    'compile_latency', 's', compile_ns / 1e9::DOUBLE, NULL, NULL, NULL, max_compile_seconds::DOUBLE AS threshold, NULL
FROM case_summaries
WHERE compile_ns > threshold * 1e9::DOUBLE
UNION ALL
SELECT
    run_id, config, case_id, {axes}, panel,
    'compression_ratio', 'ratio', compression_ratio, NULL, NULL, NULL, min_compression::DOUBLE AS threshold, NULL
FROM case_summaries
WHERE compression_ratio < threshold
UNION ALL
SELECT
    run_id, config, case_id, {axes}, panel,
    CASE reason WHEN 'no accuracy' THEN 'accuracy' ELSE 'speedup' END, NULL, NULL, NULL, NULL, NULL, NULL, reason
FROM case_summaries
WHERE reason IS NOT NULL AND (reason IN ('no accuracy', 'no speedup') OR starts_with(reason, 'baseline '))
UNION ALL
SELECT
    run_id, config, case_id, {axes}, panel,
    CASE kind WHEN 'accuracy' THEN kind ELSE 'status' END, NULL, NULL, NULL, NULL, NULL, NULL, concat_ws(': ', status, reason)
FROM case_outcomes
WHERE failed OR failed IS NULL AND kind = 'accuracy'
