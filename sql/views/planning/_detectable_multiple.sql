-- One value: the smallest change of ln(value) that a comparison of `runs` runs on each side sees, in units of the standard
-- deviation from run to run; NULL below 3 degrees of freedom.
-- The test is that of `comparisons`: the error is that of two medians of so many runs, each with (π / 2) / (runs + π / 2 - 1)
-- of the variance of one run; the degrees of freedom f are those of a side, runs - 1, and the `weight` that history adds.
-- At the two-sided level alpha, with its critical value t, a change of t (1 - 1 / 4f) + z √(1 + t² / 2f) errors is seen with
-- the probability `power`, whose normal quantile z is (Abramowitz and Stegun, 26.7.10: within 1.5 % of the noncentral t
-- for powers from 0.8 to 0.9).
-- Where the share `changed` of the cases changes, all in one direction, the comparison takes the median of all effects for
-- what they share, and their median distance from it for the error: the normal quantiles of 1 / 2 and 3 / 4 move to those of
-- 1 / 2 (1 - changed) and 1 / 2 + 1 / 4 (1 - changed).
--
-- arguments: runs, weight, alpha, power, changed
CASE WHEN runs - 1 + weight >= 3 THEN list_transform(
    [{'f': runs - 1 + weight, 't': _t_quantile(alpha / 2, runs - 1 + weight)}],
    lambda its: sqrt(pi() / (runs + pi() / 2 - 1)) * (
        _normal_quantile(0.5 - 0.25 / (1 - changed)) / _normal_quantile(0.25)
            * (its.t * (1 - 1 / (4 * its.f)) + _normal_quantile(1 - power) * sqrt(1 + its.t * its.t / (2 * its.f)))
        + _normal_quantile(1 - 0.5 / (1 - changed))
    )
)[1] END
