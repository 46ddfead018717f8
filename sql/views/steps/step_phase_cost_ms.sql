-- One value: the time in ms that a cost model by phase gives a step; the arguments after the first three are the columns
-- curve_… of `step_phase_costs`. KV tokens that are NULL count as none.
--
-- arguments: prefill_tokens, decode_requests, kv_tokens, floor_ms, prefill_ms, decode_ms, kv_ms
floor_ms + prefill_ms * prefill_tokens + decode_ms * decode_requests + kv_ms * coalesce(kv_tokens, 0)
