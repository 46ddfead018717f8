-- One value: a share of passing cases as text, such as "82%, 50/61"; NULL where there are none.
--
-- arguments: passing, total
CASE WHEN total > 0 THEN format('{}%, {}/{}', round_even(100.0::DOUBLE * passing / total, 0)::BIGINT, passing, total) END
