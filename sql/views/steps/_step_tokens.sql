-- One value: the tokens of a scheduler step: the sum of its chunks, 0 where it has none. What the writer says counts where
-- there is no list of chunks, or where its sum is beyond 64 bits.
--
-- arguments: chunk_sizes, total_tokens
CASE WHEN len(chunk_sizes) = 0 THEN 0 ELSE coalesce(TRY_CAST(list_sum(chunk_sizes) AS BIGINT), total_tokens) END
