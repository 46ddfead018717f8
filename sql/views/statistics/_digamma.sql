-- One value: the derivative of ln(gamma(x)) for x > 0, within 1e-8; NULL elsewhere.
-- Five steps of the recurrence, then the asymptotic series (DLMF 5.5.2 and 5.11.2).
--
-- arguments: x
CASE WHEN x > 0 THEN list_reduce(
    [0, 1, 2, 3, 4], lambda rest, step: rest - 1 / (x + step), ln(x + 5::DOUBLE) - 0.5::DOUBLE / (x + 5) - list_reduce(
        [1 / 252::DOUBLE, 1 / 120::DOUBLE, 1 / 12::DOUBLE], lambda rest, term: (term - rest) / ((x + 5) * (x + 5)), 0::DOUBLE
    )
) END
