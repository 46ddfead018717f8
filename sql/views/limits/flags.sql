-- One row per case of a run × metric that is worse than a limit, and one per case that failed or is not accurate.
-- A speedup is flagged where there ought to be one and is none, too. A limit of NULL flags nothing.
--
-- arguments: min_speedup := {min_speedup}, max_compile_seconds := {max_compile_seconds}, min_compression := {min_compression}
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
    run_id, config, case_id, {axes}, metric, unit,
    value, low, high, threshold, _flag_reason(metric, value, low, high, n, threshold, cause) AS why
FROM _flagged_numbers(min_speedup, max_compile_seconds, min_compression)
