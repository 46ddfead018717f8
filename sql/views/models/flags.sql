-- One row per case of a run × metric that is worse than a limit, and one per case that failed or is not accurate.
-- A speedup is flagged where there ought to be one and is none, too. A limit of NULL flags nothing.
--
-- arguments: min_speedup := 0.95, max_compile_seconds := 120, min_compression := 0.9
--
-- axes: run, case without work_hash
-- case_id    VARCHAR  Case flagged.
-- metric     VARCHAR  speedup, compile_latency, compression_ratio, accuracy, or status for a case that failed.
-- unit       VARCHAR  Unit of value and threshold: ratio or s; NULL where there is no value.
-- value      DOUBLE   What was measured; NULL where nothing was.
-- low        DOUBLE   Lower end of its 95 % interval; NULL where none is known.
-- high       DOUBLE   Upper end.
-- threshold  DOUBLE   The limit it is beyond.
-- why        VARCHAR  The reason in words.
SELECT
    run_id, config, case_id, suite, name, mode, device, dtype, backend, batch_size, sequence_length, parameters,
    'speedup' AS metric, 'ratio' AS unit, speedup AS value, low, high, min_speedup::DOUBLE AS threshold,
    CASE
        WHEN low IS NULL THEN format('speedup {:.3f} is below {:g}', speedup, threshold)
        ELSE format('speedup {:.3f} (95 % {:.3f}–{:.3f}, n={}) is below {:g}', speedup, low, high, n, threshold)
    END AS why
FROM case_summaries
WHERE speedup < threshold
UNION ALL
SELECT
    run_id, config, case_id, suite, name, mode, device, dtype, backend, batch_size, sequence_length, parameters,
    'compile_latency', 's', compile_ns / 1e9::DOUBLE AS seconds, NULL, NULL, max_compile_seconds::DOUBLE AS threshold,
    format('compiling took {:.1f} s, above {:g} s', seconds, threshold)
FROM case_summaries
WHERE compile_ns > threshold * 1e9::DOUBLE
UNION ALL
SELECT
    run_id, config, case_id, suite, name, mode, device, dtype, backend, batch_size, sequence_length, parameters,
    'compression_ratio', 'ratio', compression_ratio, NULL, NULL, min_compression::DOUBLE AS threshold,
    format('memory compression {:.3f} is below {:g}', compression_ratio, threshold)
FROM case_summaries
WHERE compression_ratio < threshold
UNION ALL
SELECT
    run_id, config, case_id, suite, name, mode, device, dtype, backend, batch_size, sequence_length, parameters,
    CASE reason WHEN 'no accuracy' THEN 'accuracy' ELSE 'speedup' END, NULL, NULL, NULL, NULL, NULL, reason
FROM case_summaries
WHERE reason IS NOT NULL AND (reason IN ('no accuracy', 'no speedup') OR starts_with(reason, 'baseline '))
UNION ALL
SELECT
    run_id, config, case_id, suite, name, mode, device, dtype, backend, batch_size, sequence_length, parameters,
    CASE kind WHEN 'accuracy' THEN kind ELSE 'status' END, NULL, NULL, NULL, NULL, NULL, concat_ws(': ', status, reason)
FROM case_outcomes
WHERE failed OR failed IS NULL AND kind = 'accuracy'
