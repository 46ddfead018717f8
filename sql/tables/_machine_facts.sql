-- One row per run: what is known of its machine that decides how fast it is. Neither the name of the host nor the clock rate of a
-- moment is such a fact. Facts come from the environment, be it described by bench or by the file of another tool.
--
-- axes: run
-- host             VARCHAR  Name of the machine.
-- cpu              VARCHAR  Processor model without marks and maker; NULL where only its architecture is known.
-- logical_cores    BIGINT   Processors the scheduler sees.
-- physical_cores   BIGINT   Cores without hyper-threads.
-- l1_bytes         BIGINT   First-level data cache of a core.
-- l2_bytes         BIGINT   Second-level cache.
-- l3_bytes         BIGINT   Third-level cache.
-- memory_mhz       BIGINT   Clock rate of the main memory as configured.
-- gpus             VARCHAR  Models of the GPUs, in device order; NULL without any.
-- gpu_power        VARCHAR  Their power limits in mW, a JSON list.
-- driver           VARCHAR  Major version of their driver.
-- cpu_limit        DOUBLE   Processors that the container or the affinity of the process leaves; NULL for all.
-- memory_limit     BIGINT   Bytes that the container may use; NULL without a limit.
-- clock_mhz        BIGINT   Clock rate that the tool read when it ran; no such fact, but it helps to know a processor without a name.
-- facts_id         VARCHAR  Checksum of these facts; NULL where neither processor model, caches nor GPUs are known.
-- machine_id       VARCHAR  The same; where it is NULL, the word host and the name of the host; NULL where that is unknown, too.
WITH
environment AS (SELECT DISTINCT ON (environment_id) * FROM environments ORDER BY environment_id),
own_environments AS (
    SELECT run.run_id, run.config, host, run.tags, environment.* EXCLUDE (environment_id)
    FROM _run_records AS run
    LEFT JOIN environment ON run.environment_id = environment.environment_id
    WHERE run.run_id IN (SELECT run_id FROM _touched)
),
texts AS (
    SELECT
        *, trim(regexp_replace(
            regexp_replace(cpu, '\((R|r|TM|tm|C|c)\)|\b(Processor|CPU|AMD|Intel|Ampere)\b|\b[0-9]+-Core\b', '', 'g'), '\s+', ' ', 'g'
        )) AS model,
        json_extract_string(extra, '$.caches') AS caches, array_to_string(gpus, ', ') AS gpu_models
    FROM own_environments
),
cache_texts AS (
    SELECT
        *, regexp_extract(caches, '\{[^{}]*"Data"[^{}]*"level":\s*1\D[^{}]*\}|\{[^{}]*"level":\s*1\D[^{}]*"Data"[^{}]*\}', 0) AS l1,
        regexp_extract(caches, '\{[^{}]*"level":\s*2\D[^{}]*\}', 0) AS l2,
        regexp_extract(caches, '\{[^{}]*"level":\s*3\D[^{}]*\}', 0) AS l3
    FROM texts
),
facts AS (
    SELECT
        run_id, config, host,
        CASE WHEN NOT regexp_matches(lower(model), '^(|x86_64|x86-64|x64|amd64|i[3-6]86|aarch64|arm64|arm|arm.?v[0-9].*|unknown)$') THEN model END
            AS cpu,
        logical_cores, physical_cores,
        coalesce(
            TRY_CAST(regexp_extract(l1, '"size":\s*([0-9]+)', 1) AS BIGINT),
            TRY_CAST(json_extract_string(extra, '$.cpu.l1_data_cache_size') AS BIGINT),
            TRY_CAST(json_extract_string(extra, '$.cpu_l1d_cache_bytes') AS BIGINT)
        ) AS l1_bytes,
        coalesce(
            TRY_CAST(regexp_extract(l2, '"size":\s*([0-9]+)', 1) AS BIGINT),
            TRY_CAST(json_extract_string(extra, '$.cpu.l2_cache_size') AS BIGINT),
            TRY_CAST(json_extract_string(extra, '$.cpu_l2_cache_bytes') AS BIGINT)
        ) AS l2_bytes,
        coalesce(
            TRY_CAST(regexp_extract(l3, '"size":\s*([0-9]+)', 1) AS BIGINT),
            TRY_CAST(json_extract_string(extra, '$.cpu.l3_cache_size') AS BIGINT),
            TRY_CAST(json_extract_string(extra, '$.cpu_l3_cache_bytes') AS BIGINT)
        ) AS l3_bytes,
        TRY_CAST(json_extract_string(extra, '$.memory_mhz') AS BIGINT) AS memory_mhz,
        TRY_CAST(json_extract_string(tags, '$.context.mhz_per_cpu') AS BIGINT) AS clock_mhz,
        nullif(gpu_models, '') AS gpus, json_extract_string(extra, '$.gpu_power_limit_mw') AS gpu_power,
        CASE WHEN gpu_models <> '' THEN split_part(driver, '.', 1) END AS driver,
        TRY_CAST(json_extract_string(extra, '$.cpu_limit') AS DOUBLE) AS cpu_limit,
        TRY_CAST(json_extract_string(extra, '$.memory_limit_bytes') AS BIGINT) AS memory_limit
    FROM cache_texts
),
identified_facts AS (
    SELECT
        *, CASE WHEN coalesce(cpu, l2_bytes::VARCHAR, l3_bytes::VARCHAR, gpus) IS NOT NULL THEN left(md5(concat_ws(
            '|', coalesce(cpu, ''), coalesce(logical_cores::VARCHAR, ''), coalesce(physical_cores::VARCHAR, ''),
            coalesce(l1_bytes::VARCHAR, ''), coalesce(l2_bytes::VARCHAR, ''), coalesce(l3_bytes::VARCHAR, ''),
            coalesce(memory_mhz::VARCHAR, ''), coalesce(gpus, ''), coalesce(gpu_power, ''), coalesce(driver, ''),
            coalesce(cpu_limit::VARCHAR, ''), coalesce(memory_limit::VARCHAR, '')
        )), 12) END AS facts_id
    FROM facts
)

SELECT
    run_id, config, host, cpu, logical_cores, physical_cores, l1_bytes, l2_bytes, l3_bytes, memory_mhz, gpus, gpu_power, driver,
    cpu_limit, memory_limit, clock_mhz, facts_id, coalesce(facts_id, 'host ' || host) AS machine_id
FROM identified_facts
