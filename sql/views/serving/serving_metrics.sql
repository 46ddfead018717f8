-- One row per config × case of a serving benchmark × metric: its value, and the error of that.
-- Of one run the error is by blocks of time (see `goodput`): each block's value, its distance from the value of the whole, in batches
-- of neighbours. Of several runs the value is the mean over the runs, and the error that of the mean of runs. Requests share queue
-- and batch, so they are never taken as independent. A quantile has no error where blocks have, on average, not one request beyond
-- it. The limits are those of `goodput`, in ms.
--
-- arguments: ttft := NULL, tpot := NULL, e2e := NULL, configs := NULL, runs := NULL
--
-- config      VARCHAR  Config.
-- case_id     VARCHAR  Case: the model with its load and settings.
-- name        VARCHAR  Model.
-- backend     VARCHAR  Engine.
-- parameters  JSON     Load and settings.
-- metric      VARCHAR  goodput (requests/s within the limits), token_goodput, share_met, throughput (generated tokens/s) and
--                      throughput_per_gpu, request_rate, interactivity (tokens/s of a user: 1000 / median tpot); ttft, tpot and
--                      e2e with _p50, _p90, _p99 in ms.
-- unit        VARCHAR  Unit of the value.
-- better      VARCHAR  'higher' or 'lower'; NULL of request_rate, which the client chose.
-- value       DOUBLE   Value.
-- error       DOUBLE   Its standard error; NULL where nothing tells it.
-- degrees     BIGINT   Degrees of freedom of that: runs less one; of one run blocks less one, 8 at most.
-- blocks      BIGINT   Blocks of the only run that the error is over; NULL for several runs and where nothing tells it.
-- low         DOUBLE   Lower end of its 95 % interval.
-- high        DOUBLE   Upper end.
-- n_runs      BIGINT   Runs.
-- requests    BIGINT   Requests.
-- units       VARCHAR  What the error is over, 'blocks' or 'runs'.
WITH
blocked AS (FROM _request_blocks(ttft, tpot, e2e, configs, runs)),
rates AS (FROM goodput(ttft := ttft, tpot := tpot, e2e := e2e, configs := configs, runs := runs)),
block_values AS (
    SELECT
        run_id, config, case_id, source_id, line, block, count(*)::DOUBLE AS requests, count(*) FILTER (is_good)::DOUBLE AS good,
        sum(tokens_out) AS tokens, coalesce(sum(tokens_out) FILTER (is_good), 0) AS good_tokens,
        _percentiles(list(ttft_ms)) AS ttfts, _percentiles(list(tpot_ms)) AS tpots,
        _percentiles(list(e2e_ms)) AS e2es
    FROM blocked
    GROUP BY run_id, config, case_id, source_id, line, block
),
run_values AS (
    SELECT
        run_id, case_id, _percentiles(list(ttft_ms)) AS ttfts, _percentiles(list(tpot_ms)) AS tpots,
        _percentiles(list(e2e_ms)) AS e2es
    FROM blocked
    GROUP BY run_id, case_id
),
whole AS (  -- of each run
    SELECT
        rates.run_id, rates.config, rates.case_id, rates.requests, rates.blocks, rates.duration_s, goodput, token_goodput, share_met,
        throughput, request_rate, ttfts, tpots, e2es, gpus
    FROM rates
    JOIN run_values ON rates.run_id = run_values.run_id AND rates.case_id = run_values.case_id
    LEFT JOIN _serving_gpus AS machine ON rates.run_id = machine.run_id AND rates.case_id = machine.case_id
),
run_metrics AS (
    SELECT
        run_id, config, case_id, requests, blocks,
        unnest([
            {'metric': 'goodput', 'value': goodput}, {'metric': 'token_goodput', 'value': token_goodput},
            {'metric': 'share_met', 'value': share_met}, {'metric': 'throughput', 'value': throughput},
            {'metric': 'throughput_per_gpu', 'value': throughput / gpus}, {'metric': 'request_rate', 'value': request_rate},
            {'metric': 'interactivity', 'value': 1000 / nullif(tpots[1], 0)},
            {'metric': 'ttft_p50', 'value': ttfts[1]}, {'metric': 'ttft_p90', 'value': ttfts[2]}, {'metric': 'ttft_p99', 'value': ttfts[3]},
            {'metric': 'tpot_p50', 'value': tpots[1]}, {'metric': 'tpot_p90', 'value': tpots[2]}, {'metric': 'tpot_p99', 'value': tpots[3]},
            {'metric': 'e2e_p50', 'value': e2es[1]}, {'metric': 'e2e_p90', 'value': e2es[2]}, {'metric': 'e2e_p99', 'value': e2es[3]}
        ]) AS one
    FROM whole
),
block_metrics AS (  -- each block as if it were the whole; those of a ratio by their part in its error
    SELECT
        block_values.run_id, block_values.case_id, source_id, line, block,
        unnest([
            {'metric': 'goodput', 'value': block_values.good * whole.blocks / duration_s},
            {'metric': 'token_goodput', 'value': good_tokens * whole.blocks / duration_s},
            {'metric': 'share_met', 'value': share_met + (block_values.good - share_met * block_values.requests) * whole.blocks / whole.requests},
            {'metric': 'throughput', 'value': tokens * whole.blocks / duration_s},
            {'metric': 'throughput_per_gpu', 'value': tokens * whole.blocks / duration_s / gpus},
            {'metric': 'request_rate', 'value': block_values.requests * whole.blocks / duration_s},
            {'metric': 'interactivity', 'value': 1000 / nullif(block_values.tpots[1], 0)},
            {'metric': 'ttft_p50', 'value': block_values.ttfts[1]}, {'metric': 'ttft_p90', 'value': block_values.ttfts[2]},
            {'metric': 'ttft_p99', 'value': block_values.ttfts[3]}, {'metric': 'tpot_p50', 'value': block_values.tpots[1]},
            {'metric': 'tpot_p90', 'value': block_values.tpots[2]}, {'metric': 'tpot_p99', 'value': block_values.tpots[3]},
            {'metric': 'e2e_p50', 'value': block_values.e2es[1]}, {'metric': 'e2e_p90', 'value': block_values.e2es[2]},
            {'metric': 'e2e_p99', 'value': block_values.e2es[3]}
        ]) AS one
    FROM block_values
    JOIN whole ON block_values.run_id = whole.run_id AND block_values.case_id = whole.case_id
),
block_errors AS (
    SELECT
        run_metrics.run_id, run_metrics.case_id, run_metrics.one.metric AS metric, count(*) AS n,
        _batch_error(list(block_metrics.one.value - run_metrics.one.value ORDER BY source_id, line, block)) AS error
    FROM run_metrics
    JOIN block_metrics
        ON run_metrics.run_id = block_metrics.run_id AND run_metrics.case_id = block_metrics.case_id
        AND run_metrics.one.metric = block_metrics.one.metric
    WHERE block_metrics.one.value IS NOT NULL
    GROUP BY run_metrics.run_id, run_metrics.case_id, run_metrics.one.metric
),
config_metrics AS (
    SELECT
        run_metrics.config, run_metrics.case_id, one.metric AS metric, avg(one.value) AS value, count(one.value) AS n_runs,
        sum(requests)::BIGINT AS requests,
        CASE WHEN count(one.value) > 1 THEN stddev_samp(one.value) / sqrt(count(one.value))
            WHEN NOT ends_with(one.metric, '_p99') OR min(requests / blocks) >= 100 THEN min(error) END AS error,
        CASE WHEN count(one.value) > 1 THEN count(one.value) - 1 ELSE least(min(n) - 1, 8) END AS degrees,
        CASE WHEN count(one.value) = 1 THEN min(n) END AS blocks,
        CASE WHEN count(one.value) > 1 THEN 'runs' ELSE 'blocks' END AS units
    FROM run_metrics
    LEFT JOIN block_errors
        ON run_metrics.run_id = block_errors.run_id AND run_metrics.case_id = block_errors.case_id
        AND run_metrics.one.metric = block_errors.metric
    GROUP BY run_metrics.config, run_metrics.case_id, one.metric
)

SELECT
    config, case_id, axes.name, axes.backend, axes.parameters, metric,
    CASE
        WHEN metric IN ('goodput', 'request_rate') THEN 'requests/s'
        WHEN metric = 'share_met' THEN 'ratio'
        WHEN metric IN ('token_goodput', 'throughput', 'throughput_per_gpu', 'interactivity') THEN 'tokens/s'
        ELSE 'ms'
    END AS unit,
    CASE WHEN metric = 'request_rate' THEN NULL WHEN regexp_matches(metric, '_p\d+$') THEN 'lower' ELSE 'higher' END AS better,
    value, _finite(error) AS error, CASE WHEN _finite(error) IS NOT NULL THEN degrees END AS degrees,
    CASE WHEN _finite(error) IS NOT NULL THEN blocks END AS blocks,
    _finite(value - _t975(degrees) * error) AS low, _finite(value + _t975(degrees) * error) AS high, n_runs, requests, units
FROM config_metrics
LEFT JOIN case_axes AS axes USING (case_id)
WHERE _finite(value) IS NOT NULL
