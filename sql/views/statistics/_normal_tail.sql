-- One value: the probability that a standard normal variable exceeds z, within 2 in ten million of it for every z.
-- The complementary error function by the Chebyshev fit of Press et al., Numerical Recipes, 2nd ed., 6.2 (erfcc).
--
-- arguments: z
list_transform(
    list_transform(
        [z], lambda x: {'x': x, 'sign': CASE WHEN x < 0 THEN -1 ELSE 1 END, 'u': 1 / (1 + abs(x) / sqrt(8::DOUBLE))}
    ),
    lambda it: (1 - it.sign) / 2 + it.sign * 0.5::DOUBLE * it.u * exp(-it.x * it.x / 2 - 1.26551223::DOUBLE + it.u * list_reduce(
        [
            -0.82215223::DOUBLE, 1.48851587::DOUBLE, -1.13520398::DOUBLE, 0.27886807::DOUBLE, -0.18628806::DOUBLE,
            0.09678418::DOUBLE, 0.37409196::DOUBLE, 1.00002368::DOUBLE
        ],
        lambda rest, term: term + it.u * rest, 0.17087277::DOUBLE
    ))
)[1]
