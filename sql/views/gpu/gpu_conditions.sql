-- One row per case timed on a GPU: what its clocks, power and heat were while its steady samples were taken.
-- Read after every sample; a reading that the driver does not give is NULL. A throttled sample is kept; estimates leave its block
-- out, unless fewer than a quarter of the blocks, or than five, would be left.
--
-- axes: run, case without work_hash
-- n                BIGINT   Steady samples.
-- throttled        BIGINT   Those in which power or heat slowed the GPU; NULL where the driver does not say.
-- reasons          BIGINT   What slowed it, as the bits of NVML's reasons, of all samples together.
-- min_sm_clock     DOUBLE   Lowest clock of the multiprocessors, Hz.
-- median_sm_clock  DOUBLE   Median.
-- max_sm_clock     DOUBLE   Highest.
-- memory_clock     DOUBLE   Median clock of the memory, Hz.
-- power_limit      DOUBLE   Lowest power limit that was in force, W.
-- temperature      DOUBLE   Highest temperature, °C.
-- energy           DOUBLE   Energy of one call, J; NULL where it was not asked for, or the counter stood still.
-- power            DOUBLE   Mean power of the calls whose energy was read, W.
-- gpu              VARCHAR  UUID of the GPU.
WITH
samples AS (
    SELECT
        run_id, case_id, count(*) AS n, count(*) FILTER (throttled > 0) AS slowed, count(throttled) AS told,
        bit_or(throttled) AS reasons
    FROM timings
    WHERE metric = 'latency' AND phase = 'steady'
    GROUP BY run_id, case_id
),
readings AS (
    SELECT
        run_id, case_id, min(value) FILTER (metric = 'gpu_sm_clock') AS min_sm_clock,
        median(value) FILTER (metric = 'gpu_sm_clock') AS median_sm_clock,
        max(value) FILTER (metric = 'gpu_sm_clock') AS max_sm_clock,
        median(value) FILTER (metric = 'gpu_memory_clock') AS memory_clock,
        min(value) FILTER (metric = 'gpu_power_limit') AS power_limit,
        max(value) FILTER (metric = 'gpu_temperature') AS temperature,
        max(value) FILTER (metric = 'gpu_energy') AS energy,
        max(value) FILTER (metric = 'gpu_power') AS power,
        max(original_value) FILTER (metric = 'gpu_uuid') AS gpu
    FROM (SELECT run_id, case_id, metric, phase, _finite(value) AS value, original_value FROM metrics)
    WHERE starts_with(metric, 'gpu_') AND (phase = 'steady' OR phase IS NULL)
    GROUP BY run_id, case_id
)

SELECT
    samples.run_id, config, samples.case_id, {axes},
    n, CASE WHEN told > 0 THEN slowed END AS throttled, reasons, min_sm_clock, median_sm_clock, max_sm_clock,
    memory_clock, power_limit, temperature, energy, power, gpu
FROM samples
JOIN case_axes ON samples.case_id = case_axes.case_id
LEFT JOIN readings ON samples.run_id = readings.run_id AND samples.case_id = readings.case_id
LEFT JOIN _run_records AS run ON samples.run_id = run.run_id
WHERE told > 0 OR gpu IS NOT NULL OR median_sm_clock IS NOT NULL
