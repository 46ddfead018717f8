-- One value: the variance of the median of `runs` normal values, as a share of the variance of one: (π / 2) / (runs + π / 2 - 1).
-- Exact for one, within 3 % for odd numbers, on the safe side for even ones.
--
-- arguments: runs
1.5707963267948966::DOUBLE / (runs + 0.5707963267948966::DOUBLE)
