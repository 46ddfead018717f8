-- One row per pair × side × case × metric × phase × unit of a comparison: its value there, the median of the runs' medians.
-- A base that is not given has the last `last` runs that measured the case: of most cases the last `last` of all, and only the
-- others read what was before.
--
-- arguments: base, candidate, last
--
-- pair           BIGINT    Number of the config and class of machine that are judged apart; 0 where the base is given.
-- side           VARCHAR   'base' or 'candidate'.
-- series_id      BIGINT    Case, metric, phase and unit in one (see _series_key).
-- case_id        VARCHAR   Case measured; NULL for a value of the run as a whole.
-- axes: value
-- is_session     BOOLEAN   Whether all candidates began within a day, and the base half a day or more before or after.
-- is_other_machine  BOOLEAN  Whether the sides of the pair are of different classes of machine; NULL where that is open (see _comparison_sides).
-- n              BIGINT    Samples of all runs that measured it.
-- sampling       DOUBLE    Mean variance of a run's logarithm as its samples tell it; NULL where no run has two samples.
-- processes      BIGINT    Fewest processes of a run; 1 where nobody said.
-- is_even        BOOLEAN   Whether all samples of all runs are equal.
-- fewest_tokens  DOUBLE    Smallest median of a run of the tokens of the bin's scheduler steps; NULL of all else.
-- most_tokens    DOUBLE    Largest.
-- first_place    BIGINT    Place in time of the first run.
-- runs           BIGINT    Runs that measured it.
-- value          DOUBLE    Median of the runs' medians.
-- xs             DOUBLE[]  Natural logarithm of each run's median, of a count that of 1 + median, where there is one.
-- places         BIGINT[]  Places in time of these.
WITH
recent_counts AS (
    SELECT pair, side, series_id, count(*) AS runs
    FROM _run_medians(base, candidate, last)
    WHERE is_recent AND pair > 0 AND side = 'base'
    GROUP BY pair, side, series_id
),
last_runs AS (
    SELECT *
    FROM _run_medians(base, candidate, last)
    WHERE is_recent
    UNION ALL
    SELECT own.*
    FROM _run_medians(base, candidate, last) AS own
    LEFT JOIN recent_counts AS recent ON own.pair = recent.pair AND own.side = recent.side AND own.series_id = recent.series_id
    WHERE NOT is_recent AND coalesce(runs, 0) < last
    QUALIFY row_number() OVER (PARTITION BY own.pair, own.side, own.series_id ORDER BY place DESC) <= last - coalesce(runs, 0)
),
last_values AS (
    SELECT
        pair, side, series_id, any_value(case_id) AS case_id, any_value(metric) AS metric, any_value(phase) AS phase, any_value(unit) AS unit,
        min(better) AS better, bool_or(is_session) AS is_session, bool_or(is_other_machine) AS is_other_machine, sum(n)::BIGINT AS n,
        list(value) AS medians, list(place) AS places, avg(sampling) AS sampling, min(coalesce(processes, 1)) AS processes,
        min(minimum) = max(maximum) AS is_even, min(tokens) AS fewest_tokens, max(tokens) AS most_tokens, min(place) AS first_place
    FROM last_runs
    GROUP BY pair, side, series_id
)

SELECT
    * EXCLUDE (medians, places), len(medians) AS runs, list_median(medians) AS value,
    list_filter(list_transform(medians, lambda value: _log_value(value, unit)), lambda x: x IS NOT NULL) AS xs,
    CASE WHEN list_min(medians) > 0 THEN places ELSE list_transform(
        list_filter(range(1, len(medians) + 1), lambda i: _log_value(medians[i], unit) IS NOT NULL), lambda i: places[i]
    ) END AS places
FROM last_values
