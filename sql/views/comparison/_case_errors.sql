-- One row per pair × case × metric × phase × unit of a comparison: the effect that is tested, and its interval.
-- The value of a side is a median over its runs, and varies accordingly, but no less than its samples and processes tell.
-- Candidates of one day, apart from the base, share what that day was like: how much, the distances between them tell if 20
-- cases or more have several; else they count as one run.
--
-- The standard deviation of fewer than 6 samples says little, and one sample has none. They are taken to vary at least as much as
-- samples of the other side do, else as samples of the metric's other cases usually do.
--
-- Where neither repeated runs nor a history tell how sessions differ, that is assumed: as neighbouring nights of a public fleet do
-- (_assumed_reach), and no less than 8 cases or more differ from one another where most did not change: the shortest
-- interval that holds half of their effects tells centre and spread (Rousseeuw and Leroy, Robust Regression and Outlier
-- Detection, 1987; 1 + 4 / n for few), once more without those beyond 2.5 spreads. A case is worth 0.3 degrees of freedom
-- (`python -m tests.benchmarks sessions`). Beyond 2.5 times what is assumed, cases differ because they changed, each by its own
-- factor; beyond 5 times, where 3 processes a side tell a case's own error, their spread does not count. What is more than likely
-- even so is beyond 1.4 times that spread, too, up to 5 times what is assumed. Nor is it less than equal sides differed when bench
-- doctor last looked at a machine of the pair: it sees its noise floor four times in five, 1.96 + 0.84 errors.
--
-- Of sides of different classes of machine, 3 cases or more share the median effect, and vary beyond it by 20 %, or as far as 8 or
-- more do. Of fewer a factor of 3 may be the machine's. `across` compares them as they stand.
--
-- Where no processor is known and the hosts differ, that is taken for another machine if a metric of times has 3 cases or more, and all
-- moved by more than 5 % in one direction.
--
-- What a meter of memory reads too low it may do in every run: more runs do not narrow that.
--
-- Of 20 cases or more the median effect is taken out of every case, and a finding of its own (shared_shifts). If their effects are
-- still further apart than their errors, these become as large (an empirical null: Efron, Journal of the American Statistical Association 99, 2004).
-- Of such candidates that differ by more than three standard deviations of a difference the one nearest to the base counts:
-- another had a bad machine.
--
-- Scheduler steps of a bin with 1.5 times the tokens take up to 1.5 times as long for that alone. Of the effects of a step of equal
-- size that this leaves open, the one nearest to 0 is tested; where the tokens of both sides' runs overlap, nothing is taken off.
--
-- Runs at one of two levels put the median of a side at one or the other, which says little: of sides with 4 runs or more the ranks of all
-- runs have to tell them apart, too.
--
-- What failed of many calls or requests varies as chance takes it, which their numbers tell (_share_difference), and no less than from
-- run to run. Trials that nobody counted are taken for very many.
--
-- arguments: base, candidate, last, floor, across
--
-- from: _case_noises without base_deviations candidate_deviations base_sampling candidate_sampling least most repeats run_variance run_degrees is_session variance noise_degrees
-- base_trials    DOUBLE   Calls or requests of a run of which a count of failures is; NULL unknown, and of all else.
-- candidate_trials  DOUBLE  The same of the candidate.
-- rank_p         DOUBLE   Probability that the runs of the sides lie apart as they do, by their ranks (_rank_p); 0 of fewer than 4 runs on a
--                         side, and of failures by chance.
-- doctor_reach   DOUBLE   Half of the 95 % interval of equal sides when bench doctor last looked at the machines; NULL without a doctor, and
--                         of what is no time and no rate.
-- cases          BIGINT   Cases that have the metric on both sides.
-- cases_reach    DOUBLE   Half of the 95 % interval of an effect by how far those of all cases are apart, where sessions are assumed; NULL of
--                         fewer than 8 cases.
-- shift          DOUBLE   Median effect of all cases, which is taken out of each; 0 of fewer than 20 cases.
-- shift_runs     BIGINT   Runs of the base, at most.
-- is_assumed     BOOLEAN  Whether nothing tells how sessions differ, so that it is assumed.
-- usual_reach    DOUBLE   Half of the 95 % interval of two sessions of the same code, as public nightly runs differ (_assumed_reach).
-- session_reach  DOUBLE   Half of the 95 % interval of two sessions that differ by nothing else, where that is assumed.
-- degrees        DOUBLE   Degrees of freedom of the noise from run to run.
-- error          DOUBLE   Standard error of the change; NULL where sessions are assumed.
-- reach          DOUBLE   Half of the 95 % interval of the change.
-- own_reach      DOUBLE   The same by runs and samples of the case, or by sessions as assumed: whatever the effects of other cases are.
-- sure_reach     DOUBLE   Half of the interval that holds the change in 99.5 % of sessions; NULL where they were seen to vary.
-- change         DOUBLE   Effect that is tested: that of the case without the shift, or of the run that shows it least, of steps of
--                         other sizes the least that it may be.
-- is_repeated    BOOLEAN  Whether several candidates differ from the base in the same direction.
-- shift_reach    DOUBLE   Half of the 95 % interval of the shift, as runs differ from one another as a whole, or machines do: by a factor of 3 or
--                         this one; NULL of fewer than 20 cases of one machine.
-- noise          DOUBLE   Standard deviation of ln(value) from run to run; NULL where nothing tells it.
-- change_low     DOUBLE   Lower end of the 95 % interval of the effect without the shift: it holds whatever sizes of steps or runs
--                         that disagree leave open.
-- change_high    DOUBLE   Upper end.
-- tails          DOUBLE[]  Probabilities, either way, of so large a change and of so large a shift, by Student's t.
WITH
case_noises AS (SELECT * FROM _case_noises(base, candidate, last, floor)),
own_shares AS (  -- the median of a variance of so many degrees, as a share of its mean (Wilson and Hilferty)
    SELECT
        metric_id, metric, phase, unit, effect, variance, base_runs, is_other_machine,
        repeats / variance / pow(1 - 2 / (9 * nullif(candidate_runs - 1, 0)::DOUBLE), 3) AS own_share
    FROM case_noises
),
metric_effects AS (
    SELECT
        metric_id, count(effect) AS cases, _assumed_reach(min(metric), min(phase), min(unit), NULL) AS usual_reach,
        coalesce(
            bool_or(is_other_machine AND NOT across),
            _is_time_or_rate(min(unit)) AND count(effect) >= 3 AND (min(effect) > ln(1.05) OR max(effect) < -ln(1.05))
        ) AS is_of_other,
        median(effect) AS median_effect,
        CASE WHEN count(own_share) < 20 THEN 1 ELSE greatest(0, 1 - least(1, median(own_share))) END AS metric_correlation,
        max(base_runs) AS shift_runs, count(variance) AS variances, list_sort(list(effect) FILTER (effect IS NOT NULL)) AS all_effects
    FROM own_shares
    GROUP BY metric_id
),
metric_shifts AS (
    SELECT
        * EXCLUDE (median_effect, variances, all_effects),
        CASE WHEN cases >= 20 OR cases >= 3 AND is_of_other THEN median_effect ELSE 0 END AS shift,
        CASE WHEN cases >= 8 AND (variances = 0 OR is_of_other) THEN all_effects END AS effects
    FROM metric_effects
),
shortest_halves AS (
    SELECT
        *, list_min(list_transform(
            range(1, cases // 2 + 2), lambda i: {'width': effects[i + (cases + 1) // 2 - 1] - effects[i], 'low': effects[i]}
        )) AS half
    FROM metric_shifts
),
metric_levels AS (
    SELECT
        * EXCLUDE (effects, half), _t975(0.3::DOUBLE * (cases - 1)) * 1.52::DOUBLE * list_median(list_filter(
            list_transform(effects, lambda x: abs(x - half.low - half.width / 2)),
            lambda x: x <= 2.5::DOUBLE * 1.4826::DOUBLE * (1 + 4 / cases::DOUBLE) * half.width / 2
        )) AS cases_reach
    FROM shortest_halves
),
doctor_reaches AS (
    SELECT pair, 1.96::DOUBLE / 2.8016::DOUBLE * max(noise_floor) AS cpu_reach, 1.96::DOUBLE / 2.8016::DOUBLE * max(gpu_noise_floor) AS gpu_reach
    FROM (
        SELECT
            pair, side.machine_id, arg_max(noise_floor, measured_at) AS noise_floor, arg_max(gpu_noise_floor, measured_at) AS gpu_noise_floor
        FROM _comparison_sides(base, candidate, last) AS side
        JOIN noise_floors AS doctor ON side.machine_id = doctor.machine_id
        GROUP BY pair, side.machine_id
    )
    GROUP BY pair
),
trials AS (  -- a server counts what completed; of calls each is a sample, whether it failed or not
    SELECT
        pair, case_id, max(base_value) FILTER (metric = 'completed') AS base_completed, max(base_n / base_runs) AS base_calls,
        max(candidate_value) FILTER (metric = 'completed') AS candidate_completed, max(candidate_n / candidate_runs) AS candidate_calls
    FROM case_noises
    WHERE case_id IN (SELECT case_id FROM case_noises WHERE _is_failures(metric))
    GROUP BY pair, case_id
),
failures AS (
    SELECT
        own.pair, own.series_id, effect, base_runs, candidate_runs, base_value, candidate_value,
        CASE metric WHEN 'failed' THEN base_completed + base_value WHEN 'failed_calls' THEN base_calls END AS base_trials,
        CASE metric WHEN 'failed' THEN candidate_completed + candidate_value WHEN 'failed_calls' THEN candidate_calls END AS candidate_trials
    FROM case_noises AS own
    JOIN trials ON own.pair = trials.pair AND own.case_id = trials.case_id
    WHERE _is_failures(metric)
),
failed_shares AS (
    SELECT
        *, base_runs * base_value AS failed, base_runs * greatest(base_value, coalesce(base_trials, 1e9::DOUBLE)) AS tried,
        candidate_runs * candidate_value AS other_failed,
        candidate_runs * greatest(candidate_value, coalesce(candidate_trials, 1e9::DOUBLE)) AS other_tried
    FROM failures
),
chance_errors AS (
    SELECT
        pair, series_id, base_trials, candidate_trials,
        abs(effect) / greatest(1e-6::DOUBLE, _share_difference(failed, tried, other_failed, other_tried)) AS chance_error
    FROM failed_shares
),
joined_cases AS (
    SELECT
        own.* EXCLUDE (base_deviations, candidate_deviations) REPLACE (is_of_other AS is_other_machine), base_trials, candidate_trials, chance_error,
        CASE WHEN chance_error IS NULL AND least(len(base_deviations), len(candidate_deviations)) >= 4
            THEN _rank_p(base_deviations, list_transform(candidate_deviations, lambda x: x + effect - shift)) ELSE 0
        END AS rank_p,
        CASE WHEN _is_time_or_rate(unit) THEN CASE WHEN device = 'cuda' THEN gpu_reach ELSE cpu_reach END END AS doctor_reach,
        cases, cases_reach, shift, shift_runs, chance_error IS NULL AND (variance IS NULL OR is_of_other) AS is_assumed, usual_reach,
        CASE WHEN NOT is_session OR candidate_runs < 2 THEN 0 ELSE metric_correlation END AS correlation,
        pow(coalesce(_t975(nullif(base_processes - 1, 0)), 1.96), 2) * coalesce(base_sampling, 0)
            + pow(coalesce(_t975(nullif(candidate_processes - 1, 0)), 1.96), 2) * coalesce(candidate_sampling, 0) AS squared_reach,
        CASE
            WHEN NOT is_session OR candidate_runs < 2 OR variance IS NULL OR most - least <= 3 * sqrt(2 * variance) THEN effect - shift
            WHEN least > shift THEN least - shift
            WHEN most < shift THEN most - shift
            ELSE 0 * effect
        END AS run_change
    FROM case_noises AS own
    JOIN metric_levels AS of_metric ON own.metric_id = of_metric.metric_id
    LEFT JOIN case_axes AS axes ON own.case_id = axes.case_id
    LEFT JOIN doctor_reaches AS doctor ON own.pair = doctor.pair
    LEFT JOIN chance_errors ON own.pair = chance_errors.pair AND own.series_id = chance_errors.series_id
),
own_errors AS (
    SELECT
        *, CASE WHEN NOT is_other_machine THEN greatest(usual_reach, doctor_reach) WHEN cases >= 3 THEN 0.2::DOUBLE ELSE ln(3) END
            AS assumed_reach,
        CASE WHEN is_other_machine THEN 'inf'::DOUBLE ELSE 2.5::DOUBLE * assumed_reach END AS most_reach,
        sqrt(
            greatest(greatest(variance, base_sampling) * _median_variance(base_runs), CASE WHEN unit = 'bytes' THEN base_sampling END)
            + greatest(
                greatest(variance, candidate_sampling) * (correlation + (1 - correlation) * _median_variance(candidate_runs)),
                CASE WHEN unit = 'bytes' THEN candidate_sampling END
            )
            + CASE WHEN cases >= 20 THEN variance * _median_variance(cases) ELSE 0 END
        ) AS own_error
    FROM joined_cases
),
errors AS (
    SELECT
        *, greatest(assumed_reach, CASE
            WHEN cases_reach > 2 * most_reach AND least(base_processes, candidate_processes) >= 3 THEN assumed_reach
            WHEN cases_reach > most_reach THEN most_reach
            ELSE cases_reach
        END) AS session_reach,
        greatest(coalesce(noise_degrees, 0), CASE WHEN chance_error > coalesce(own_error, 0) THEN 1000 ELSE 1 END) AS degrees
    FROM own_errors
),
metric_errors AS (
    SELECT
        metric_id,
        CASE WHEN min(cases) >= 20 AND count(variance) > 0
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
tested_changes AS (
    SELECT
        own.* EXCLUDE (own_error, assumed_reach, most_reach, chance_error), inflation, shift_degrees, shift_error,
        greatest(own_error * inflation, chance_error) AS error,
        CASE WHEN is_assumed THEN sqrt(pow(session_reach, 2) + squared_reach) ELSE _t975(degrees) * error END AS reach,
        CASE WHEN is_assumed THEN sqrt(pow(assumed_reach, 2) + squared_reach) ELSE _t975(degrees) * own_error END AS own_reach,
        CASE WHEN is_assumed
            THEN sqrt(pow(greatest(
                _assumed_reach(metric, phase, unit, least(base_processes, candidate_processes)), 1.4::DOUBLE * doctor_reach, least(1.4::DOUBLE * coalesce(cases_reach, 0), 2 * most_reach)
            ), 2) + squared_reach)
        END AS sure_reach,
        CASE
            WHEN run_change * (run_change - size_effect) < 0 THEN 0 * run_change
            WHEN abs(run_change - size_effect) < abs(run_change) THEN run_change - size_effect
            ELSE run_change
        END AS change
    FROM errors AS own
    JOIN metric_errors AS of_metric ON own.metric_id = of_metric.metric_id
)

SELECT
    * EXCLUDE (
        base_sampling, candidate_sampling, repeats, run_variance, run_degrees, is_session, variance, noise_degrees, least, most, run_change,
        correlation, squared_reach, inflation, shift_degrees, shift_error
    ),
    candidate_runs > 1 AND (least > shift OR most < shift) AS is_repeated,
    CASE WHEN is_other_machine THEN greatest(ln(3), abs(shift)) ELSE _t975(shift_degrees) * shift_error END AS shift_reach,
    sqrt(variance) AS noise,
    least(effect - shift, effect - shift - size_effect, change) - reach AS change_low,
    greatest(effect - shift, effect - shift - size_effect, change) + reach AS change_high,
    list_transform(
        [{'t': abs(change) / error, 'degrees': degrees}, {'t': abs(shift) / shift_error, 'degrees': shift_degrees}],
        lambda test: 2 * _t_tail(test.t, test.degrees)
    ) AS tails
FROM tested_changes
