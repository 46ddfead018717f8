-- One value: the place of a metric among the statistics of its measurement, the one to judge first: samples, their median, their
-- mean, anything else; times before rates and processor time.
--
-- arguments: metric
CASE WHEN _is_of_latency(_base_metric(metric)) THEN 10 ELSE 0 END
+ list_transform([_statistic(metric)], lambda it: CASE
    WHEN it = '' THEN 0
    WHEN it IN ('median', 'p50') THEN 1
    WHEN it = 'mean' THEN 2
    WHEN it IN ('slope', 'estimate', 'geomean', 'aggregate') THEN 3
    ELSE 4
END)[1]
