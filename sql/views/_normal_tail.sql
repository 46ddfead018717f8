-- One value: the probability that a standard normal variable exceeds z, within 2 in ten million of it for every z.
-- The complementary error function by the Chebyshev fit of Press et al., Numerical Recipes, 2nd ed., 6.2 (erfcc).
--
-- arguments: z
SELECT CASE WHEN z >= 0 THEN half ELSE 1 - half END
FROM (
    SELECT 0.5::DOUBLE * u * exp(
        -z * z / 2 - 1.26551223::DOUBLE + u * (1.00002368::DOUBLE + u * (0.37409196::DOUBLE + u * (0.09678418::DOUBLE
        + u * (-0.18628806::DOUBLE + u * (0.27886807::DOUBLE + u * (-1.13520398::DOUBLE + u * (1.48851587::DOUBLE
        + u * (-0.82215223::DOUBLE + u * 0.17087277::DOUBLE))))))))
    ) AS half
    FROM (SELECT 1 / (1 + abs(z) / sqrt(8::DOUBLE)) AS u)
)
