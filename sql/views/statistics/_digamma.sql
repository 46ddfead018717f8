-- One value: the derivative of ln(gamma(x)) for x > 0, within 1e-8; NULL elsewhere.
-- Five steps of the recurrence, then the asymptotic series (DLMF 5.5.2 and 5.11.2).
--
-- arguments: x
CASE WHEN x > 0 THEN
    ln(x + 5::DOUBLE) - 0.5::DOUBLE / (x + 5) - (
        1 / 12::DOUBLE - (1 / 120::DOUBLE - 1 / 252::DOUBLE / ((x + 5) * (x + 5))) / ((x + 5) * (x + 5))
    ) / ((x + 5) * (x + 5)) - 1 / x - 1 / (x + 1) - 1 / (x + 2) - 1 / (x + 3) - 1 / (x + 4)
END
