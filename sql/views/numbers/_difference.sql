-- One value: a whole number less another; NULL beyond 64 bits.
--
-- arguments: minuend, subtrahend
TRY_CAST(minuend::HUGEINT - subtrahend AS BIGINT)
