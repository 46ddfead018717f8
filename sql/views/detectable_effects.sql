-- One row per config × host × case × metric × phase: how many runs it takes to see a change, and what so many runs see.
-- Both sides of the comparison have equally many runs, and the value of each run is the median of its samples. The
-- difference of the sides' mean ln(value), divided by its error noise · √(2 / runs), is Student's t with the degrees of
-- freedom of the noise, and noncentral where there is a change. A two-sided test at `alpha` sees a change with probability
-- `power` if the noncentrality is t₀ (1 - 1 / 4f) + z √(1 + t₀² / 2f), where t₀ is the critical value, f the degrees of
-- freedom and z the normal quantile of the power (Abramowitz and Stegun, 26.7.10; within 0.5 % of exact for powers
-- from 0.8 to 0.9, f from 8 and alpha down to 1e-5).
-- Judging many cases at once costs runs. correction 'bonferroni' divides alpha by the cases of the config, host, metric and
-- phase: at most one comparison in 1 / alpha then has a false alarm. 'bh' takes alpha as the share of false alarms among
-- all alarms (Benjamini and Hochberg), of which `changed` is the share of cases that change: the level of one
-- test is then power · changed · alpha / ((1 - changed) (1 - alpha)) (Jung, Bioinformatics 21, 2005), but no less than
-- that of 'bonferroni'.
--
-- arguments: effect := 0.03, runs := 3, power := 0.8, alpha := 0.05, correction := 'none', changed := 0.1
--
-- config             Config.
-- host               Machine; NULL where nobody said.
-- case_id            Case measured; NULL for a value of the run as a whole.
-- work_hash          What was computed, whoever computed it.
-- suite              Suite of the workload.
-- name               Model, function, command or benchmark.
-- mode               inference or training.
-- device             cpu, cuda …
-- dtype              float32, bfloat16, amp …
-- backend            Compiler or implementation.
-- batch_size         Samples in one batch.
-- sequence_length    Tokens in one sequence.
-- parameters         Further axes, as a JSON object.
-- metric             What was measured.
-- phase              cold, compile, warmup or steady; NULL where that has no meaning.
-- unit               Unit of the value.
-- runs_seen          Runs the noise was taken over, of the last 50.
-- noise              Standard deviation of ln(value) from run to run (run_noise); NULL where no case was measured twice.
-- sampling_noise     The part of it that more samples in a run would lower: the standard error of ln(median) within a
--                    run, from its 95 % interval, median over runs; NULL where no run has 6 samples.
-- degrees            Degrees of freedom of the noise: its steps from run to run, and 8 for the other cases of the metric.
-- judged             Cases of the config, host, metric and phase whose noise is known.
-- test_alpha         Level of the test of one case, after the correction.
-- runs_needed        Runs on each side to see a change by the factor 1 + effect, either way; NULL where the noise is unknown.
-- detectable         Smallest change that `runs` runs on each side see, as a share: 0.03 is a factor of 1.03 either way.
-- workload_seconds   Time a run takes for the case's work, all backends together; NULL where nobody noted it.
WITH
run AS (SELECT DISTINCT ON (run_id) run_id, host FROM runs ORDER BY run_id, started_at, config),
measured AS (
    SELECT
        config, host, case_id, metric, phase, unit, min(work_hash) AS work_hash, min(suite) AS suite, min(name) AS name,
        min(mode) AS mode, min(device) AS device, min(dtype) AS dtype, min(backend) AS backend,
        min(batch_size) AS batch_size, min(sequence_length) AS sequence_length, min(parameters) AS parameters,
        median(ln(median_high / median_low) / (2 * 1.959963984540054::DOUBLE)) FILTER (median_low > 0) AS sampling_noise
    FROM cells
    JOIN run USING (run_id)
    GROUP BY config, host, case_id, metric, phase, unit
),
known AS (
    SELECT
        own.config, own.host, own.case_id, own.metric, own.phase, own.unit, own.n AS runs_seen, own.noise,
        measured.* EXCLUDE (config, host, case_id, metric, phase, unit),
        own.n + 7 AS degrees,
        count(own.noise) OVER (PARTITION BY own.config, own.host, own.metric, own.phase, own.unit) AS judged
    FROM run_noise AS own
    LEFT JOIN measured
        ON own.config = measured.config AND own.host IS NOT DISTINCT FROM measured.host
        AND own.case_id IS NOT DISTINCT FROM measured.case_id AND own.metric = measured.metric
        AND own.phase IS NOT DISTINCT FROM measured.phase AND own.unit IS NOT DISTINCT FROM measured.unit
),
corrected AS (
    SELECT
        *,
        CASE correction
            WHEN 'none' THEN alpha::DOUBLE
            WHEN 'bonferroni' THEN alpha::DOUBLE / greatest(judged, 1)
            WHEN 'bh' THEN greatest(alpha::DOUBLE / greatest(judged, 1), least(
                alpha::DOUBLE, power * changed * alpha::DOUBLE / ((1 - changed) * (1 - alpha::DOUBLE))
            ))
        END AS test_alpha
    FROM known
),
critical AS (SELECT *, _t_quantile(test_alpha / 2, degrees) AS t FROM corrected),
errors AS (
    SELECT
        *,
        noise * (t * (1 - 1 / (4 * degrees)) + _normal_quantile(1 - power) * sqrt(1 + t * t / (2 * degrees))) AS error
    FROM critical
)

SELECT
    errors.config, errors.host, case_id, errors.work_hash, suite, name, mode, device, dtype, backend, batch_size,
    sequence_length, parameters, metric, phase, unit, runs_seen, noise, sampling_noise, degrees, judged, test_alpha,
    TRY_CAST(greatest(ceil(2 * pow(error / ln(1 + effect::DOUBLE), 2)), 1) AS BIGINT) AS runs_needed,
    exp(error * sqrt(2::DOUBLE / runs)) - 1 AS detectable,
    seconds AS workload_seconds
FROM errors
LEFT JOIN _workload_times AS work
    ON errors.config = work.config AND errors.host IS NOT DISTINCT FROM work.host
    AND errors.work_hash IS NOT DISTINCT FROM work.work_hash
