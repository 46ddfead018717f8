-- One value: the probability that Student's t with `df` degrees of freedom (fractions too) exceeds t; NULL below df = 1.
-- Hill's normal transformation (Algorithm 395, Communications of the ACM 13, 1970). Its relative error for
-- probabilities down to 1e-12 is below 1 % from df = 3, 0.2 % from 5, and one in a thousand from 8; at 2 it is 5 %.
--
-- arguments: t, df
SELECT CASE WHEN df >= 1 THEN _normal_tail(sign(t) * z) END
FROM (
    SELECT sqrt(y) * (1 + (
        y + 3 + ((((-0.4::DOUBLE * y - 3.3::DOUBLE) * y - 24) * y - 85.5::DOUBLE) / (0.8::DOUBLE * y * y + 100 + b))
    ) / b) AS z
    FROM (
        SELECT (df - 0.5::DOUBLE) * ln(1 + t * t / df) AS y, 48 * (df - 0.5::DOUBLE) * (df - 0.5::DOUBLE) AS b
    )
)
