-- One row per run and another run of its config that measured the same code: its repeats, the rest of its fleet or of its night, a log
-- beside a trace.
--
-- axes: run
-- other_run_id    VARCHAR    The other run.
-- other_began_at  TIMESTAMP  When that began; for an import that does not say, when it was loaded. UTC.
-- same_commit     BOOLEAN    Whether both measured the same known and clean commit.
-- same_plan       BOOLEAN    Whether both took from one plan (`bench measure models --fleet`), or are calls of one measurement (`bench
--                            measure command --results`).
-- same_recording  BOOLEAN    Whether one is a trace, and the other a log of torch.compile in its folder or below.
-- same_round      BOOLEAN    Whether both are files of other tools of one night (see `rounds`), not of two known classes of machine.
WITH
known_runs AS (  -- of `run_details` these few columns: to plan all takes longer than to look
    SELECT time.run_id, time.config, time.began_at, time.git_commit, git_dirty, tags
    FROM _run_times AS time
    JOIN _run_records AS record ON time.run_id = record.run_id
),
traced AS (
    SELECT trace.run_id AS trace_id, log.run_id AS log_id
    FROM sources AS trace
    JOIN sources AS log ON trace.config = log.config AND starts_with(log.path, regexp_replace(trace.path, '[^/]*$', ''))
    WHERE trace.format IN ('torch-trace', 'nsight-systems') AND log.format = 'torch-logs'
),
recorded AS (
    SELECT trace_id AS run_id, log_id AS other_run_id FROM traced
    UNION
    SELECT log_id, trace_id FROM traced
),
rounds AS (
    SELECT round.run_id, round.config, round_id, class_id
    FROM _rounds AS round
    LEFT JOIN _machine_classes ON machine_id = facts_id
    WHERE round.run_id IN (SELECT run_id FROM runs WHERE source NOT IN ('measure', 'api'))
),
nights AS (
    SELECT own.run_id, other.run_id AS other_run_id
    FROM rounds AS own
    JOIN rounds AS other
        ON own.config = other.config AND own.round_id = other.round_id AND coalesce(own.class_id = other.class_id, true)
),
run_pairs AS (
    SELECT
        run.run_id, run.config, other.run_id AS other_run_id, other.began_at AS other_began_at,
        coalesce(run.git_commit = other.git_commit AND NOT run.git_dirty AND NOT other.git_dirty, false) AS same_commit,
        coalesce(
            (
                json_extract_string(run.tags, '$.fleet') = json_extract_string(other.tags, '$.fleet')
                OR json_extract_string(run.tags, '$.calls') = json_extract_string(other.tags, '$.calls')
            )
            AND run.git_commit IS NOT DISTINCT FROM other.git_commit,
            false
        ) AS same_plan,
        recorded.run_id IS NOT NULL AS same_recording, nights.run_id IS NOT NULL AS same_round
    FROM known_runs AS run
    JOIN known_runs AS other ON run.config = other.config AND run.run_id <> other.run_id
    LEFT JOIN recorded ON run.run_id = recorded.run_id AND other.run_id = recorded.other_run_id
    LEFT JOIN nights ON run.run_id = nights.run_id AND other.run_id = nights.other_run_id
)

SELECT run_id, config, other_run_id, other_began_at, same_commit, same_plan, same_recording, same_round
FROM run_pairs
WHERE same_commit OR same_plan OR same_recording OR same_round
