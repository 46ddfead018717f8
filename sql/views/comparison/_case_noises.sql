-- One row per pair × case × metric × phase × unit of a comparison: how much its value moves from run to run.
-- The runs of both sides tell it by their distances from the value of their side; a distance beyond 2.5 times what is usual
-- counts as that, because one run in thirty has a bad machine (Huber's Proposal 2, Annals of Mathematical Statistics 35,
-- 1964; 0.9776 is the mean of such squares of normal values). Usual is the median distance, of a few runs no less than that of
-- the metric's cases. Earlier runs of the config and class of machine (run_noise) add 0.37 degrees of freedom each, the worth of a median
-- of absolute values (Rousseeuw and Croux, Journal of the American Statistical Association 88, 1993); where both sides are of
-- one config and class, the step between them is part of their history, so that counts only from 4 runs up.
--
-- A few runs say little of one case, so its variance is moderated by those of all cases of the metric as limma does: prior
-- variance and prior degrees of freedom fit mean and variance of ln(variance) (Smyth, Statistical Applications in Genetics and
-- Molecular Biology 3, 2004). What a few cases say of how much the variances differ is itself moderated, towards 0.3: noises
-- within a factor of 1.3 of each other. Where no case has two runs on a side nor a history, nothing tells it (see `_case_errors`).
--
-- arguments: base, candidate, last, floor
--
-- from: _case_effects without deviations own_degrees
-- variance       DOUBLE  Variance of ln(value) of one run; NULL where nothing tells it.
-- noise_degrees  DOUBLE  Degrees of freedom of that.
WITH
histories AS (
    SELECT
        pair, _series_key(case_id, metric, phase, unit) AS series_id, avg(own_noise * own_noise) AS history,
        max(0.37::DOUBLE * greatest(n - runs, 0)) AS history_degrees
    FROM run_noise
    JOIN (
        SELECT pair, config, machine_id, bool_or(is_shared) AS is_shared, count(*) AS runs
        FROM _comparison_sides(base, candidate, last)
        GROUP BY pair, config, machine_id
    ) AS compared ON run_noise.config = compared.config AND run_noise.machine_id IS NOT DISTINCT FROM compared.machine_id
    WHERE own_noise IS NOT NULL AND (n >= 4 OR NOT is_shared)
    GROUP BY pair, series_id
),
raw_spreads AS (
    SELECT
        *, CASE WHEN own_degrees > 0 THEN
            pow(1.4826::DOUBLE * list_median(list_transform(deviations, lambda x: abs(x))), 2) * len(deviations) / own_degrees
        END AS usual
    FROM _case_effects(base, candidate, last, floor)
),
metric_spreads AS (
    SELECT metric_id, median(usual) AS metric_usual
    FROM raw_spreads
    GROUP BY metric_id
),
usual_spreads AS (
    SELECT
        own.*, nullif(greatest(usual, (0.37::DOUBLE * own_degrees * usual + 4 * metric_usual) / (0.37::DOUBLE * own_degrees + 4)), 0)
            AS usual_variance
    FROM raw_spreads AS own
    JOIN metric_spreads AS of_metric ON own.metric_id = of_metric.metric_id
),
own_variances AS (
    SELECT
        own.* EXCLUDE (own_degrees, deviations), own_degrees + coalesce(history_degrees, 0) AS all_degrees, all_degrees / 2 AS half_degrees,
        CASE WHEN own_degrees + coalesce(history_degrees, 0) > 0 THEN greatest(pow(least(case_floor, {floor}::DOUBLE) / 10, 2), (
            coalesce(list_avg(list_transform(deviations, lambda x: least(x * x, 6.25::DOUBLE * usual_variance))) * len(deviations), 0)
                / 0.9776::DOUBLE
            + coalesce(history_degrees * history, 0)
        ) / (own_degrees + coalesce(history_degrees, 0))) END AS own_variance
    FROM usual_spreads AS own
    LEFT JOIN histories AS earlier ON own.pair = earlier.pair AND own.series_id = earlier.series_id
),
log_variances AS (
    SELECT
        *, ln(own_variance) - _digamma(half_degrees) + ln(nullif(half_degrees, 0)) AS log_variance, _trigamma(half_degrees) AS chance
    FROM own_variances
),
metric_moments AS (
    SELECT
        metric_id, avg(log_variance) AS log_mean, sum(all_degrees) AS metric_degrees,
        coalesce(greatest(var_samp(log_variance) - avg(chance), 0), 0) AS excess,
        coalesce((2 + 4 / avg(all_degrees) FILTER (all_degrees > 0)) * pow(avg(chance), 2) / count(log_variance), 1) AS excess_variance
    FROM log_variances
    GROUP BY metric_id
    HAVING count(log_variance) > 0
),
metric_priors AS (
    SELECT *, (0.1::DOUBLE * excess + 0.3::DOUBLE * excess_variance) / (0.1::DOUBLE + excess_variance) AS difference
    FROM metric_moments
),
case_priors AS (
    SELECT
        own.*, least((1 + sqrt(1 + 2 * difference)) / difference, metric_degrees - all_degrees) AS prior_degrees, log_mean
    FROM log_variances AS own
    LEFT JOIN metric_priors AS of_metric ON own.metric_id = of_metric.metric_id
)

SELECT
    own.* EXCLUDE (all_degrees, half_degrees, own_variance, log_variance, chance, prior_degrees, log_mean, usual_variance, usual),
    (
        coalesce(CASE WHEN prior_degrees > 0
            THEN prior_degrees * exp(log_mean + _digamma(prior_degrees / 2) - ln(nullif(prior_degrees, 0) / 2))
        END, 0) + coalesce(all_degrees * own_variance, 0)
    ) / nullif(coalesce(prior_degrees, 0) + all_degrees, 0) AS variance,
    nullif(coalesce(prior_degrees, 0) + all_degrees, 0) AS noise_degrees
FROM case_priors AS own
