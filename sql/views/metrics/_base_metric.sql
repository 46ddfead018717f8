-- One value: the name of a metric without the statistic that it ends with.
--
-- arguments: metric
list_transform(
    [_statistic(metric)], lambda it: CASE WHEN it = '' THEN metric ELSE substr(metric, 1, length(metric) - length(it) - 1) END
)[1]
