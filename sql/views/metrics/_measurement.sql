-- One value: the measurement that a metric is a statistic of: its mean, median and minimum are of the same samples, and so are the
-- rate of calls whose latency is measured and the parts of their time. The processor time of them all is a measurement of its own.
--
-- arguments: metric
list_transform([_base_metric(metric)], lambda base: CASE WHEN _is_of_latency(base) THEN 'latency' ELSE base END)[1]
