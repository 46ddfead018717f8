-- One value: the t that Student's t with `df` degrees of freedom (fractions too) exceeds with probability p; NULL below 3.
-- Four terms of the expansion of Cornish and Fisher (Abramowitz and Stegun, 26.7.5): for p down to 0.0025 within 1.5 % at
-- df = 3 and 0.2 % from 5, for p down to 0.00025 within 1 % from 5.
--
-- arguments: p, df
SELECT CASE WHEN df >= 3 THEN z * (1 + (
    (z2 + 1) / 4 + (
        ((5 * z2 + 16) * z2 + 3) / 96 + (
            (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384
            + ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) / 92160 / df
        ) / df
    ) / df
) / df) END
FROM (SELECT _normal_quantile(p) AS z, _normal_quantile(p) * _normal_quantile(p) AS z2)
