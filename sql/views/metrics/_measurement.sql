-- One value: the measurement that a metric is a statistic of: its mean, median and minimum are of the same samples, and so are the
-- rate and the processor time of calls whose latency is measured. The 99th percentile tells of other requests, so it stands alone.
--
-- arguments: metric
list_transform(
    [regexp_replace(
        metric, '_(mean|median|min|max|sum|geomean|p0|p[1-8]\d?|p9[0-8]|p100|q1|q3|iqr|ld15iqr|hd15iqr|stddev|stdev|stderr|mad|rms|RMS|slope'
            || '|aggregate|estimate|lower_fence|upper_fence)$', ''
    )],
    lambda base: CASE
        WHEN regexp_matches(base, '^(cpu_time|user_time|system_time|host_time|throughput|(items|bytes|iterations|ops|operations)_per_second)$')
            THEN 'latency'
        ELSE base
    END
)[1]
