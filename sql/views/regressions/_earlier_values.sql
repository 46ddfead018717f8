-- One row per series that the judged runs measured, on each machine, and that 6 earlier runs measured, too: the values to compare with,
-- as natural logarithms, oldest first. `last` runs are the baseline of `regressions`; three times as many tell which levels a series knows.
--
-- arguments: judged, last
--
-- pair       BIGINT    Config and machine that are judged apart (see _comparison_sides).
-- series_id  BIGINT    Case, metric, phase and unit in one (see _series_key).
-- case_id    VARCHAR   Case measured; NULL for a value of the run as a whole.
-- metric     VARCHAR   What was measured.
-- metric_id  BIGINT    Metric, phase and unit in one.
-- unit       VARCHAR   Unit.
-- better     VARCHAR   'higher' or 'lower'; NULL where neither is better.
-- x          DOUBLE    Median of the judged runs.
-- xs         DOUBLE[]  Value of each earlier run.
-- places     BIGINT[]  Place in time of each of these.
-- place      BIGINT    Place in time of the first judged run that measured it.
SELECT
    pair, _series_key(case_id, metric, phase, unit) AS series_id, case_id, metric, _series_key(NULL, metric, phase, unit) AS metric_id,
    any_value(unit) AS unit, min(better) AS better, median(_log_value(value, unit)) FILTER (side = 'candidate') AS x,
    list(_log_value(value, unit) ORDER BY place) FILTER (side = 'base') AS xs,
    list(place ORDER BY place) FILTER (side = 'base') AS places, min(place) FILTER (side = 'candidate') AS place
FROM _run_medians(NULL, judged, last)
WHERE _log_value(value, unit) IS NOT NULL
GROUP BY pair, case_id, metric, phase, unit
HAVING count(*) FILTER (side = 'candidate') > 0 AND count(*) FILTER (side = 'base') >= 6
