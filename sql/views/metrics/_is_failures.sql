-- One value: whether a metric counts what failed of many calls or requests, of which chance alone fails some.
--
-- arguments: metric
metric IN ('failed', 'failed_calls')
