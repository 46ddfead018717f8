-- One value: the time in ms that a cost model gives a step of so many tokens and requests; the arguments after these two are
-- the columns curve_… of `step_cost_models`. A softness of 0 is a sharp knee, a knee of 0 none.
--
-- arguments: tokens, batch_size, base_ms, slope_ms, knee_tokens, softness, request_ms
base_ms + request_ms * batch_size + slope_ms * greatest(tokens, knee_tokens) * pow(
    1 + pow(least(tokens, knee_tokens)::DOUBLE / greatest(tokens, knee_tokens), 1 / greatest(softness, 1e-6::DOUBLE)),
    greatest(softness, 1e-6::DOUBLE)
)
