-- One value: how well a number of a case stands for the case, the smallest best: its warm latency by samples, then as a
-- statistic of them, then other times and rates, then what else has a direction, memory and what has none last.
--
-- arguments: metric, phase, unit, better
CASE WHEN _is_warm(phase) AND phase IS DISTINCT FROM 'compile' THEN 0 ELSE 20 END + CASE
    WHEN better IS NULL THEN 12
    WHEN metric = 'latency' THEN 0
    WHEN metric IN ('latency_median', 'latency_p50') THEN 1
    WHEN metric = 'latency_mean' THEN 2
    WHEN NOT _is_headline(metric, better) THEN 11
    WHEN metric = 'model_run_mean' THEN 3
    WHEN metric IN ('throughput', 'throughput_mean') THEN 4
    WHEN starts_with(metric, 'latency_') THEN 5
    WHEN metric IN ('absolute_latency', 'host_time_mean') THEN 6
    WHEN unit = 'bytes' THEN 10
    WHEN metric IN ('compile_latency', 'cpu_time') THEN 9
    WHEN unit = 'ns' THEN 7
    ELSE 8
END
