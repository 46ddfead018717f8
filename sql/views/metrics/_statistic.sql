-- One value: the statistic that the name of a metric ends with, empty where it names none. The 99th percentile tells of other
-- requests than the rest, so it is a measurement of its own.
--
-- arguments: metric
regexp_extract(
    metric, '_(mean|median|min|max|sum|geomean|p0|p[1-8]\d?|p9[0-8]|p100|q1|q3|iqr|ld15iqr|hd15iqr|stddev|stdev|stderr|mad|rms|RMS|slope'
        || '|aggregate|estimate|lower_fence|upper_fence)$', 1
)
