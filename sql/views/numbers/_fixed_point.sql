-- One value: a number as the whole number of parts that it is, of which there are so many in one; NULL where it is no finite
-- number, or that is beyond 64 bits. Sums of whole numbers do not depend on the order of adding.
--
-- arguments: value, parts
TRY_CAST(value * parts AS BIGINT)
