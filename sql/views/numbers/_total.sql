-- One value: the sum of a group's whole numbers; NULL beyond 64 bits.
--
-- arguments: value
TRY_CAST(sum(value::HUGEINT) AS BIGINT)
