-- One value: whether a metric is counted, not measured: a number of things, bytes that a program asked for, the size of a file.
--
-- arguments: metric, unit
coalesce(unit = 'count' OR unit = 'bytes' AND regexp_matches(metric, '^(allocated|allocations|model_size|[a-z_]*file_size|binary_size)'), false)
