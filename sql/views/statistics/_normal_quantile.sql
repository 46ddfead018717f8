-- One value: the z that a standard normal variable exceeds with probability p, within a millionth; NULL outside 0 < p < 1.
-- The rational approximation of Hastings (Abramowitz and Stegun, 26.2.23), then one step of Newton.
--
-- arguments: p
list_transform(
    list_transform(
        [CASE WHEN p > 0 AND p < 1 THEN
            {
                'sign': CASE WHEN p <= 0.5::DOUBLE THEN 1 ELSE -1 END, 'tail': least(p, 1 - p)::DOUBLE,
                't': sqrt(-2 * ln(least(p, 1 - p)::DOUBLE))
            }
        END],
        lambda it: {'sign': it.sign, 'tail': it.tail, 'z': it.t - (
            2.515517::DOUBLE + it.t * (0.802853::DOUBLE + it.t * 0.010328::DOUBLE)
        ) / (1 + it.t * (1.432788::DOUBLE + it.t * (0.189269::DOUBLE + it.t * 0.001308::DOUBLE)))}
    ),
    lambda it: it.sign * (it.z + (_normal_tail(it.z) - it.tail) * sqrt(2 * pi()) * exp(it.z * it.z / 2))
)[1]
