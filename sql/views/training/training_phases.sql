-- One row per training case of a script × phase of its steps: the time that a step spends there in the mean.
-- Means, for they add up to the mean of a step. Steps that are not steady yet are left out. The error is that of 32 contiguous
-- stretches of steps, since neighbouring steps resemble each other; a phase that only some steps have counts as 0 in the others.
--
-- axes: run, case without work_hash
-- phase  VARCHAR  data (waiting for a batch), forward (from there to the backward pass, loss and copies included), backward,
--                 optimizer, other.
-- ms     DOUBLE   Mean time of a step in it; of a GPU the time in its stream.
-- error  DOUBLE   Half-width of its 95 % interval (Student's t); NULL of fewer than 64 steps.
-- share  DOUBLE   Its share of the time of all phases, 0 to 1.
-- n      BIGINT   Steady steps.
WITH
steps AS (
    SELECT run_id, case_id, sample, ntile(32) OVER (PARTITION BY run_id, case_id ORDER BY sample) AS stretch
    FROM timings
    WHERE metric = 'latency' AND phase = 'steady' AND case_id IN (SELECT case_id FROM case_axes WHERE suite = 'script')
),
phases AS (
    SELECT run_id, case_id, replace(metric, '_time', '') AS phase, sample, duration_ns
    FROM timings
    WHERE phase = 'steady' AND metric IN ('data_time', 'forward_time', 'backward_time', 'optimizer_time', 'other_time')
),
found AS (SELECT DISTINCT run_id, case_id, phase FROM phases),
stretches AS (
    SELECT
        found.run_id, found.case_id, found.phase, stretch, count(*) AS n,
        coalesce(sum(duration_ns), 0)::DOUBLE AS total
    FROM found
    JOIN steps ON found.run_id = steps.run_id AND found.case_id = steps.case_id
    LEFT JOIN phases ON phases.run_id = found.run_id AND phases.case_id = found.case_id AND phases.phase = found.phase
        AND phases.sample = steps.sample
    GROUP BY ALL
),
means AS (
    SELECT
        run_id, case_id, phase, sum(n)::BIGINT AS n, sum(total) / sum(n) / 1e6 AS ms,
        CASE WHEN sum(n) >= 64 THEN _t975(31) * stddev_samp(total / n) / sqrt(32) / 1e6 END AS error
    FROM stretches
    GROUP BY ALL
)

SELECT
    means.run_id, run.config, means.case_id, {axes},
    phase, ms, error, ms / nullif(sum(ms) OVER (PARTITION BY means.run_id, means.case_id), 0) AS share, n
FROM means
JOIN case_axes ON means.case_id = case_axes.case_id
LEFT JOIN _run_records AS run ON means.run_id = run.run_id
