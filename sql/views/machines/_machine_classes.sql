-- One row per description of a machine (see _machine_facts): the class that it belongs to.
-- A class is a description. One that knows less than another of the same processor, GPUs and limits, and contradicts it nowhere,
-- belongs to that, if no third one fits: an older version of a tool records less. Names of the user come last, and merge.
--
-- facts_id  VARCHAR  Checksum of the facts.
-- machine   VARCHAR  Readable name of the class; where two classes would have one name, with the beginning of the id.
-- class_id  VARCHAR  Id of the class: the checksum of its facts, or the name that the user gave.
-- is_known  BOOLEAN  Whether its processor model is known, or the user named it.
WITH
descriptions AS (
    SELECT
        facts_id, min(cpu) AS cpu, min(logical_cores) AS logical_cores, min(physical_cores) AS physical_cores, min(l1_bytes) AS l1_bytes,
        min(l2_bytes) AS l2_bytes, min(l3_bytes) AS l3_bytes, min(memory_mhz) AS memory_mhz, min(gpus) AS gpus,
        min(gpu_power) AS gpu_power, min(driver) AS driver, min(cpu_limit) AS cpu_limit, min(memory_limit) AS memory_limit
    FROM _machine_facts
    WHERE facts_id IS NOT NULL
    GROUP BY facts_id
),
listed AS (
    SELECT
        facts_id, cpu, gpus, cpu_limit, memory_limit, [
            logical_cores::VARCHAR, physical_cores::VARCHAR, l1_bytes::VARCHAR, l2_bytes::VARCHAR, l3_bytes::VARCHAR, memory_mhz::VARCHAR,
            gpu_power, driver
        ] AS details
    FROM descriptions
),
counted AS (SELECT *, len(list_filter(details, lambda detail: detail IS NOT NULL)) AS known FROM listed),
fuller AS (
    SELECT
        less.facts_id, more.facts_id AS fuller_id,
        rank() OVER (PARTITION BY less.facts_id ORDER BY more.known DESC) AS place
    FROM counted AS less
    JOIN counted AS more
        ON less.known < more.known AND less.cpu = more.cpu AND less.gpus IS NOT DISTINCT FROM more.gpus
        AND less.cpu_limit IS NOT DISTINCT FROM more.cpu_limit AND less.memory_limit IS NOT DISTINCT FROM more.memory_limit
        AND len(list_filter(range(1, len(less.details) + 1), lambda i: coalesce(less.details[i] = more.details[i], less.details[i] IS NULL)))
            = len(less.details)
),
fullest AS (
    SELECT facts_id, min(fuller_id) AS fuller_id
    FROM fuller
    WHERE place = 1
    GROUP BY facts_id
    HAVING count(*) = 1
),
readable AS (
    SELECT
        facts_id, cpu, concat_ws(
            ', ', coalesce(cpu, CASE WHEN gpus IS NULL THEN 'unknown processor' END), logical_cores || ' cores',
            CASE WHEN cpu_limit IS NOT NULL THEN printf('limit %g', cpu_limit) END,
            CASE
                WHEN l3_bytes IS NOT NULL THEN printf('L3 %g MiB', l3_bytes / 1048576::DOUBLE)
                WHEN l2_bytes IS NOT NULL AND cpu IS NULL THEN printf('L2 %g MiB', l2_bytes / 1048576::DOUBLE)
            END,
            CASE WHEN memory_mhz IS NOT NULL THEN memory_mhz || ' MHz memory' END,
            CASE WHEN memory_limit IS NOT NULL THEN printf('%g GiB', round(memory_limit / 1073741824::DOUBLE, 1)) END,
            CASE
                WHEN gpus = array_to_string(list_transform(string_split(gpus, ', '), lambda gpu: split_part(gpus, ', ', 1)), ', ')
                    AND len(string_split(gpus, ', ')) > 1
                    THEN len(string_split(gpus, ', ')) || ' x ' || split_part(gpus, ', ', 1)
                ELSE gpus
            END,
            CASE WHEN regexp_matches(gpu_power, '[0-9]')
                THEN printf('%g W', TRY_CAST(regexp_extract(gpu_power, '[0-9]+', 0) AS DOUBLE) / 1000) END,
            'driver ' || driver
        ) AS machine
    FROM descriptions
),
classes AS (
    SELECT own.facts_id, coalesce(fuller_id, own.facts_id) AS class_id, coalesce(theirs.machine, own.machine) AS machine, own.cpu
    FROM readable AS own
    LEFT JOIN fullest ON own.facts_id = fullest.facts_id
    LEFT JOIN readable AS theirs ON fullest.fuller_id = theirs.facts_id
),
spellings AS (
    SELECT class_id, unnest([class_id, machine, split_part(machine, ', ', 1), split_part(machine, ' @ ', 1)]) AS spelling
    FROM classes
    UNION
    SELECT class_id, environment.cpu  -- as tools write the processor
    FROM classes
    JOIN _machine_facts AS fact ON classes.facts_id = fact.facts_id
    JOIN _run_records AS run ON fact.run_id = run.run_id
    JOIN environments AS environment ON run.environment_id = environment.environment_id
    WHERE EXISTS (SELECT 1 FROM _machine_names)
),
named AS (
    SELECT class_id, min(name) AS name
    FROM spellings
    JOIN _machine_names ON regexp_matches(lower(spelling), pattern)
    GROUP BY class_id
)

SELECT
    facts_id, coalesce(name, CASE
        WHEN min(classes.class_id) OVER same_name = max(classes.class_id) OVER same_name THEN machine
        ELSE machine || ' (' || left(classes.class_id, 4) || ')'
    END) AS machine, coalesce(name, classes.class_id) AS class_id, name IS NOT NULL OR cpu IS NOT NULL AS is_known
FROM classes
LEFT JOIN named ON classes.class_id = named.class_id
WINDOW same_name AS (PARTITION BY machine)
