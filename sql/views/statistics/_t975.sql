-- One value: the 97.5 % quantile of Student's t for `df` degrees of freedom (fractions too); NULL below 1.
-- The first four terms in 1 / df are the expansion of Cornish and Fisher (Abramowitz and Stegun, 26.7.5) about the
-- normal quantile; the next four were fitted to what it leaves, so that the whole is within 2 in a million from df = 1 up.
--
-- arguments: df
CASE WHEN df >= 1 THEN list_reduce(
    [
        -0.0544032::DOUBLE, 0.5282807::DOUBLE, 0.7543591::DOUBLE, 1.5895340533938225::DOUBLE, 2.555849679507722::DOUBLE,
        2.8224986157396112::DOUBLE, 2.372271230298562::DOUBLE, 1.959963984540054::DOUBLE
    ],
    lambda rest, term: term + rest / df, 0.1778611::DOUBLE
) END
