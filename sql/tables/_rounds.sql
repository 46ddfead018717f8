-- One row per run: the round that it is of. A night is a round, whether its job writes one file or one for each shard.
-- Runs of a config that measured one known, clean commit are of one round if each began within 12 hours of the one before. Where no
-- commit is known, files of other tools that say when they began are of one round within 30 minutes, and join the round of the
-- commit that was measured meanwhile. Of all other runs only those are that began within 30 minutes and have no case twice: a
-- case that is measured again begins a new round, and a run without cases is one of its own. A run that confirms another is of its
-- round. Calls of one measurement (`bench measure command --results`) are of one round as runs of one commit are.
--
-- config      VARCHAR    Config of the run.
-- run_id      VARCHAR    Run.
-- round_id    VARCHAR    Round: the id of its first run.
-- machine_id  VARCHAR    What the class of the run's machine is told by.
-- began_at    TIMESTAMP  When the run began; for an import that does not say, when its first step was taken, else when it was loaded. UTC.
WITH
own_runs AS (
    SELECT
        time.run_id, time.config, began_at, machine_id, json_extract_string(tags, '$.confirms') AS confirms,
        source NOT IN ('measure', 'api') AND started_at IS NOT NULL AS is_dated,
        coalesce(
            CASE WHEN NOT coalesce(git_dirty, source IN ('measure', 'api')) THEN time.git_commit END,
            'calls ' || json_extract_string(tags, '$.calls')
        ) AS commit
    FROM _run_times AS time
    JOIN _run_records AS record ON time.run_id = record.run_id
    JOIN (SELECT run_id, min(source) AS source FROM runs GROUP BY run_id) AS named ON time.run_id = named.run_id
    WHERE time.config IN (SELECT config FROM _touched)
),
gaps AS (
    SELECT
        *, coalesce(_difference(epoch_us(began_at), epoch_us(lag(began_at) OVER alike))
            > CASE WHEN commit IS NULL THEN 1800000000 ELSE 43200000000 END, true) AS is_apart
    FROM own_runs
    WINDOW alike AS (PARTITION BY config, commit, is_dated AND commit IS NULL ORDER BY began_at NULLS FIRST, run_id)
),
stretches AS (
    SELECT *, sum(CASE WHEN is_apart THEN 1 ELSE 0 END) OVER alike AS stretch
    FROM gaps
    WINDOW alike AS (PARTITION BY config, commit, is_dated AND commit IS NULL ORDER BY began_at NULLS FIRST, run_id)
),
shared_stretches AS (
    SELECT *, min(epoch_us(began_at)) OVER alike AS stretch_us, count(*) OVER alike AS stretch_runs
    FROM stretches
    WINDOW alike AS (PARTITION BY config, commit, is_dated AND commit IS NULL, stretch)
),
repeats AS (  -- how often a case of the run was measured before in its stretch
    SELECT run_id, max(turn) AS turn
    FROM (
        SELECT
            own.run_id,
            row_number() OVER (PARTITION BY own.config, stretch, case_id ORDER BY began_at NULLS FIRST, own.run_id) AS turn
        FROM shared_stretches AS own
        JOIN (SELECT DISTINCT run_id, case_id FROM cases) AS measured ON own.run_id = measured.run_id
        WHERE commit IS NULL AND NOT is_dated AND stretch_runs > 1
    )
    GROUP BY run_id
),
turns AS (
    SELECT
        own.*, CASE WHEN commit IS NULL AND NOT is_dated AND turn IS NULL THEN own.run_id END AS lone_run, CASE
            WHEN commit IS NOT NULL THEN 0
            WHEN is_dated THEN ((epoch_us(began_at)::HUGEINT - stretch_us) // 1800000001)::BIGINT
            ELSE max(coalesce(turn, 1)) OVER (
                PARTITION BY config, commit, is_dated, stretch ORDER BY began_at NULLS FIRST, own.run_id
            )
        END AS turn
    FROM shared_stretches AS own
    LEFT JOIN repeats ON own.run_id = repeats.run_id
),
first_runs AS (
    SELECT
        *, first_value(run_id) OVER (
            PARTITION BY config, commit, is_dated AND commit IS NULL, stretch, turn, lone_run ORDER BY began_at NULLS FIRST, run_id
        ) AS first_run
    FROM turns
),
commit_rounds AS (
    SELECT
        config, first_run, epoch_us(min(began_at))::HUGEINT - 1800000000 AS first_us,
        epoch_us(max(began_at))::HUGEINT + 1800000000 AS last_us
    FROM first_runs
    WHERE commit IS NOT NULL
    GROUP BY config, first_run
),
joined AS (
    SELECT own.run_id, min(round.first_run) AS first_run
    FROM first_runs AS own
    JOIN commit_rounds AS round ON own.config = round.config AND epoch_us(own.began_at) BETWEEN first_us AND last_us
    WHERE own.commit IS NULL AND own.is_dated
    GROUP BY own.run_id
    HAVING count(*) = 1
),
rounds AS (
    SELECT own.*, coalesce(joined.first_run, own.first_run) AS round_id
    FROM first_runs AS own
    LEFT JOIN joined ON own.run_id = joined.run_id
)

SELECT own.config, own.run_id, coalesce(confirmed.round_id, own.round_id) AS round_id, own.machine_id, own.began_at
FROM rounds AS own
LEFT JOIN rounds AS confirmed ON own.confirms = confirmed.run_id AND own.config = confirmed.config
