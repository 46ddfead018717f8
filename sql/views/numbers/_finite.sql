-- One value: a number, or NULL where it is infinite or no number.
--
-- arguments: value
CASE WHEN abs(value) < 'inf'::DOUBLE THEN value END
