-- One value: half the 95 % interval of a geometric mean, on the log scale, from those of the rows that are in it, which are
-- independent; NULL where one of them has none.
--
-- arguments: width, is_in
CASE WHEN bool_and(width IS NOT NULL) FILTER (is_in)
    THEN sqrt(_ordered_mean(list(width * width) FILTER (is_in)) / count(*) FILTER (is_in))
END
