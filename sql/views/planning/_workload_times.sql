-- One row per config × machine × work: how long measuring it takes, everything around the samples included.
-- Work is measured one after the other: each takes from the end of the one before, or the start of the run, to its last
-- outcome. Of a run that noted no outcome of any case each work takes an equal share.
--
-- config      VARCHAR  Config.
-- machine_id  VARCHAR  Kind of machine (see _machine_facts); NULL where nothing is known of it.
-- work_hash   VARCHAR  What was computed, by all backends together.
-- seconds     DOUBLE   Median over the runs of the config on such machines; NULL where no run noted when it ended.
WITH
run_ends AS (SELECT run_id, max(recorded_at) AS ended_at FROM outcomes WHERE case_id IS NULL GROUP BY run_id),
work AS (
    SELECT run_id, work_hash, max(outcomes.recorded_at) AS ended_at
    FROM cases
    LEFT JOIN outcomes USING (run_id, case_id)
    GROUP BY run_id, work_hash
),
spans AS (
    SELECT
        run.config, machine_id, work_hash,
        CASE
            WHEN count(work.ended_at) OVER same_run = 0
                THEN _difference(epoch_us(run_ends.ended_at), epoch_us(started_at)) / count(*) OVER same_run
            WHEN work.ended_at IS NOT NULL
                THEN _difference(
                    epoch_us(work.ended_at), coalesce(epoch_us(lag(work.ended_at) OVER in_order), epoch_us(started_at))
                )
        END AS us
    FROM work
    JOIN _run_records AS run USING (run_id)
    JOIN _machine_facts USING (run_id)
    LEFT JOIN run_ends USING (run_id)
    WINDOW same_run AS (PARTITION BY run_id), in_order AS (PARTITION BY run_id ORDER BY work.ended_at NULLS LAST, work_hash)
)

SELECT config, machine_id, work_hash, median(us) / 1e6::DOUBLE AS seconds
FROM spans
GROUP BY config, machine_id, work_hash
