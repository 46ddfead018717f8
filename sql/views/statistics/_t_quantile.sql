-- One value: the t that Student's t with `df` degrees of freedom (fractions too) exceeds with probability p, within 1e-3 of it
-- for every p down to 1e-9; NULL for df below 2, except 1, and outside 0 < p < 1.
-- Hill, Algorithm 396, Communications of the ACM 13, 1970; of one and two degrees of freedom it is exact.
--
-- arguments: p, df
CASE
    WHEN df = 1 THEN CASE WHEN p > 0 AND p < 1 THEN 1 / tan(pi() * p) END
    WHEN df = 2 THEN CASE WHEN p > 0 AND p < 1 THEN (1 - 2 * p) / sqrt(2 * p * (1 - p)) END
    WHEN df > 2 THEN list_transform(
        list_transform(
            list_transform(
                list_transform(
                    [CASE WHEN p > 0 AND p < 1 THEN {
                        'n': df::DOUBLE, 'p': 2 * least(p, 1 - p)::DOUBLE, 'sign': CASE WHEN p <= 0.5::DOUBLE THEN 1 ELSE -1 END,
                        'a': 1 / (df - 0.5::DOUBLE), 'b': 48 * (df - 0.5::DOUBLE) * (df - 0.5::DOUBLE)
                    } END],
                    lambda it: {
                        'n': it.n, 'p': it.p, 'sign': it.sign, 'a': it.a, 'b': it.b,
                        'c': ((20700 * it.a / it.b - 98) * it.a - 16) * it.a + 96.36::DOUBLE
                    }
                ),
                lambda it: {
                    'n': it.n, 'p': it.p, 'sign': it.sign, 'a': it.a, 'b': it.b, 'c': it.c,
                    'd': ((94.5::DOUBLE / (it.b + it.c) - 3) / it.b + 1) * sqrt(it.a * pi() / 2) * it.n
                }
            ),
            lambda it: {
                'n': it.n, 'sign': it.sign, 'a': it.a, 'b': it.b, 'c': it.c, 'd': it.d, 'y': pow(it.d * it.p, 2 / it.n),
                'x': -_normal_quantile(it.p / 2)
            }
        ),
        lambda it: it.sign * sqrt(it.n * CASE
            WHEN it.y > 0.05::DOUBLE + it.a THEN exp(it.a * pow((
                (
                    (((0.4::DOUBLE * it.x * it.x + 6.3::DOUBLE) * it.x * it.x + 36) * it.x * it.x + 94.5::DOUBLE)
                    / (
                        (((0.05::DOUBLE * it.d * it.x - 5) * it.x - 7) * it.x - 2) * it.x + it.b + it.c
                        + CASE WHEN it.n < 5 THEN 0.3::DOUBLE * (it.n - 4.5::DOUBLE) * (it.x + 0.6::DOUBLE) ELSE 0 END
                    ) - it.x * it.x - 3
                ) / it.b + 1
            ) * it.x, 2)) - 1
            ELSE ((1 / (
                ((it.n + 6) / (it.n * it.y) - 0.089::DOUBLE * it.d - 0.822::DOUBLE) * (it.n + 2) * 3
            ) + 0.5::DOUBLE / (it.n + 4)) * it.y - 1) * (it.n + 1) / (it.n + 2) + 1 / it.y
        END)
    )[1]
END
