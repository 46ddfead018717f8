-- One row per pair × side × case × metric × phase × unit of a comparison: its value there, the median of the runs' medians.
-- A base that is not given has the last `last` runs that measured the case: of most cases the last `last` of all, and only the
-- others read what was before.
--
-- arguments: base, candidate, last
--
-- pair           BIGINT    Number of the config and host that are judged apart; 0 where the base is given.
-- side           VARCHAR   'base' or 'candidate'.
-- series_id      BIGINT    Case, metric, phase and unit in one (see _series_key).
-- case_id        VARCHAR   Case measured; NULL for a value of the run as a whole.
-- axes: value
-- is_session     BOOLEAN   Whether all candidates began within a day, and the base half a day or more before or after.
-- is_other_machine  BOOLEAN  Whether the sides of the pair are of different classes of machine.
-- runs           BIGINT    Runs that measured it.
-- n              BIGINT    Samples in all of them.
-- value          DOUBLE    Median of the runs' medians.
-- sampling       DOUBLE    Mean variance of a run's logarithm as its samples tell it; NULL where no run has two samples.
-- processes      BIGINT    Fewest processes of a run; 1 where nobody said.
-- is_even        BOOLEAN   Whether all samples of all runs are equal.
-- fewest_tokens  DOUBLE    Smallest median of a run of the tokens of the bin's scheduler steps; NULL of all else.
-- most_tokens    DOUBLE    Largest.
-- first_place    BIGINT    Place in time of the first run.
-- xs             DOUBLE[]  Natural logarithm of each run's median, of a count that of 1 + median, where there is one.
-- places         BIGINT[]  Places in time of these.
WITH
recent_values AS MATERIALIZED (
    SELECT
        pair, side, _series_key(case_id, metric, phase, unit) AS series_id, case_id, metric, phase, unit, min(better) AS better,
        bool_or(is_session) AS is_session, bool_or(is_other_machine) AS is_other_machine, sum(n)::BIGINT AS n, min(coalesce(processes, 1)) AS processes,
        min(minimum) AS minimum, max(maximum) AS maximum, min(tokens) AS fewest_tokens, max(tokens) AS most_tokens,
        list(value) AS medians, list(place) AS places, list(sampling) AS samplings,
        CASE WHEN pair > 0 AND side = 'base' THEN greatest(last - count(*), 0) ELSE 0 END AS missing
    FROM _run_medians(base, candidate, last)
    WHERE is_recent
    GROUP BY pair, side, case_id, metric, phase, unit
),
earlier_values AS (
    SELECT
        run.pair, run.side, run.series_id, run.case_id, run.metric, run.phase, run.unit, min(run.better) AS better,
        bool_or(run.is_session) AS is_session, bool_or(run.is_other_machine) AS is_other_machine, min(coalesce(run.processes, 1)) AS processes,
        min(run.minimum) AS minimum, max(run.maximum) AS maximum, min(tokens) AS fewest_tokens, max(tokens) AS most_tokens,
        list_sort(list({'place': place, 'value': value, 'n': run.n, 'sampling': sampling})) AS runs
    FROM _run_medians(base, candidate, last) AS run
    ANTI JOIN recent_values AS recent
        ON missing = 0 AND run.pair = recent.pair AND run.side = recent.side AND run.series_id = recent.series_id
    WHERE NOT is_recent
    GROUP BY run.pair, run.side, run.series_id, run.case_id, run.metric, run.phase, run.unit
),
filled_values AS (
    SELECT
        pair, side, series_id, coalesce(recent.case_id, earlier.case_id) AS case_id,
        coalesce(recent.metric, earlier.metric) AS metric, coalesce(recent.phase, earlier.phase) AS phase,
        coalesce(recent.unit, earlier.unit) AS unit, least(recent.better, earlier.better) AS better,
        coalesce(recent.is_session, earlier.is_session) AS is_session,
        coalesce(recent.is_other_machine, earlier.is_other_machine) AS is_other_machine, coalesce(n, 0) AS n,
        least(recent.processes, earlier.processes) AS processes, least(recent.minimum, earlier.minimum) AS minimum,
        greatest(recent.maximum, earlier.maximum) AS maximum, least(recent.fewest_tokens, earlier.fewest_tokens) AS fewest_tokens,
        greatest(recent.most_tokens, earlier.most_tokens) AS most_tokens,
        coalesce(medians, []) AS medians, coalesce(places, []) AS places, coalesce(samplings, []) AS samplings,
        coalesce(runs[greatest(1, len(runs) - coalesce(missing, last) + 1):len(runs)], []) AS runs
    FROM (SELECT * FROM recent_values WHERE missing > 0) AS recent
    FULL JOIN earlier_values AS earlier USING (pair, side, series_id)
),
last_values AS (
    SELECT * EXCLUDE missing FROM recent_values WHERE missing = 0
    UNION ALL
    SELECT
        pair, side, series_id, case_id, metric, phase, unit, better, is_session, is_other_machine,
        n + coalesce(list_sum(list_transform(runs, lambda run: run.n)), 0)::BIGINT, processes, minimum, maximum, fewest_tokens, most_tokens,
        list_concat(medians, list_transform(runs, lambda run: run.value)),
        list_concat(places, list_transform(runs, lambda run: run.place)),
        list_concat(samplings, list_transform(runs, lambda run: run.sampling))
    FROM filled_values
)

SELECT
    pair, side, series_id, case_id, metric, phase, unit, better, is_session, is_other_machine, len(medians) AS runs, n, list_median(medians) AS value,
    list_avg(samplings) AS sampling, processes, minimum = maximum AS is_even, fewest_tokens, most_tokens, list_min(places) AS first_place,
    list_filter(list_transform(medians, lambda value: _log_value(value, unit)), lambda x: x IS NOT NULL) AS xs,
    CASE WHEN list_min(medians) > 0 THEN places ELSE list_transform(
        list_filter(range(1, len(medians) + 1), lambda i: _log_value(medians[i], unit) IS NOT NULL), lambda i: places[i]
    ) END AS places
FROM last_values
