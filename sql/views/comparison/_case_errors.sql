-- One row per pair × case × metric × phase × unit of a comparison: the effect that is tested, and its standard error.
-- The value of a side is a median over its runs, and varies accordingly, but no less than its samples tell. Candidates of one
-- day, apart from the base, share what that day was like: how much, the distances between them tell if 20 cases or more
-- have several; else they count as one run.
--
-- Of 20 cases or more the median effect is what the two sides differ by as a whole: it is taken out of every case, and a finding
-- of its own (shared_shifts). If the effects of all cases are still further apart than their errors, the errors are too small,
-- and become as large (an empirical null distribution: Efron, Journal of the American Statistical Association 99, 2004).
-- Of such candidates that differ by more than three standard deviations of a difference the one nearest to the base counts:
-- another had a bad machine.
--
-- arguments: base, candidate, last, floor
--
-- axes: sides
-- run_variance  DOUBLE   Variance of what all cases of a run share, between the runs of a side; NULL of fewer than 2 runs.
-- run_degrees   DOUBLE   Degrees of freedom of that.
-- is_repeated   BOOLEAN  Whether several candidates differ from the base in the same direction.
-- tied          DOUBLE   Share of the base's runs that are as far from its value, where most are equal to it; else 0.
-- shift         DOUBLE   Median effect of all cases, which is taken out; 0 of fewer than 20 cases.
-- change        DOUBLE   Effect that is tested: that of the case without the shift, or of the run that shows it least.
-- noise         DOUBLE   Standard deviation of ln(value) from run to run; NULL where nothing tells it.
-- error         DOUBLE   Standard error of the change, of unknown noise that of the samples alone; NULL where nothing tells it.
-- degrees       DOUBLE   Degrees of freedom of that error.
WITH
case_noises AS (
    SELECT
        *, count(effect) OVER same_metric AS cases,
        CASE WHEN count(effect) OVER same_metric >= 20 THEN median(effect) OVER same_metric ELSE 0 END AS shift,
        -- the median of a variance of so many degrees, as a share of its mean (Wilson and Hilferty)
        repeats / variance / pow(1 - 2 / (9 * nullif(candidate_runs - 1, 0)::DOUBLE), 3) AS own_share
    FROM _case_noises(base, candidate, last, floor)
    WINDOW same_metric AS (PARTITION BY pair, metric, phase, unit)
),
correlations AS (
    SELECT
        *, CASE
            WHEN NOT is_session OR candidate_runs < 2 THEN 0
            WHEN count(own_share) OVER same_metric < 20 THEN 1
            ELSE greatest(0, 1 - least(1, median(own_share) OVER same_metric))
        END AS correlation
    FROM case_noises
    WINDOW same_metric AS (PARTITION BY pair, metric, phase, unit)
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
inflations AS (
    SELECT
        *, CASE WHEN cases >= 20 THEN greatest(1, median(
            1.4826::DOUBLE * abs(effect - shift) / own_error / (1 + 0.4::DOUBLE / noise_degrees)
        ) OVER (PARTITION BY pair, metric, phase, unit)) ELSE 1 END AS inflation
    FROM errors
)

SELECT
    pair, case_id, metric, phase, unit, better, base_value, candidate_value, base_runs, candidate_runs, base_n, candidate_n,
    effect, run_variance, run_degrees,
    candidate_runs > 1 AND (least > shift OR most < shift) AS is_repeated,
    CASE WHEN list_median(list_transform(base_deviations, lambda x: abs(x))) = 0
        THEN len(list_filter(base_deviations, lambda x: abs(x) >= abs(effect))) / len(base_deviations)::DOUBLE ELSE 0 END AS tied,
    shift,
    CASE
        WHEN NOT is_session OR candidate_runs < 2 OR variance IS NULL OR most - least <= 3 * sqrt(2 * variance) THEN effect - shift
        WHEN least > shift THEN least - shift
        WHEN most < shift THEN most - shift
        ELSE 0 * effect
    END AS change,
    sqrt(variance) AS noise, own_error * inflation AS error,
    greatest(coalesce(noise_degrees, base_n + candidate_n - base_runs - candidate_runs), 1) AS degrees
FROM inflations
