-- One row per recorded run of `bench cost-model --by phase --record` × config fitted: what its steps cost by phase.
-- The time the model runs is floor + prefill tokens + decoding requests + KV tokens, each times its cost, see
-- `step_phase_cost_ms`. Intervals are 95 %. What the steps do not separate is NULL, and `reason` says why; the curve holds
-- within their range even so.
--
-- run_id                      VARCHAR    Run that recorded it.
-- fitted_at                   TIMESTAMP  When. UTC.
-- config                      VARCHAR    Config whose steps were fitted.
-- parameters                  JSON       What was left out of the fit, as a JSON object: trim, max_schedule_ms,
--                                        max_model_run_ms.
-- status                      VARCHAR    ok, partial, undetermined, no-phases, sampled, several-spans, too-few-steps.
-- reason                      VARCHAR    Why anything is NULL, in one line.
-- steps                       BIGINT     Steps fitted, outliers among them.
-- outliers                    BIGINT     Steps so far from the fit that they had no say.
-- floor_ms                    DOUBLE     Time of a step of nothing: the weights are read, kernels are launched.
-- floor_low_ms                DOUBLE     Lower end of its interval.
-- floor_high_ms               DOUBLE     Upper end.
-- per_prefill_token_us        DOUBLE     Time of each prompt token computed.
-- per_prefill_token_low_us    DOUBLE     Lower end.
-- per_prefill_token_high_us   DOUBLE     Upper end.
-- per_decode_request_us       DOUBLE     Time of each request in decode.
-- per_decode_request_low_us   DOUBLE     Lower end.
-- per_decode_request_high_us  DOUBLE     Upper end.
-- per_kv_token_us             DOUBLE     Time of each token in the KV cache that the step reads.
-- per_kv_token_low_us         DOUBLE     Lower end.
-- per_kv_token_high_us        DOUBLE     Upper end.
-- condition                   DOUBLE     Condition number of what was fitted, columns scaled to equal length; above 30 some are
--                                        nearly sums of others.
-- r2                          DOUBLE     Share of the variance of the steps that is explained, outliers left out.
-- r2_all                      DOUBLE     The same with outliers.
-- spread                      DOUBLE     Robust standard deviation of (time - fitted) / fitted.
-- min_prefill_tokens          BIGINT     Fewest prompt tokens of a step.
-- max_prefill_tokens          BIGINT     Most.
-- min_decode_requests         BIGINT     Fewest requests in decode.
-- max_decode_requests         BIGINT     Most.
-- min_kv_tokens               BIGINT     Fewest KV-cache tokens; NULL where nobody says.
-- max_kv_tokens               BIGINT     Most.
-- curve_floor_ms              DOUBLE     First coefficient of the curve, whether or not the steps separate it.
-- curve_prefill_ms            DOUBLE     Second, for each prompt token.
-- curve_decode_ms             DOUBLE     Third, for each request in decode.
-- curve_kv_ms                 DOUBLE     Fourth, for each KV-cache token; 0 where they are not known.
WITH
numbers AS (
    SELECT run_id, case_id, map_from_entries(list((metric, value))) AS of
    FROM (
        SELECT run_id, case_id, metric, max(value) AS value
        FROM metrics
        WHERE case_id IN (SELECT case_id FROM cases WHERE suite = 'step-phases') AND abs(value) < 1e150
        GROUP BY run_id, case_id, metric
    )
    GROUP BY run_id, case_id
)

SELECT
    run_id, began_at AS fitted_at, name AS config, parameters,
    CASE WHEN reason IS NULL THEN 'ok' ELSE split_part(reason, ': ', 1) END AS status,
    regexp_replace(reason, '^[^:]*: ', '') AS reason,
    _fixed_point(of['steps'], 1) AS steps, _fixed_point(of['outliers'], 1) AS outliers,
    of['floor'] / 1e6 AS floor_ms, of['floor_low'] / 1e6 AS floor_low_ms, of['floor_high'] / 1e6 AS floor_high_ms,
    of['per_prefill_token'] / 1e3 AS per_prefill_token_us, of['per_prefill_token_low'] / 1e3 AS per_prefill_token_low_us,
    of['per_prefill_token_high'] / 1e3 AS per_prefill_token_high_us,
    of['per_decode_request'] / 1e3 AS per_decode_request_us, of['per_decode_request_low'] / 1e3 AS per_decode_request_low_us,
    of['per_decode_request_high'] / 1e3 AS per_decode_request_high_us,
    of['per_kv_token'] / 1e3 AS per_kv_token_us, of['per_kv_token_low'] / 1e3 AS per_kv_token_low_us,
    of['per_kv_token_high'] / 1e3 AS per_kv_token_high_us,
    of['condition'] AS condition, of['r2'] AS r2, of['r2_all'] AS r2_all, of['spread'] AS spread,
    _fixed_point(of['min_prefill_tokens'], 1) AS min_prefill_tokens, _fixed_point(of['max_prefill_tokens'], 1) AS max_prefill_tokens,
    _fixed_point(of['min_decode_requests'], 1) AS min_decode_requests,
    _fixed_point(of['max_decode_requests'], 1) AS max_decode_requests,
    _fixed_point(of['min_kv_tokens'], 1) AS min_kv_tokens, _fixed_point(of['max_kv_tokens'], 1) AS max_kv_tokens,
    of['curve_floor'] / 1e6 AS curve_floor_ms, of['curve_prefill'] / 1e6 AS curve_prefill_ms,
    of['curve_decode'] / 1e6 AS curve_decode_ms, of['curve_kv'] / 1e6 AS curve_kv_ms
FROM case_outcomes
JOIN numbers USING (run_id, case_id)
JOIN _run_times USING (run_id)
WHERE suite = 'step-phases'
