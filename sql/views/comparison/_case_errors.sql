-- One row per pair × case × metric × phase × unit of a comparison: the effect that is tested, and its standard error.
-- The value of a side is a median over its runs, and varies accordingly, but no less than its samples tell. Candidates of one
-- day, apart from the base, share what that day was like: how much, the distances between them tell if 20 cases or more
-- have several; else they count as one run.
--
-- The standard deviation of fewer than 6 samples says little, and one sample has none. They are taken to vary at least as much as
-- samples of the other side do, else as samples of the metric's other cases usually do.
--
-- Of 20 cases or more the median effect is what the two sides differ by as a whole: it is taken out of every case, and a finding
-- of its own (shared_shifts). If the effects of all cases are still further apart than their errors, the errors are too small,
-- and become as large (an empirical null distribution: Efron, Journal of the American Statistical Association 99, 2004).
-- Of such candidates that differ by more than three standard deviations of a difference the one nearest to the base counts:
-- another had a bad machine.
--
-- Scheduler steps of a bin with 1.5 times the tokens take up to 1.5 times as long for that alone: from not at all, where memory is
-- the limit, to in proportion. Of the effects of a step of equal size that this leaves open, the one nearest to 0 is tested. Where
-- the tokens of both sides' runs overlap, their difference is part of the noise from run to run, and nothing is taken off.
--
-- arguments: base, candidate, last, floor
--
-- axes: sides
-- is_thin       BOOLEAN  Whether a side has too few samples for a verdict.
-- is_repeated   BOOLEAN  Whether several candidates differ from the base in the same direction.
-- axes: shifts
-- change        DOUBLE   Effect that is tested: that of the case without the shift, or of the run that shows it least, of steps of
--                         other sizes the least that it may be.
-- noise         DOUBLE   Standard deviation of ln(value) from run to run; NULL where nothing tells it.
-- error         DOUBLE   Standard error of the change, of unknown noise that of the samples alone; NULL where nothing tells it.
-- degrees       DOUBLE   Degrees of freedom of that error.
WITH
case_noises AS (
    SELECT
        *,  -- the median of a variance of so many degrees, as a share of its mean (Wilson and Hilferty)
        repeats / variance / pow(1 - 2 / (9 * nullif(candidate_runs - 1, 0)::DOUBLE), 3) AS own_share
    FROM _case_noises(base, candidate, last, floor)
),
metric_levels AS (
    SELECT
        metric_id, count(effect) AS cases, CASE WHEN count(effect) >= 20 THEN median(effect) ELSE 0 END AS shift,
        CASE WHEN count(own_share) < 20 THEN 1 ELSE greatest(0, 1 - least(1, median(own_share))) END AS metric_correlation,
        max(base_runs) AS shift_runs
    FROM case_noises
    GROUP BY metric_id
),
correlations AS (
    SELECT
        own.*, cases, shift, shift_runs,
        CASE WHEN NOT is_session OR candidate_runs < 2 THEN 0 ELSE metric_correlation END AS correlation
    FROM case_noises AS own
    JOIN metric_levels AS of_metric ON own.metric_id = of_metric.metric_id
),
errors AS (
    SELECT
        *, sqrt(
            greatest(variance, base_sampling) * _median_variance(base_runs)
            + greatest(variance, candidate_sampling)
                * (correlation + (1 - correlation) * _median_variance(candidate_runs))
            + CASE WHEN cases >= 20 THEN variance * _median_variance(cases) ELSE 0 END
        ) AS own_error
    FROM correlations
),
metric_errors AS (
    SELECT
        metric_id,
        CASE WHEN min(cases) >= 20
            THEN greatest(1, median(1.4826::DOUBLE * abs(effect - shift) / own_error / (1 + 0.4::DOUBLE / noise_degrees))) ELSE 1
        END AS inflation,
        CASE WHEN min(cases) >= 20 THEN 3 + min(run_degrees) END AS shift_degrees,
        CASE WHEN min(cases) >= 20 THEN sqrt(
            (3 * 0.0004::DOUBLE + min(run_degrees) * coalesce(min(run_variance), 0)) / (3 + min(run_degrees))
                * (1 + _median_variance(min(shift_runs)))
            + pow(1.4826::DOUBLE * median(abs(effect - shift)), 2) * _median_variance(min(cases))
        ) END AS shift_error
    FROM errors
    GROUP BY metric_id
),
shift_tests AS (
    SELECT
        own.metric_id, inflation, _t975(shift_degrees) * shift_error AS shift_reach,
        2 * _t_tail(abs(shift) / shift_error, shift_degrees) AS shift_p
    FROM metric_errors AS own
    JOIN metric_levels AS levels ON own.metric_id = levels.metric_id
),
run_changes AS (
    SELECT
        *, CASE
            WHEN NOT is_session OR candidate_runs < 2 OR variance IS NULL OR most - least <= 3 * sqrt(2 * variance) THEN effect - shift
            WHEN least > shift THEN least - shift
            WHEN most < shift THEN most - shift
            ELSE 0 * effect
        END AS run_change
    FROM errors
)

SELECT
    pair, series_id, case_id, metric, phase, unit, better, base_value, candidate_value, base_runs, candidate_runs, base_n, candidate_n,
    effect, size_effect, own.metric_id, first_place, tied, streak, since_place, good_place, is_thin,
    candidate_runs > 1 AND (least > shift OR most < shift) AS is_repeated,
    cases, shift, shift_reach, shift_p, shift_runs,
    CASE
        WHEN run_change * (run_change - size_effect) < 0 THEN 0 * run_change
        WHEN abs(run_change - size_effect) < abs(run_change) THEN run_change - size_effect
        ELSE run_change
    END AS change,
    sqrt(variance) AS noise, own_error * inflation AS error,
    greatest(coalesce(noise_degrees, base_n + candidate_n - base_runs - candidate_runs), 1) AS degrees
FROM run_changes AS own
JOIN shift_tests AS of_metric ON own.metric_id = of_metric.metric_id
