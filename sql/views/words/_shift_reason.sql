-- One value: what all cases of a metric share, in words.
--
-- arguments: shift, cases, p, runs
printf('%+.1f %% shared by %d cases, taken out of each; p = %.2g', 100 * (exp(shift) - 1), cases, p)
    || CASE WHEN runs = 1 THEN '; one run tells little of how runs differ as a whole' ELSE '' END
