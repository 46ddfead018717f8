-- One row per run × case × metric × phase × unit: the cell of a series, and the place of its run among all of the config.
-- A model that failed has the axes of the case that it is (see _same_cases).
--
-- config          VARCHAR    Config.
-- axes: case, value
-- place           BIGINT     Place of the run among those of the config, from 1, the oldest.
-- run_id          VARCHAR    Run.
-- began_at        TIMESTAMP  When that run began; for an import that does not say, when it was loaded. UTC.
-- git_commit      VARCHAR    Commit it measured.
-- host            VARCHAR    Machine it ran on.
-- environment_id  VARCHAR    Environment it ran in.
-- n               BIGINT     Samples of that run.
-- value           DOUBLE     Their median.
-- low             DOUBLE     Lower end of its distribution-free 95 % interval within the run; NULL for fewer than 6
--                            samples.
-- high            DOUBLE     Upper end.
WITH
known_cells AS (
    SELECT
        cell.* REPLACE (
            coalesce(axes.case_id, cell.case_id) AS case_id, coalesce(axes.work_hash, cell.work_hash) AS work_hash,
            coalesce(axes.batch_size, cell.batch_size) AS batch_size
        )
    FROM _all_cells AS cell
    LEFT JOIN _same_cases AS same ON cell.run_id = same.run_id AND cell.case_id = same.case_id
    LEFT JOIN case_axes AS axes ON same.same_id = axes.case_id
)

SELECT
    cell.config, case_id, work_hash, {axes}, metric, phase, unit, better,
    place, cell.run_id, began_at, git_commit, host, environment_id, n, median AS value, median_low AS low, median_high AS high
FROM known_cells AS cell
JOIN (
    SELECT *, row_number() OVER (PARTITION BY config ORDER BY began_at NULLS FIRST, run_id) AS place
    FROM _run_times
) AS run ON cell.run_id = run.run_id
