-- One row per case of a run of a serving benchmark: what it served within limits, in ms, that may be chosen after the run.
-- A request is good if it completed with ttft, tpot (time per output token after the first) and e2e (time to the last token) of at most
-- the limits given; without any, if it completed. `vllm bench serve --goodput` counts the same. Several records of a case in one
-- run are summed up. Intervals are 95 %, by blocks of time (20, or as many as have 10 requests each), because requests share
-- queue and batch with their neighbours: the error of a ratio of block totals (`_batch_error`), Student's t. They tell of this run only.
--
-- arguments: ttft := NULL, tpot := NULL, e2e := NULL, configs := NULL, runs := NULL
--
-- axes: run
-- case_id          VARCHAR  Case: the model with its load and settings.
-- name             VARCHAR  Model.
-- backend          VARCHAR  Engine.
-- parameters       JSON     Load and settings.
-- requests         BIGINT   Requests sent.
-- completed        BIGINT   Those that completed.
-- good             BIGINT   Those that completed within all limits.
-- share_met        DOUBLE   good / requests, 0 to 1.
-- share_low        DOUBLE   Lower end of its interval, at least 0; NULL for fewer than 5 blocks.
-- share_high       DOUBLE   Upper end, at most 1.
-- duration_s       DOUBLE   Duration of the benchmark as its tool says, if more than 0, else from the first arrival to the last token.
-- goodput          DOUBLE   good / duration_s: requests a second.
-- goodput_low      DOUBLE   Lower end of its interval.
-- goodput_high     DOUBLE   Upper end.
-- token_goodput    DOUBLE   Tokens a second that good requests generated.
-- throughput       DOUBLE   Tokens a second that all requests generated.
-- request_rate     DOUBLE   Requests sent a second.
-- blocks           BIGINT   Blocks of time that the intervals rest on.
WITH
block_totals AS (
    SELECT
        run_id, config, case_id, source_id, line, block, count(*) AS requests, count(*) FILTER (is_ok) AS completed,
        count(*) FILTER (is_good) AS good, sum(tokens_out) AS tokens, sum(tokens_out) FILTER (is_good) AS good_tokens,
        min(arrival_s) AS first_s, max(ended_s) AS last_s
    FROM _request_blocks(ttft, tpot, e2e, configs, runs)
    GROUP BY run_id, config, case_id, source_id, line, block
),
records AS (
    SELECT run_id, case_id, source_id, line, max(last_s) - min(first_s) AS span_s FROM block_totals GROUP BY ALL
),
told AS (
    SELECT run_id, case_id, sum(value) / 1e9::DOUBLE AS told_s, count(*) AS told
    FROM metrics
    WHERE metric = 'benchmark_duration' AND statistic IS NULL AND unit = 'ns' AND value > 0 AND run_id IN (SELECT run_id FROM records)
    GROUP BY run_id, case_id
),
durations AS (  -- as told only if each record tells one
    SELECT
        records.run_id, records.case_id,
        CASE WHEN min(told) >= count(*) THEN min(told_s) ELSE sum(span_s) END AS duration_s
    FROM records
    LEFT JOIN told ON records.run_id = told.run_id AND records.case_id = told.case_id
    GROUP BY records.run_id, records.case_id
),
totals AS (
    SELECT
        run_id, config, case_id, sum(requests)::DOUBLE AS requests, sum(completed)::BIGINT AS completed, sum(good)::DOUBLE AS good,
        coalesce(sum(good_tokens), 0) AS good_tokens, sum(tokens) AS tokens, count(*) AS blocks
    FROM block_totals
    GROUP BY run_id, config, case_id
),
errors AS (  -- of the ratio good / requests, and of the count of good ones if blocks were as long as their mean
    SELECT
        totals.run_id, totals.case_id, least(totals.blocks - 1, 8) AS degrees,
        totals.blocks / totals.requests * _batch_error(list(
            block_totals.good - totals.good / totals.requests * block_totals.requests ORDER BY source_id, line, block
        )) AS share_error,
        totals.blocks * _batch_error(list(block_totals.good - totals.good / totals.blocks ORDER BY source_id, line, block)) AS good_error
    FROM totals
    JOIN block_totals ON totals.run_id = block_totals.run_id AND totals.case_id = block_totals.case_id
    GROUP BY totals.run_id, totals.case_id, totals.requests, totals.blocks
)

SELECT
    totals.run_id, config, totals.case_id, axes.name, axes.backend, axes.parameters, requests::BIGINT AS requests, completed,
    good::BIGINT AS good, good / requests AS share_met,
    CASE WHEN share_error IS NOT NULL THEN greatest(good / requests - _t975(degrees) * share_error, 0) END AS share_low,
    CASE WHEN share_error IS NOT NULL THEN least(good / requests + _t975(degrees) * share_error, 1) END AS share_high,
    duration_s, good / nullif(duration_s, 0) AS goodput,
    CASE WHEN good_error IS NOT NULL THEN greatest(good - _t975(degrees) * good_error, 0) / nullif(duration_s, 0) END AS goodput_low,
    (good + _t975(degrees) * good_error) / nullif(duration_s, 0) AS goodput_high,
    _finite(good_tokens / nullif(duration_s, 0)) AS token_goodput, _finite(tokens / nullif(duration_s, 0)) AS throughput,
    requests / nullif(duration_s, 0) AS request_rate, blocks
FROM totals
JOIN durations ON totals.run_id = durations.run_id AND totals.case_id = durations.case_id
LEFT JOIN errors ON totals.run_id = errors.run_id AND totals.case_id = errors.case_id
LEFT JOIN case_axes AS axes ON totals.case_id = axes.case_id
