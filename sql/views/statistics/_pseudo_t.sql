-- One value: a draw of Student's t for `df` degrees of freedom, the same for the same number of the draw and of what is drawn.
-- The fraction of a large multiple of a sine is as good as uniform; its quantile is the draw.
--
-- arguments: draw, what, df
list_transform(
    [sin(draw * 12.9898::DOUBLE + what * 78.233::DOUBLE) * 43758.5453123::DOUBLE],
    lambda it: _t_quantile(1 - least(greatest(it - floor(it), 1e-6::DOUBLE), 1 - 1e-6::DOUBLE), df)
)[1]
