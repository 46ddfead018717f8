-- One row per config × machine × case × metric × phase: how many runs it takes to see a change, and what so many runs see.
-- The test is that of `comparisons`, with equally many runs on both sides: the value of a run is the median of its samples,
-- that of a side the median of its runs, and the difference of their logarithms divided by its error is Student's t,
-- noncentral where there is a change. `alpha` is two-sided. With fewer than 3 degrees of freedom nothing is promised, nor where a
-- side would have too few samples for a verdict (`is_thin` in `_case_effects`).
-- Judging many cases at once costs runs. The correction 'bonferroni' divides alpha by the cases of the config, machine, metric
-- and phase: a comparison of all of them has any false alarm with probability alpha. 'bh' takes alpha as the share of
-- false alarms among all alarms (Benjamini and Hochberg), where `changed` is the share of cases that change: the level
-- of one test is then power · changed · alpha / ((1 - changed) (1 - alpha)) (Jung, Bioinformatics 21, 2005), but no less
-- than that of 'bonferroni'. Of 20 cases or more, those that change then also hide each other (`_detectable_multiple`).
--
-- arguments: effect := {floor}, runs := 3, power := 0.8, alpha := {alpha}, correction := 'none', changed := 0.1
--
-- config            VARCHAR  Config.
-- host              VARCHAR  Host of all its runs; NULL where they are of several, or nobody said.
-- axes: case, value
-- runs_seen         BIGINT   Runs the noise was taken over, of the last 50.
-- noise             DOUBLE   Standard deviation of ln(value) from run to run (run_noise); NULL where no case was measured
--                            twice.
-- sampling_noise    DOUBLE   The part of it that more samples in a run would lower: the standard error of ln(median) of one
--                            run as its samples tell it (see _side_values); NULL where no run has two samples.
-- weight            DOUBLE   Degrees of freedom that this history is worth beyond the runs compared, as in
--                            _case_noises.
-- judged            BIGINT   Cases of the config, machine, metric and phase whose noise is known.
-- test_alpha        DOUBLE   Level of the test of one case, after the correction.
-- fewest_runs       BIGINT   Runs on each side that have 6 samples together, which `comparisons` asks for; 1 where it does not.
-- runs_needed       BIGINT   Runs on each side to see a change by the factor 1 + effect, either way, beyond 64 rounded up
--                            by 5 % at most, and no fewer than fewest_runs; NULL where the noise is unknown, or where even
--                            100,000 would not do.
-- detectable        DOUBLE   Smallest change that `runs` runs on each side see, as a share: 0.03 is a factor of 1.03 either
--                            way. NULL where the noise is unknown, with fewer than 3 degrees of freedom, or fewer than fewest_runs.
-- workload_seconds  DOUBLE   Time a run takes for the case's work, all backends together; NULL where nobody noted it.
WITH
sampling_noises AS (
    SELECT
        cell.config, machine_id, _series_key(case_id, metric, phase, unit) AS series_id, min(better) AS better,
        _finite(sqrt(avg(_sampling_variance(median, median_low, median_high, stdev, n, processes, process_spread)))) AS sampling_noise,
        sum(n) / count(*) AS samples, bool_or(tokens IS NOT NULL) AS is_bin
    FROM _all_cells AS cell
    JOIN _run_times AS run ON cell.run_id = run.run_id
    GROUP BY cell.config, machine_id, series_id
),
noises AS (
    SELECT
        own.config, own.machine_id, own.host, own.case_id, own.metric, own.phase, own.unit, own.n AS runs_seen, own.noise, better, sampling_noise,
        0.37::DOUBLE * own.n + least(8, 0.37::DOUBLE * other_steps) AS weight,
        count(own.noise) OVER (PARTITION BY own.config, own.machine_id, own.metric, own.phase, own.unit) AS judged,
        greatest(own.noise, CASE WHEN own.noise IS NOT NULL THEN sampling_noise END) AS spread,
        CASE
            WHEN is_bin OR median(samples) OVER (PARTITION BY own.config, own.machine_id, own.metric, own.phase, own.unit) >= 6
                THEN ceil(6 / samples)
            ELSE 1
        END::BIGINT AS fewest_runs
    FROM run_noise AS own
    LEFT JOIN sampling_noises
        ON own.config = sampling_noises.config AND own.machine_id IS NOT DISTINCT FROM sampling_noises.machine_id
        AND _series_key(own.case_id, own.metric, own.phase, own.unit) = sampling_noises.series_id
),
test_levels AS (
    SELECT
        *,
        CASE correction
            WHEN 'none' THEN alpha::DOUBLE
            WHEN 'bonferroni' THEN alpha::DOUBLE / greatest(judged, 1)
            WHEN 'bh' THEN greatest(alpha::DOUBLE / greatest(judged, 1), least(
                alpha::DOUBLE, power * changed * alpha::DOUBLE / ((1 - changed) * (1 - alpha::DOUBLE))
            ))
        END AS test_alpha,
        CASE WHEN correction = 'bh' AND judged >= 20 THEN least(changed::DOUBLE, 0.4) ELSE 0 END AS hiding
    FROM noises
),
candidates AS (
    SELECT CASE WHEN step <= 64 THEN step::DOUBLE ELSE ceil(64 * pow(1.05::DOUBLE, step - 64)) END AS candidate
    FROM (SELECT unnest(range(1, 216)) AS step)
),
ladders AS (
    SELECT
        weight, test_alpha, hiding,
        list({
            'runs': candidate, 'multiple': _detectable_multiple(candidate, weight, test_alpha, power::DOUBLE, hiding)
        }) AS rungs
    FROM (SELECT DISTINCT weight, test_alpha, hiding FROM test_levels)
    CROSS JOIN candidates
    WHERE candidate - 1 + weight >= 3
    GROUP BY weight, test_alpha, hiding
)

SELECT
    case_.config, case_.host, case_.case_id, axes.work_hash, {axes},
    metric, phase, unit, better, runs_seen, noise, sampling_noise, case_.weight, judged,
    case_.test_alpha, fewest_runs,
    list_min(list_transform(
        list_filter(rungs, lambda rung: rung.multiple <= ln(1 + effect::DOUBLE) / greatest(spread, 1e-9) AND rung.runs >= fewest_runs),
        lambda rung: rung.runs
    ))::BIGINT AS runs_needed,
    CASE WHEN runs >= fewest_runs
        THEN _finite(exp(spread * _detectable_multiple(runs, case_.weight, case_.test_alpha, power::DOUBLE, case_.hiding)) - 1)
    END AS detectable,
    seconds AS workload_seconds
FROM test_levels AS case_
LEFT JOIN ladders
    ON case_.weight = ladders.weight AND case_.test_alpha = ladders.test_alpha AND case_.hiding = ladders.hiding
LEFT JOIN case_axes AS axes ON case_.case_id = axes.case_id
LEFT JOIN _workload_times AS work
    ON case_.config = work.config AND case_.machine_id IS NOT DISTINCT FROM work.machine_id
    AND axes.work_hash IS NOT DISTINCT FROM work.work_hash
