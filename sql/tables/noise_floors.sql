-- One row per run of bench doctor: how small a difference its machine could show, and how busy it was.
--
-- run_id           VARCHAR    Run of the doctor.
-- host             VARCHAR    Machine.
-- environment_id   VARCHAR    Its environment.
-- machine_id       VARCHAR    What its class is told by (see _machine_facts); NULL where nothing is known of it.
-- measured_at      TIMESTAMP  When; UTC.
-- noise_floor      DOUBLE     Smallest difference of two identical sides that would have been seen, four times in five, as a
--                             share.
-- gpu_noise_floor  DOUBLE     The same of a kernel of the first GPU; NULL without.
-- steal            DOUBLE     Share of the time that other virtual machines took.
-- load             DOUBLE     Share of the processors busy in the minute before.
SELECT
    run.run_id, run.host, environment_id, min(machine_id) AS machine_id, started_at AS measured_at,
    max(_finite(value)) FILTER (metric = 'noise_floor') AS noise_floor,
    max(_finite(value)) FILTER (metric = 'gpu_noise_floor') AS gpu_noise_floor,
    max(_finite(value)) FILTER (metric = 'steal') AS steal,
    max(_finite(value)) FILTER (metric = 'load') AS load
FROM runs AS run
JOIN metrics ON run.run_id = metrics.run_id
LEFT JOIN _machine_facts AS facts ON run.run_id = facts.run_id
WHERE source = 'doctor' AND run.run_id IN (SELECT run_id FROM _touched)
GROUP BY run.run_id, run.host, environment_id, started_at
