-- One value: whether a metric is the rate, the use of the device or the processor time of calls whose latency is measured.
--
-- arguments: base_metric
regexp_matches(base_metric, '^(cpu_time|user_time|system_time|host_time|throughput|mfu|(items|bytes|iterations|ops|operations)_per_second)$')
