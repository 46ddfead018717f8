-- One row per report, of the last k that judged any case of their config × suite × mode × dtype × device × backend.
-- A report is a run, or all parts of one night (see _report_runs); runs made to confirm another do not count, nor those of `--only`
-- where there are others. One that did not judge what another of these did has a row all the same: there is a gap, and `ran` is false. The
-- geometric mean is taken over the cases that pass, which may be others in another run: see summary_diff for the same
-- cases of two.
--
-- arguments: k := 10
--
-- config             VARCHAR    Config.
-- axes: panel
-- position           BIGINT     Place of the report among these of its config, from 1, the oldest.
-- run_id             VARCHAR    Report, by its last run.
-- began_at           TIMESTAMP  When it began; for an import that does not say, when its first step was taken, else when it was loaded. UTC.
-- git_commit         VARCHAR    Commit it measured.
-- ran                BOOLEAN    Whether it judged any case.
-- speedup            DOUBLE     Geometric mean of the speedups; NULL where there is nothing to compare with.
-- low                DOUBLE     Lower end of its 95 % interval, from the intervals of its cases; NULL where a case has none.
-- high               DOUBLE     Upper end.
-- dashboard_speedup  DOUBLE     The same with slowdowns as 1, as PyTorch's dashboard counts.
-- n                  BIGINT     Cases it covers.
-- passing            BIGINT     Cases that pass.
-- total              BIGINT     Cases judged for performance.
-- mean_seconds       DOUBLE     Mean compile latency of the passing cases.
-- mean_ratio         DOUBLE     Mean of baseline peak memory / case peak memory of the passing cases.
WITH
panel_summaries AS (
    SELECT *
    FROM _report_summaries
    WHERE total > 0 AND is_typical
),
last_runs AS (
    SELECT
        run_id, config, began_at, git_commit,
        row_number() OVER (PARTITION BY config ORDER BY began_at DESC NULLS LAST, run_id DESC) AS age
    FROM (SELECT DISTINCT run_id, config, began_at, git_commit FROM panel_summaries)
    QUALIFY age <= k
),
panels AS (
    SELECT DISTINCT config, suite, mode, dtype, device, backend, panel
    FROM panel_summaries
    WHERE run_id IN (SELECT run_id FROM last_runs)
)

SELECT
    panel.config, panel.suite, panel.mode, panel.dtype, panel.device, panel.backend,
    max(age) OVER (PARTITION BY panel.config) - age + 1 AS position,
    run.run_id, run.began_at, run.git_commit, panel_summaries.run_id IS NOT NULL AS ran, speedup,
    speedup * exp(-width) AS low, speedup * exp(width) AS high, dashboard_speedup, n, passing, total, mean_compile_ns / 1e9::DOUBLE AS mean_seconds,
    mean_compression AS mean_ratio
FROM panels AS panel
JOIN last_runs AS run ON panel.config = run.config
LEFT JOIN panel_summaries
    ON run.run_id = panel_summaries.run_id AND panel.panel = panel_summaries.panel
