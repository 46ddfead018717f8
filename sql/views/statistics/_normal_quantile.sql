-- One value: the z that a standard normal variable exceeds with probability p, within 0.00045; NULL outside 0 < p < 1.
-- The rational approximation of Hastings (Abramowitz and Stegun, 26.2.23).
--
-- arguments: p
list_transform(
    [CASE WHEN p > 0 AND p < 1 THEN
        {'sign': CASE WHEN p <= 0.5::DOUBLE THEN 1 ELSE -1 END, 't': sqrt(-2 * ln(least(p, 1 - p)::DOUBLE))}
    END],
    lambda it: it.sign * (it.t - (
        2.515517::DOUBLE + it.t * (0.802853::DOUBLE + it.t * 0.010328::DOUBLE)
    ) / (1 + it.t * (1.432788::DOUBLE + it.t * (0.189269::DOUBLE + it.t * 0.001308::DOUBLE))))
)[1]
