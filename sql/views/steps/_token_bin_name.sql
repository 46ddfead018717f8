-- One value: the name of a bin of scheduled tokens, by the fewest that it has: 0, 1, 2–3, 512–1023.
--
-- arguments: least
CASE WHEN least < 2 THEN least::VARCHAR ELSE least || '–' || (2 * least - 1) END
