-- One value: the t that Student's t with `df` degrees of freedom exceeds with probability p; NULL below df = 8.
-- Four terms of the expansion of Cornish and Fisher (Abramowitz and Stegun, 26.7.5): from df = 8 up within 0.2 % for p
-- down to 1e-4, and 4 % for p down to 1e-8.
--
-- arguments: p, df
SELECT CASE WHEN df >= 8 THEN z * (1 + (
    (z2 + 1) / 4 + (
        ((5 * z2 + 16) * z2 + 3) / 96 + (
            (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384
            + ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) / 92160 / df
        ) / df
    ) / df
) / df) END
FROM (SELECT _normal_quantile(p) AS z, _normal_quantile(p) * _normal_quantile(p) AS z2)
