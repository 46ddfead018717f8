-- One value: how well a number stands for its case, and a statistic for its measurement, the smallest best: what is warm first; the
-- latency, then other times and rates, then what else has a direction, counts, memory, extremes, what has none; of each the samples,
-- their median, their mean, anything else.
--
-- arguments: metric, phase, unit, better
CASE WHEN _is_warm(phase) AND phase IS DISTINCT FROM 'compile' THEN 0 ELSE 200 END
+ 10 * CASE
    WHEN better IS NULL THEN 12
    WHEN NOT _is_headline(metric, better) THEN 11
    WHEN unit = 'bytes' THEN 10
    WHEN starts_with(metric, 'latency_p99') THEN 3
    WHEN starts_with(metric, 'latency') THEN 0
    WHEN starts_with(metric, 'model_run') THEN 1
    WHEN starts_with(metric, 'throughput') THEN 2
    WHEN regexp_matches(metric, '^(absolute_latency|host_time|time_to_train)') THEN 4
    WHEN unit = 'count' OR regexp_matches(metric, '^(compile_latency|cpu_time)') THEN 9
    WHEN unit = 'ns' AND NOT ends_with(metric, '_p99') THEN 7
    ELSE 8
END
+ list_transform([_statistic(metric)], lambda it: CASE
    WHEN it = '' THEN 0
    WHEN it IN ('median', 'p50') THEN 1
    WHEN it = 'mean' THEN 2
    WHEN it IN ('slope', 'estimate', 'geomean', 'aggregate') THEN 3
    ELSE 4
END)[1]
