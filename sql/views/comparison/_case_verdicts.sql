-- One row per pair × case × metric × phase × unit of a comparison: whether it changed.
-- This is the one rule of `comparisons` and `regressions`. p is two-sided, by Student's t. q is p after Benjamini and Hochberg
-- over all cases that are judged together: what a comparison shows unless asked for more, and the rest apart. A change counts
-- if q is within `fdr` and it is at least as large as `floor`; where nothing tells the noise from run to run, none does. Nor does a
-- change count where a side has too few samples (is_thin): a 95 % interval of the median needs at least 6 (Conover, Practical
-- Nonparametric Statistics, 3.2), and of fewer one slow sample would decide. A count whose noise is unknown is taken to be exact, and what is
-- no time and equal to the last digit is the same.
--
-- arguments: base, candidate, last, floor, fdr
--
-- axes: sides
-- is_repeated  BOOLEAN  Whether several candidates differ from the base in the same direction.
-- axes: shifts
-- change       DOUBLE   Effect that is tested.
-- noise        DOUBLE   Standard deviation of ln(value) from run to run; NULL where nothing tells it.
-- error        DOUBLE   Standard error of the change; NULL where nothing tells it.
-- reach        DOUBLE   Half of the 95 % interval of the change.
-- is_exact     BOOLEAN  Whether the values are compared as they stand.
-- p            DOUBLE   Probability of so large a change, either way, if there were none.
-- q            DOUBLE   Share of false alarms to expect if this row and all with a smaller p were called changed.
-- tests        BIGINT   Rows judged together; NULL where p is.
-- verdict      VARCHAR  FASTER, SLOWER, BETTER, WORSE, SAME or UNSURE; NULL where a side is missing, or neither way is better.
WITH
p_values AS (
    SELECT
        *, _t975(degrees) * error AS reach,
        (effect IS NULL OR noise IS NULL) AND base_value IS NOT NULL AND candidate_value IS NOT NULL
            AND (unit = 'count' OR base_value = candidate_value AND NOT _is_time_or_rate(unit)) AS is_exact,
        CASE
            WHEN change IS NULL OR noise IS NULL OR is_thin THEN NULL
            WHEN error > 0 THEN greatest(tied, 2 * _t_tail(abs(change) / error, degrees))
            WHEN change = 0 THEN 1 + 0 * error
            ELSE 0 * error
        END AS p,
        better IS NOT NULL AND _is_warm(phase) AND _is_headline(metric, better) AS is_usual
    FROM _case_errors(base, candidate, last, floor)
),
p_ranks AS (
    SELECT
        pair, series_id, is_usual, p, count(*) OVER (PARTITION BY is_usual) AS tests,
        row_number() OVER (PARTITION BY is_usual ORDER BY p) AS p_rank
    FROM p_values
    WHERE p IS NOT NULL
),
q_values AS (
    SELECT
        pair, series_id, tests, least(1, min(p * tests / p_rank) OVER (PARTITION BY is_usual ORDER BY p_rank DESC)) AS q
    FROM p_ranks
)

SELECT
    own.pair, own.series_id, case_id, metric, phase, unit, better, base_value, candidate_value, base_runs, candidate_runs, base_n, candidate_n,
    effect, size_effect, metric_id, first_place, tied, streak, since_place, good_place, is_repeated, cases, shift, shift_reach, shift_p, shift_runs, change, noise, error, reach, is_exact, p, q, tests,
    CASE
        WHEN base_value IS NULL OR candidate_value IS NULL OR better IS NULL THEN NULL
        WHEN is_exact AND base_value = candidate_value OR p IS NOT NULL
            AND greatest(abs(change), abs(effect - shift), abs(effect - shift - size_effect)) + reach <= ln(1 + floor) THEN 'SAME'
        WHEN is_exact OR q <= fdr AND abs(change) >= ln(1 + floor)
            THEN _change_verdict((coalesce(change, candidate_value - base_value) < 0) = (better = 'lower'), unit)
        ELSE 'UNSURE'
    END AS verdict
FROM p_values AS own
LEFT JOIN q_values ON own.pair = q_values.pair AND own.series_id = q_values.series_id
