-- One row per recorded run of `bench cost-model --record` × config fitted: the cost model of its scheduler steps.
-- The time the model runs is base + slope · bend(tokens) + request · requests, see `step_cost_ms`. Intervals are 95 %. What
-- the steps cannot tell is NULL, and `reason` says why; the curve holds within their range even so.
--
-- run_id               VARCHAR    Run that recorded it.
-- fitted_at            TIMESTAMP  When. UTC.
-- config               VARCHAR    Config whose steps were fitted.
-- parameters           JSON       What was left out of the fit, as a JSON object: trim, max_schedule_ms, max_model_run_ms.
-- status               VARCHAR    ok, memory-bound, compute-bound, straight, inseparable, undetermined, one-token-count,
--                                 too-few-steps.
-- reason               VARCHAR    Why anything is NULL, in one line.
-- steps                BIGINT     Steps fitted, outliers among them.
-- outliers             BIGINT     Steps so far from the fit that they had no say.
-- floor_ms             DOUBLE     Time of a step of hardly any tokens: the weights are read, whatever is computed.
-- floor_low_ms         DOUBLE     Lower end of its interval.
-- floor_high_ms        DOUBLE     Upper end.
-- per_token_us         DOUBLE     Time of each further token once computing binds.
-- per_token_low_us     DOUBLE     Lower end.
-- per_token_high_us    DOUBLE     Upper end.
-- knee_tokens          DOUBLE     Tokens from which a step is compute-bound: computing takes as long as reading the
--                                 weights.
-- knee_low_tokens      DOUBLE     Lower end.
-- knee_high_tokens     DOUBLE     Upper end.
-- per_request_us       DOUBLE     Time of each request, whose cache is read and whose token is sampled.
-- per_request_low_us   DOUBLE     Lower end.
-- per_request_high_us  DOUBLE     Upper end.
-- overhead_ms          DOUBLE     Part of the floor that computing never hides.
-- overhead_low_ms      DOUBLE     Lower end.
-- overhead_high_ms     DOUBLE     Upper end.
-- softness             DOUBLE     How gently the knee bends, from 0, a sharp one, to 0.5, a hyperbola.
-- softness_low         DOUBLE     Lower end.
-- softness_high        DOUBLE     Upper end.
-- r2                   DOUBLE     Share of the variance of the steps that is explained, outliers left out.
-- r2_all               DOUBLE     The same with outliers.
-- spread               DOUBLE     Robust standard deviation of (time - fitted) / fitted.
-- min_tokens           BIGINT     Fewest tokens of a step.
-- max_tokens           BIGINT     Most.
-- min_batch_size       BIGINT     Fewest requests of a step.
-- max_batch_size       BIGINT     Most.
-- typical_batch_size   DOUBLE     Median of requests.
-- curve_base_ms        DOUBLE     First coefficient of the curve, whether or not the steps tell what it stands for.
-- curve_slope_ms       DOUBLE     Second.
-- curve_knee_tokens    DOUBLE     Third; 0 where there is no knee.
-- curve_softness       DOUBLE     Fourth.
-- curve_request_ms     DOUBLE     Fifth.
WITH
numbers AS (
    SELECT run_id, case_id, map_from_entries(list((metric, value))) AS of
    FROM (
        SELECT run_id, case_id, metric, max(value) AS value
        FROM metrics
        WHERE case_id IN (SELECT case_id FROM cases WHERE suite = 'step-cost') AND abs(value) < 1e150
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
    of['per_token'] / 1e3 AS per_token_us, of['per_token_low'] / 1e3 AS per_token_low_us, of['per_token_high'] / 1e3 AS per_token_high_us,
    of['knee_tokens'] AS knee_tokens, of['knee_low_tokens'] AS knee_low_tokens, of['knee_high_tokens'] AS knee_high_tokens,
    of['per_request'] / 1e3 AS per_request_us, of['per_request_low'] / 1e3 AS per_request_low_us, of['per_request_high'] / 1e3 AS per_request_high_us,
    of['overhead'] / 1e6 AS overhead_ms, of['overhead_low'] / 1e6 AS overhead_low_ms, of['overhead_high'] / 1e6 AS overhead_high_ms,
    of['softness'] AS softness, of['softness_low'] AS softness_low, of['softness_high'] AS softness_high,
    of['r2'] AS r2, of['r2_all'] AS r2_all, of['spread'] AS spread,
    _fixed_point(of['min_tokens'], 1) AS min_tokens, _fixed_point(of['max_tokens'], 1) AS max_tokens,
    _fixed_point(of['min_batch_size'], 1) AS min_batch_size, _fixed_point(of['max_batch_size'], 1) AS max_batch_size,
    of['typical_batch_size'] AS typical_batch_size,
    of['curve_base'] / 1e6 AS curve_base_ms, of['curve_slope'] / 1e6 AS curve_slope_ms,
    of['curve_knee_tokens'] AS curve_knee_tokens, of['curve_softness'] AS curve_softness,
    of['curve_request'] / 1e6 AS curve_request_ms
FROM case_outcomes
JOIN numbers USING (run_id, case_id)
JOIN _run_times USING (run_id)
WHERE suite = 'step-cost'
