-- One row per run: what was recorded of it; of several records the one that began first.
--
-- axes: run
-- config          VARCHAR    Config it belongs to.
-- started_at      TIMESTAMP  When it began; NULL for an import that does not say. UTC.
-- command         VARCHAR    Command line that produced it.
-- git_commit      VARCHAR    Commit of the measured code.
-- git_branch      VARCHAR    Branch of the measured code.
-- git_dirty       BOOLEAN    Whether the working tree differed from that commit.
-- host            VARCHAR    Machine that measured.
-- environment_id  VARCHAR    Environment it ran in.
-- tags            JSON       Labels given by the user, as a JSON object.
-- bench_version   VARCHAR    Version of bench that recorded it.
SELECT DISTINCT ON (run_id)
    run_id, config, started_at, command, git_commit, git_branch, git_dirty, host, environment_id, tags, bench_version
FROM runs
ORDER BY run_id, started_at, config
