-- One value: the second derivative of ln(gamma(x)) for x > 0, within 1e-7; NULL elsewhere. It is the variance of
-- ln(variance) of normal values with 2x degrees of freedom.
-- Five steps of the recurrence, then the asymptotic series (DLMF 5.15.5 and 5.15.8).
--
-- arguments: x
CASE WHEN x > 0 THEN
    (1 + (0.5::DOUBLE + (1 / 6::DOUBLE - 1 / 30::DOUBLE / ((x + 5) * (x + 5))) / (x + 5)) / (x + 5)) / (x + 5)
    + 1 / (x * x) + 1 / ((x + 1) * (x + 1)) + 1 / ((x + 2) * (x + 2)) + 1 / ((x + 3) * (x + 3)) + 1 / ((x + 4) * (x + 4))
END
