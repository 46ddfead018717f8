-- One value: whether a comparison shows this metric unless its user names metrics: what has a direction, but for extremes
-- and spreads, and cases that failed without a number. A regular expression costs ten times as much.
--
-- arguments: metric, better
metric IS NULL OR better IS NOT NULL AND NOT (
    suffix(metric, '_max') OR suffix(metric, '_q1') OR suffix(metric, '_q3') OR suffix(metric, '_stddev') OR suffix(metric, '_iqr')
    OR suffix(metric, '_ld15iqr') OR suffix(metric, '_hd15iqr')
)
