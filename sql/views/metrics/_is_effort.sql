-- One value: whether a count says how much was measured, such as the rounds that a tool chose or the samples of a profiler, and not what came out.
--
-- arguments: metric
coalesce(regexp_full_match(metric, 'rounds|samples|(warmup_)?iterations|line_events|(iqr|stdev|stddev)_outliers|sampler_missed|latency_count'), false)
