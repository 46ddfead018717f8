-- One row per cell, with the place its run has in time: what a case's metric was in every run of its config.
-- The value of a run is the median of its samples. A model that failed is the same case even where its batch size is unknown then
-- (see _same_cases). Warm-up and cold samples are phases of their own, hence other series.
--
-- config          VARCHAR    Config; together with case_id, metric, phase and unit it names the series.
-- axes: case, value
-- position        BIGINT     Place of the run in its series, from 1, the oldest.
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
spans AS (
    SELECT
        config, _series_key(case_id, metric, phase, unit) AS series_id, min(place) AS first_place,
        max(place) - min(place) + 1 > count(*) AS has_gaps
    FROM _placed_cells
    GROUP BY config, series_id
)

SELECT
    cell.config, case_id, work_hash, {axes}, metric, phase,
    unit, better, place - first_place + 1 AS position, run_id, began_at, git_commit, host, environment_id, n, value, low, high
FROM _placed_cells AS cell
JOIN spans
    ON cell.config = spans.config AND _series_key(cell.case_id, cell.metric, cell.phase, cell.unit) = spans.series_id
WHERE NOT has_gaps
UNION ALL
SELECT  -- where runs lack the metric the others are counted
    cell.config, case_id, work_hash, {axes}, metric, phase,
    unit, better, row_number() OVER (PARTITION BY cell.config, spans.series_id ORDER BY place), run_id, began_at, git_commit, host,
    environment_id, n, value, low, high
FROM _placed_cells AS cell
JOIN spans
    ON cell.config = spans.config AND _series_key(cell.case_id, cell.metric, cell.phase, cell.unit) = spans.series_id
WHERE has_gaps
