-- One row per run and another run of its config that measured the same code: its repeats, and the rest of its fleet.
--
-- axes: run
-- other_run_id    VARCHAR    The other run.
-- other_began_at  TIMESTAMP  When that began; for an import that does not say, when it was loaded. UTC.
-- same_commit     BOOLEAN    Whether both measured the same known and clean commit.
-- same_plan       BOOLEAN    Whether both took from one plan (`bench measure models --fleet`), or are calls of one measurement (`bench
--                            measure command --results`).
WITH
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
        ) AS same_plan
    FROM run_details AS run
    JOIN run_details AS other ON run.config = other.config AND run.run_id <> other.run_id
)

SELECT run_id, config, other_run_id, other_began_at, same_commit, same_plan
FROM run_pairs
WHERE same_commit OR same_plan
