-- One value: the probability that Student's t with `df` degrees of freedom (fractions too) exceeds t; NULL below df = 1. For
-- every t and df within a millionth of it.
-- Three steps down in the degrees of freedom, each of which takes a term out of the incomplete beta function exactly
-- (DLMF 8.17.20), then Hill's normal transformation (Algorithm 395, Communications of the ACM 13, 1970) for the rest, which
-- then has `df` + 6 degrees. gamma(z + 1/2) / gamma(z) at z = df / 2 + 3 is its asymptotic series (DLMF 5.11.13).
--
-- arguments: t, df
CASE WHEN df >= 1 THEN list_transform(
    [{
        'sign': sign(t), 'a': df / 2::DOUBLE, 'z': df / 2::DOUBLE + 3, 'x': df / (df + least(t * t, 1e300::DOUBLE)),
        'far': least(t * t, 1e300::DOUBLE) / (df + least(t * t, 1e300::DOUBLE)),
        'y': (df + 5.5::DOUBLE) * ln(1 + least(t * t, 1e300::DOUBLE) / df),
        'b': 48 * (df + 5.5::DOUBLE) * (df + 5.5::DOUBLE)
    }],
    lambda its: list_transform(
        [
            sqrt(its.far * its.z / pi()) / 2 * pow(its.x, its.a) * (1 + (-0.125::DOUBLE + (0.0078125::DOUBLE + (
                0.0048828125::DOUBLE + (-0.000640869140625::DOUBLE - 0.001522064208984375::DOUBLE / its.z) / its.z
            ) / its.z) / its.z) / its.z)
            * (its.a + 1) * (its.a + 2) / (its.a + 0.5::DOUBLE) / (its.a + 1.5::DOUBLE) / (its.a + 2.5::DOUBLE)
            * (1 + its.x * (its.a + 0.5::DOUBLE) / (its.a + 1) * (1 + its.x * (its.a + 1.5::DOUBLE) / (its.a + 2)))
            + _normal_tail(sqrt(its.y) * (1 + (
                its.y + 3 + (
                    (((-0.4::DOUBLE * its.y - 3.3::DOUBLE) * its.y - 24) * its.y - 85.5::DOUBLE)
                    / (0.8::DOUBLE * its.y * its.y + 100 + its.b)
                )
            ) / its.b))
        ],
        lambda tail: (1 - its.sign) / 2 + its.sign * tail
    )[1]
)[1] END
