-- One row per round and class of machine, as in `rounds`, but for its cases: to count them takes longer than all else.
--
-- config       VARCHAR    Config.
-- round_id     VARCHAR    Round: the id of the first run of its night.
-- machine_key  VARCHAR    What its class of machine is told by.
-- machine      VARCHAR    Class of machine (see `machines`); NULL unknown.
-- class_id     VARCHAR    Id of the class; NULL unknown.
-- began_at     TIMESTAMP  When its first run began. UTC.
-- git_commit   VARCHAR    Commit it measured; NULL where no run says, or several do.
-- run_ids      VARCHAR[]  Its runs, oldest first.
-- runs         BIGINT     How many they are.
-- files        BIGINT     Files they were imported from.
-- failed       BIGINT     Cases that failed, counted in each run.
WITH
parts AS (
    SELECT
        round.*, coalesce(class_id, machine_id) AS machine_key, class.machine, class_id, summary.git_commit, files, failed
    FROM _rounds AS round
    JOIN run_summaries AS summary ON round.run_id = summary.run_id
    LEFT JOIN _machine_classes AS class ON machine_id = facts_id
)

SELECT
    config, round_id, machine_key, min(machine) AS machine, min(class_id) AS class_id, min(began_at) AS began_at,
    CASE WHEN min(git_commit) = max(git_commit) THEN min(git_commit) END AS git_commit,
    list(run_id ORDER BY began_at NULLS FIRST, run_id) AS run_ids, count(*) AS runs, _total(files) AS files, _total(failed) AS failed
FROM parts
GROUP BY config, round_id, machine_key
