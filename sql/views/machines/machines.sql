-- One row per run: the class of machine it ran on. Runs are judged within their class: what has the same processor model, cores, caches,
-- memory clock, GPUs, power limit, major driver version and container limits. The name of the host and the clock rate of a moment
-- are no part of it. Settings of a project name and merge classes: `[tool.bench] machines`.
--
-- axes: run
-- host            VARCHAR  Name of the machine.
-- machine         VARCHAR  Readable name of the class; NULL where neither processor model, caches nor GPUs are known.
-- class_id        VARCHAR  Id of the class: a checksum of its facts, or the name that the user gave; NULL as above.
-- cpu             VARCHAR  Processor model without marks and maker; NULL unknown.
-- logical_cores   BIGINT   Processors the scheduler sees.
-- physical_cores  BIGINT   Cores without hyper-threads.
-- l1_bytes        BIGINT   First-level data cache of a core.
-- l2_bytes        BIGINT   Second-level cache.
-- l3_bytes        BIGINT   Third-level cache.
-- memory_mhz      BIGINT   Clock rate of the main memory as configured.
-- gpus            VARCHAR  Models of the GPUs, in device order; NULL without any.
-- gpu_power       VARCHAR  Their power limits in mW, a JSON list.
-- driver          VARCHAR  Major version of their driver.
-- cpu_limit       DOUBLE   Processors that the container or the affinity of the process leaves; NULL for all.
-- memory_limit    BIGINT   Bytes that the container may use; NULL without a limit.
-- clock_mhz       BIGINT   Clock rate that the tool read when it ran, which is no part of the class.
-- is_known        BOOLEAN  Whether its processor model is known, or the project's settings name its class.
SELECT
    run_id, config, host, machine, class_id, cpu, logical_cores, physical_cores, l1_bytes, l2_bytes, l3_bytes, memory_mhz, gpus,
    gpu_power, driver, cpu_limit, memory_limit, clock_mhz, coalesce(is_known, false) AS is_known
FROM _machine_facts AS facts
LEFT JOIN _machine_classes AS class ON facts.facts_id = class.facts_id
