-- One value: the t that Student's t with `df` degrees of freedom (fractions too) exceeds with probability p; NULL below 3.
-- Four terms of the expansion of Cornish and Fisher (Abramowitz and Stegun, 26.7.5): for p down to 0.0025 within 1.5 % at
-- df = 3 and 0.2 % from 5, for p down to 0.00025 within 1 % from 5.
--
-- arguments: p, df
CASE WHEN df >= 3 THEN list_transform(
    [_normal_quantile(p)],
    lambda z: z * (1 + (
        (z * z + 1) / 4 + (
            ((5 * z * z + 16) * z * z + 3) / 96 + (
                (((3 * z * z + 19) * z * z + 17) * z * z - 15) / 384
                + ((((79 * z * z + 776) * z * z + 1482) * z * z - 1920) * z * z - 945) / 92160 / df
            ) / df
        ) / df
    ) / df)
)[1] END
