-- One value: whether a metric is the rate of calls whose latency is measured, their use of the device, or a part of their time.
--
-- arguments: base_metric
regexp_matches(base_metric, '^(user_time|system_time|host_time|throughput|mfu|(items|bytes|iterations|ops|operations)_per_second)$')
