-- One value: the requests in a scheduler step: its chunks, or where its writer gives totals, those in prefill and in decode.
--
-- arguments: chunk_sizes, prefill, decode
coalesce(len(chunk_sizes), TRY_CAST(prefill::HUGEINT + decode AS BIGINT))
