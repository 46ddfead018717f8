-- One value: the natural logarithm by which values compare: of a count that of 1 + count, so that none is 0; NULL where there is
-- none.
--
-- arguments: value, unit
CASE WHEN unit = 'count' AND value >= 0 THEN ln(1 + value) WHEN value > 0 THEN ln(value) END
