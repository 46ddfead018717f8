-- One value: whether a comparison shows this metric unless its user names metrics: what has a direction, but for extremes
-- and spreads, and cases that failed without a number. A regular expression costs ten times as much.
--
-- arguments: metric, better
metric IS NULL OR better IS NOT NULL AND NOT (
    ends_with(metric, '_max') OR ends_with(metric, '_q1') OR ends_with(metric, '_q3') OR ends_with(metric, '_stddev')
    OR ends_with(metric, '_iqr') OR ends_with(metric, '_ld15iqr') OR ends_with(metric, '_hd15iqr')
)
