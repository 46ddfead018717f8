-- One row per run of bench doctor: how small a difference its machine could show, and how busy it was.
--
-- run_id           Run of the doctor.
-- host             Machine.
-- environment_id   Its environment.
-- measured_at      When; UTC.
-- noise_floor      Smallest difference of two identical sides that would have been seen, four times in five, as a share.
-- steal            Share of the time that other virtual machines took.
-- load             Share of the processors busy in the minute before.
SELECT
    run_id, host, environment_id, started_at AS measured_at,
    any_value(value) FILTER (metric = 'noise_floor') AS noise_floor,
    any_value(value) FILTER (metric = 'steal') AS steal,
    any_value(value) FILTER (metric = 'load') AS load
FROM runs
JOIN metrics USING (run_id)
WHERE source = 'doctor'
GROUP BY run_id, host, environment_id, started_at
