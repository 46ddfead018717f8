-- One row per request of a serving benchmark: its samples put together by their number.
-- Of cases of the suite 'serving'. A request is known by run, case and number; of an import also by file and record, because
-- several records may be of one case. Times are whole ns where they are stored as timings. A number below 0 or a time of another unit
-- is unknown.
--
-- axes: run
-- case_id     VARCHAR  Case: the model with its load and settings.
-- source_id   VARCHAR  Imported file; NULL for own recordings.
-- line        BIGINT   Record in that file; NULL for own recordings, and where each request is a record.
-- sample      BIGINT   Number of the request within these, from 0.
-- arrival_s   DOUBLE   When it was sent, by a clock of any origin: only differences within a record count. NULL where nobody says.
-- ttft_ms     DOUBLE   Time to its first token.
-- tpot_ms     DOUBLE   Time per output token after the first: as measured, else (e2e - ttft) / (tokens_out - 1). NULL for one token.
-- e2e_ms      DOUBLE   Time to its last token.
-- tokens_in   DOUBLE   Prompt tokens.
-- tokens_out  DOUBLE   Generated tokens.
-- outcome     VARCHAR  ok, or why it did not complete: errored, cancelled, incomplete …
WITH
serving_cases AS (
    SELECT DISTINCT run_id, case_id
    FROM cases
    JOIN _touched USING (run_id)
    WHERE suite = 'serving'
),
samples AS (
    SELECT
        run_id, case_id, source_id, CASE WHEN source_id IS NOT NULL THEN line END AS line, sample, metric,
        (duration_ns / loops)::DOUBLE AS value, NULL::VARCHAR AS said, recorded_at
    FROM timings
    JOIN serving_cases USING (run_id, case_id)
    WHERE metric IN ('latency', 'ttft', 'tpot') AND phase = 'steady' AND sample IS NOT NULL AND loops > 0
    UNION ALL
    SELECT
        run_id, case_id, source_id, CASE WHEN source_id IS NOT NULL THEN line END, sample, metric,
        CASE
            WHEN metric = 'start_time' OR value >= 0 AND (unit = 'ns' OR metric IN ('input_tokens', 'output_tokens'))
            THEN _finite(value)
        END, original_value, recorded_at
    FROM metrics
    JOIN serving_cases USING (run_id, case_id)
    WHERE metric IN ('latency', 'ttft', 'tpot', 'input_tokens', 'output_tokens', 'start_time', 'request_outcome')
        AND statistic IS NULL AND sample IS NOT NULL AND coalesce(phase, 'steady') = 'steady'
),
numbered AS (
    SELECT
        run_id, case_id, source_id, line, sample,
        min(value) FILTER (metric = 'start_time') / 1e9::DOUBLE AS started_s, min(recorded_at) AS first_recorded_at,
        min(value) FILTER (metric = 'ttft') AS ttft, min(value) FILTER (metric = 'tpot') AS tpot,
        min(value) FILTER (metric = 'latency') AS e2e, min(value) FILTER (metric = 'input_tokens') AS tokens_in,
        min(value) FILTER (metric = 'output_tokens') AS tokens_out, min(said) FILTER (metric = 'request_outcome') AS said
    FROM samples
    GROUP BY run_id, case_id, source_id, line, sample
),
clocks AS (  -- one instant for all requests of a record is when the benchmark ran, and no arrival
    SELECT run_id, case_id, source_id, count(DISTINCT first_recorded_at) > 1 OR count(*) = 1 AS is_by_request,
        count(DISTINCT line) = count(*) AS is_each_alone
    FROM numbered
    GROUP BY run_id, case_id, source_id
)

SELECT
    numbered.run_id, config, numbered.case_id, numbered.source_id, CASE WHEN NOT is_each_alone THEN line END AS line, sample,
    coalesce(started_s, CASE WHEN is_by_request THEN epoch_us(first_recorded_at) / 1e6::DOUBLE END) AS arrival_s,
    ttft / 1e6::DOUBLE AS ttft_ms,
    coalesce(tpot, CASE WHEN tokens_out > 1 THEN (e2e - ttft) / (tokens_out - 1) END) / 1e6::DOUBLE AS tpot_ms,
    e2e / 1e6::DOUBLE AS e2e_ms, tokens_in, tokens_out,
    coalesce(said, CASE WHEN e2e IS NULL AND ttft IS NULL AND tokens_out IS NULL THEN 'errored' ELSE 'ok' END) AS outcome
FROM numbered
JOIN _touched USING (run_id)
JOIN clocks
    ON numbered.run_id = clocks.run_id AND numbered.case_id = clocks.case_id
    AND numbered.source_id IS NOT DISTINCT FROM clocks.source_id
