-- One value: the z that a standard normal variable exceeds with probability p, within 0.00045; NULL outside 0 < p < 1.
-- The rational approximation of Hastings (Abramowitz and Stegun, 26.2.23).
--
-- arguments: p
SELECT CASE WHEN p > 0 AND p < 1 THEN
    (CASE WHEN p <= 0.5::DOUBLE THEN 1 ELSE -1 END) * (t - (
        2.515517::DOUBLE + t * (0.802853::DOUBLE + t * 0.010328::DOUBLE)
    ) / (1 + t * (1.432788::DOUBLE + t * (0.189269::DOUBLE + t * 0.001308::DOUBLE))))
END
FROM (SELECT CASE WHEN p > 0 AND p < 1 THEN sqrt(-2 * ln(least(p, 1 - p)::DOUBLE)) END AS t)
