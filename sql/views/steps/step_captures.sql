-- One row per run × engine worker × data-parallel rank whose scheduler steps are numbered: how complete its record is.
-- A counter that is missing between the first and the last heard is a pass that was lost or rejected; a heartbeat has a counter and is no
-- step. A sampled capture leaves passes out on purpose, so what it lost nobody knows.
--
-- axes: run
-- worker_id      VARCHAR  Engine; NULL where its writer does not say.
-- dp_rank        BIGINT   Data-parallel rank.
-- capture_mode   VARCHAR  'sampled' if any step is of such a capture, else 'full'.
-- time_span      VARCHAR  What the times of its steps span; 'several' where they differ, so that they cannot be compared.
-- steps          BIGINT   Steps recorded.
-- heartbeats     BIGINT   Passes with nothing scheduled.
-- first_counter  BIGINT   Smallest counter heard.
-- last_counter   BIGINT   Largest.
-- lost           BIGINT   Passes lost between these, at least, where any are repeated; NULL of a sampled capture.
-- repeated       BIGINT   Steps whose counter another step has, in a second copy or after the engine restarted.
WITH
heard AS (
    SELECT
        run_id, json_extract_string(original_value, '$.worker_id') AS worker_id,
        TRY_CAST(json_extract_string(original_value, '$.dp_rank') AS BIGINT) AS dp_rank, TRY_CAST(sum(value) AS BIGINT) AS heartbeats,
        min(TRY_CAST(json_extract_string(original_value, '$.first') AS BIGINT)) AS first_counter,
        max(TRY_CAST(json_extract_string(original_value, '$.last') AS BIGINT)) AS last_counter
    FROM metrics
    WHERE metric = 'heartbeats' AND case_id IS NULL AND json_valid(original_value)
    GROUP BY ALL
),
steps AS (
    SELECT
        run_id, worker_id, dp_rank, count(*) AS steps, bool_or(coalesce(capture_mode = 'sampled', false)) AS is_sampled,
        CASE WHEN count(DISTINCT time_span) > 1 THEN 'several' ELSE min(time_span) END AS time_span, min(counter_id) AS first_counter,
        max(counter_id) AS last_counter, count(DISTINCT counter_id) AS counters, count(counter_id) AS numbered
    FROM schedule_chunks
    WHERE counter_id IS NOT NULL
    GROUP BY run_id, worker_id, dp_rank
),
captures AS (
    SELECT
        coalesce(steps.run_id, heard.run_id) AS run_id, coalesce(steps.worker_id, heard.worker_id) AS worker_id,
        coalesce(steps.dp_rank, heard.dp_rank) AS dp_rank, coalesce(is_sampled, false) AS is_sampled, time_span,
        coalesce(steps, 0) AS steps, coalesce(heartbeats, 0) AS heartbeats, coalesce(counters, 0) AS counters,
        coalesce(numbered, 0) AS numbered, least(steps.first_counter, heard.first_counter) AS first_counter,
        greatest(steps.last_counter, heard.last_counter) AS last_counter
    FROM steps
    FULL JOIN heard
        ON steps.run_id = heard.run_id AND steps.worker_id IS NOT DISTINCT FROM heard.worker_id
        AND steps.dp_rank IS NOT DISTINCT FROM heard.dp_rank
)

SELECT
    run_id, config, worker_id, dp_rank, CASE WHEN is_sampled THEN 'sampled' ELSE 'full' END AS capture_mode, time_span, steps,
    heartbeats, first_counter, last_counter,
    CASE
        WHEN NOT is_sampled
        THEN TRY_CAST(greatest(last_counter::HUGEINT - first_counter + 1 - counters - heartbeats, 0) AS BIGINT)
    END AS lost,
    numbered - counters AS repeated
FROM captures
JOIN _run_records USING (run_id)
