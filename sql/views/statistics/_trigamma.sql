-- One value: the second derivative of ln(gamma(x)) for x > 0, within 1e-7; NULL elsewhere. It is the variance of
-- ln(variance) of normal values with 2x degrees of freedom.
-- Five steps of the recurrence, then the asymptotic series (DLMF 5.15.5 and 5.15.8).
--
-- arguments: x
CASE WHEN x > 0 THEN list_reduce(
    [0, 1, 2, 3, 4], lambda rest, step: rest + 1 / ((x + step) * (x + step)),
    (1 + (0.5::DOUBLE + (1 / 6::DOUBLE - 1 / 30::DOUBLE / ((x + 5) * (x + 5))) / (x + 5)) / (x + 5)) / (x + 5)
) END
