-- One row per config: what became of the lines that `runtime_vs_tokens` read, with the same arguments.
-- read = trimmed + rejected + heartbeats + filtered + kept.
--
-- arguments: configs := NULL, trim := 10, max_schedule_ms := 300, max_model_run_ms := 200, runs := NULL
--
-- config       VARCHAR  Config.
-- files        BIGINT   Files of the config, own recordings counted by process.
-- read         BIGINT   Lines in these files.
-- trimmed      BIGINT   Lines among the first or last `trim` of their file.
-- rejected     BIGINT   Other lines that could not be read.
-- heartbeats   BIGINT   Other lines of an idle engine, which scheduled nothing.
-- filtered     BIGINT   Other steps as slow as a threshold or slower.
-- slow         BIGINT   Those of the filtered whose model run took max_model_run_ms or longer.
-- kept         BIGINT   Steps in `runtime_vs_tokens`.
-- most_tokens  BIGINT   Most tokens of one of these whose time is known; NULL without any.
WITH
chosen AS (
    SELECT *
    FROM _step_files
    WHERE (configs IS NULL OR list_contains(configs::VARCHAR[], config))
        AND (runs IS NULL OR list_contains(runs::VARCHAR[], run_id))
),
files AS (
    SELECT
        config, count(*) AS files, _total(lines) AS read,
        _total(greatest(lines - 2 * "trim", 0)) AS inside
    FROM chosen
    GROUP BY config
),
unread AS (
    SELECT config, count(*) AS unread
    FROM rejects
    JOIN chosen ON rejects.source_id = chosen.source_id
    WHERE line > "trim" AND line <= lines - "trim"
    GROUP BY config
),
idle AS (  -- those that are trimmed, too: which lines they are is not stored
    SELECT config, TRY_CAST(sum(value) AS BIGINT) AS heartbeats
    FROM metrics
    JOIN chosen ON metrics.source_id = chosen.source_id
    WHERE metric = 'heartbeats' AND case_id IS NULL
    GROUP BY config
),
steps AS (
    SELECT
        config, count(*) FILTER (filtered) AS filtered, count(*) FILTER (slow) AS slow, count(*) FILTER (NOT filtered) AS kept,
        max(_step_tokens(chunk_sizes, total_tokens)) FILTER (NOT filtered AND model_run_ms >= 0) AS most_tokens
    FROM _steps(configs, "trim", max_schedule_ms, max_model_run_ms, runs)
    WHERE NOT trimmed
    GROUP BY config
),
accounts AS (  -- what is no step was not read, or else is of an idle engine
    SELECT
        files.config, files, read, read - inside AS trimmed, inside - coalesce(filtered, 0) - coalesce(kept, 0) AS others,
        least(coalesce(heartbeats, 0), greatest(others - coalesce(unread, 0), 0)) AS heartbeats,
        coalesce(filtered, 0) AS filtered, coalesce(slow, 0) AS slow, coalesce(kept, 0) AS kept, most_tokens
    FROM files
    LEFT JOIN steps ON files.config = steps.config
    LEFT JOIN unread ON files.config = unread.config
    LEFT JOIN idle ON files.config = idle.config
)

SELECT config, files, read, trimmed, others - heartbeats AS rejected, heartbeats, filtered, slow, kept, most_tokens
FROM accounts
