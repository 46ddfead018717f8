-- One row per pair × case × metric × phase × unit of a comparison: whether it changed.
-- This is the one rule of `comparisons` and `regressions`: the verdict follows from the interval that is shown.
--
-- Where sessions were seen to vary (repeated runs or a history), p is two-sided, by Student's t, and q is p after Benjamini and
-- Hochberg over all measurements that are judged together: what a comparison shows unless asked for more, and the rest apart. A
-- change counts if q is within `fdr`, it is at least as large as `floor`, and no side has too few
-- samples (is_thin): a 95 % interval of the median needs 6 (Conover, Practical Nonparametric Statistics, 3.2), and of
-- fewer one slow sample would decide.
--
-- A change is likely where q is within three times `fdr` and the interval excludes 0, or where it excludes the floor. It excludes it as
-- it is shown, too, with what all cases share where that is less than the floor. With assumed sessions it counts if each side had 3
-- processes or more and the change is beyond what 99.5 % of sessions do, by the floor; where other cases do not differ by more than
-- is assumed, it is likely as soon as the interval excludes 0.
--
-- A count is exact where repeats agree, but for what failed by chance: a change is a change, however small. Of all statistics of the same samples one is judged
-- (_measurement), and neither one cold call a run is, nor the times of calls that warm up, nor how much was measured (_is_effort).
--
-- arguments: base, candidate, last, floor, fdr, across
--
-- from: _case_errors without change_low change_high tails
-- shift_p      DOUBLE   Probability of so large a shift, either way, by chance; NULL of sides of different machines.
-- is_exact     BOOLEAN  Whether the values are compared as they stand.
-- p            DOUBLE   Probability of so large a change, either way, if there were none; NULL where sessions are assumed.
-- change_low   DOUBLE   Lower end of the 95 % interval of the effect without the shift, down to 0 where other runs of the base
--                         differ as much, or the ranks of the runs do not tell the sides apart.
-- change_high  DOUBLE   Upper end.
-- is_headline  BOOLEAN  Whether the metric is the statistic of its measurement that is judged.
-- q            DOUBLE   Share of false alarms to expect if this row and all with a smaller p were called changed.
-- tests        BIGINT   Rows judged together; NULL where p is.
-- verdict      VARCHAR  FASTER, SLOWER, BETTER, WORSE, the same after LIKELY, SAME, CHANGED or UNSURE; NULL where a side is missing,
--                       neither way is better, or another statistic is judged.
WITH
tests AS (
    SELECT
        * EXCLUDE (tails), tails[1] AS change_p, CASE WHEN NOT is_other_machine THEN tails[2] END AS shift_p, greatest(tied, rank_p) AS by_chance,
        ln(1 + case_floor) AS log_floor, is_assumed AND NOT is_thin AND NOT is_other_machine
            AND least(base_processes, candidate_processes) >= 3 AS has_processes,
        reach <= own_reach AND coalesce(cases_reach <= session_reach, true) AS is_as_assumed,
        base_value IS NOT NULL AND candidate_value IS NOT NULL AND (
            _is_count(metric, unit) AND NOT _is_failures(metric) AND (is_even_within AND (base_n > 1 AND candidate_n > 1 OR NOT _is_counter(metric)) OR effect IS NULL)
            OR is_assumed AND base_value = candidate_value AND NOT _is_time_or_rate(unit)
        ) AS is_exact
    FROM _case_errors(base, candidate, last, floor, across)
),
p_values AS (
    SELECT
        * EXCLUDE (change_p, change_low, change_high), CASE
            WHEN change IS NULL OR is_assumed OR is_thin THEN NULL
            WHEN error > 0 THEN greatest(by_chance, change_p)
            WHEN change = 0 THEN 1 + 0 * error
            ELSE 0 * error
        END AS p,
        CASE WHEN by_chance > fdr THEN least(change_low, 0) ELSE change_low END AS change_low,
        CASE WHEN by_chance > fdr THEN greatest(change_high, 0) ELSE change_high END AS change_high,
        CASE WHEN abs(shift) < log_floor THEN shift ELSE 0 END AS shown_shift
    FROM tests
),
nearest_changes AS (
    SELECT
        *, abs(change) >= log_floor AS is_large,
        greatest(change_low + least(shown_shift, 0), -change_high - greatest(shown_shift, 0)) AS nearest
    FROM p_values
),
headlines AS (  -- of few columns, for a window copies all that it is given
    SELECT
        pair, series_id, metric, phase, better, CASE WHEN NOT is_exact THEN p END AS p, metric = first_value(metric) OVER (
            PARTITION BY pair, case_id, _measurement(metric), coalesce(phase, 'steady'), better IS NULL
            ORDER BY base_value IS NULL OR candidate_value IS NULL, _headline_rank(metric, phase, unit, better), metric
        ) AND NOT (NOT _is_warm(phase) AND least(base_n - base_runs, candidate_n - candidate_runs) <= 0)
            AND NOT (phase IS NOT DISTINCT FROM 'warmup' AND _is_time_or_rate(unit)) AS is_headline
    FROM p_values
),
families AS (  -- what is tested together; NULL untested
    SELECT
        pair, series_id, is_headline, p, CASE
            WHEN p IS NOT NULL AND is_headline THEN better IS NOT NULL AND _is_warm(phase) AND _is_headline(metric, better)
        END AS is_usual
    FROM headlines
),
p_ranks AS (
    SELECT
        *, CASE WHEN is_usual IS NOT NULL THEN count(*) OVER (PARTITION BY is_usual) END AS tests,
        row_number() OVER (PARTITION BY is_usual ORDER BY p) AS p_rank
    FROM families
),
q_values AS (
    SELECT pair, series_id, is_headline, tests, CASE WHEN tests > 0 THEN _q_value(p, tests, p_rank, is_usual) END AS q
    FROM p_ranks
)

SELECT
    own.* EXCLUDE (by_chance, log_floor, is_large, has_processes, is_as_assumed, shown_shift, nearest), is_headline, q, tests,
    CASE
        WHEN base_value IS NULL OR candidate_value IS NULL OR NOT is_headline THEN NULL
        WHEN better IS NULL THEN CASE WHEN is_exact AND base_value <> candidate_value AND NOT _is_effort(metric) THEN 'CHANGED' END
        WHEN is_exact AND base_value = candidate_value THEN 'SAME'
        WHEN NOT is_exact AND change_low >= -log_floor AND change_high <= log_floor AND NOT is_thin THEN 'SAME'
        WHEN is_exact OR is_large AND nearest > 0 AND (q <= 3 * fdr AND by_chance <= fdr OR has_processes AND is_as_assumed)
            OR nearest > log_floor THEN
            CASE WHEN is_exact OR is_large AND q <= fdr
                OR has_processes AND abs(change) - sure_reach > log_floor
                THEN '' ELSE 'LIKELY ' END
            || _change_verdict((coalesce(change, candidate_value - base_value) < 0) = (better = 'lower'), unit)
        ELSE 'UNSURE'
    END AS verdict
FROM nearest_changes AS own
JOIN q_values ON own.pair = q_values.pair AND own.series_id = q_values.series_id
