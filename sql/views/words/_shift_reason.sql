-- One value: what all cases of a metric share, in words.
--
-- arguments: shift, cases, p, runs
printf('%+.1f %% shared by %d cases, taken out of each', 100 * (exp(shift) - 1), cases) || coalesce(printf('; p = %.2g', p), '')
    || CASE WHEN p IS NULL THEN ', as it may be the machine' WHEN runs = 1 THEN '; one run tells little of how runs differ as a whole' ELSE '' END
