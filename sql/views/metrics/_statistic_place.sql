-- One value: the place of a metric among the statistics of its measurement, the one to judge first: samples, their median, their
-- mean, anything else; times before rates and processor time.
--
-- arguments: metric
CASE WHEN metric = _measurement(metric) THEN 0 WHEN metric LIKE _measurement(metric) || '\_%' ESCAPE '\' THEN 0 ELSE 10 END
+ CASE
    WHEN regexp_matches(metric, '_(median|p50)$') THEN 1
    WHEN regexp_matches(metric, '_mean$') THEN 2
    WHEN regexp_matches(metric, '_(slope|estimate|geomean|aggregate)$') THEN 3
    WHEN metric <> _measurement(metric) AND regexp_matches(metric, '_(min|max|sum|p\d+|q1|q3|iqr|ld15iqr|hd15iqr|stddev|stdev|stderr|mad|rms|RMS|lower_fence|upper_fence)$') THEN 4
    ELSE 0
END
