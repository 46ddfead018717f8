-- One value: the fewest tokens of the bin that a scheduler step of so many tokens is in: 0, or a power of two. NULL of a count below 0.
--
-- arguments: tokens
CASE WHEN tokens = 0 THEN 0 WHEN tokens > 0 THEN (2 ** floor(log2(tokens)))::BIGINT END
