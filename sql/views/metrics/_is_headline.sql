-- One value: whether a comparison shows this metric unless its user names metrics: what has a direction, but for extremes
-- and spreads, and cases that failed without a number.
--
-- arguments: metric, better
metric IS NULL OR better IS NOT NULL AND NOT regexp_matches(metric, '_(max|q1|q3|iqr|ld15iqr|hd15iqr|stddev)$')
