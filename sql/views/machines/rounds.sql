-- One row per round: what one night measured of a config on one class of machine, be it one file or one for each shard.
-- Runs of one known, clean commit are of one round if each began within 12 hours of the one before; else those that began within 30
-- minutes, as docs/regressions.md says. The newest round is judged against the rounds before.
--
-- config      VARCHAR    Config.
-- round_id    VARCHAR    Round: the id of the first run of its night; rounds of one night on several classes share it.
-- machine     VARCHAR    Class of machine (see `machines`); NULL unknown.
-- class_id    VARCHAR    Id of the class; NULL unknown.
-- began_at    TIMESTAMP  When its first run began; for an import that does not say, when its first step was taken, else when it was loaded. UTC.
-- git_commit  VARCHAR    Commit it measured; NULL where no run says, or several do.
-- run_ids     VARCHAR[]  Its runs, oldest first.
-- runs        BIGINT     How many they are.
-- files       BIGINT     Files they were imported from.
-- cases       BIGINT     Cases that were announced.
-- failed      BIGINT     Cases that failed, counted in each run.
WITH
measured_cases AS (
    SELECT round.config, round_id, coalesce(class_id, round.machine_id) AS machine_key, count(DISTINCT case_id) AS cases
    FROM _rounds AS round
    LEFT JOIN _machine_classes AS class ON machine_id = facts_id
    JOIN case_outcomes AS measured ON round.run_id = measured.run_id
    GROUP BY round.config, round_id, machine_key
)

SELECT
    own.config, own.round_id, machine, class_id, began_at, git_commit, run_ids, runs, files, coalesce(cases, 0) AS cases, failed
FROM _round_runs AS own
LEFT JOIN measured_cases AS measured
    ON own.config = measured.config AND own.round_id = measured.round_id
    AND own.machine_key IS NOT DISTINCT FROM measured.machine_key
