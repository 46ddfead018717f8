-- One row per config × suite × mode × dtype × device × backend: its newest report beside the one before that ran the same.
-- A report is a run, or all parts of one night: runs of a fleet, of `--partition`, and what `--resume` added to them.
-- Each side is summed up over its own passing cases, as reports are; the matched geometric means over the cases that pass
-- in both, so that they differ by speed alone. Slowdowns count as 1, as on PyTorch's dashboard, with `slowdowns_as_one`. Where there is but one
-- run, the columns of the run before are NULL.
--
-- arguments: slowdowns_as_one := false
--
-- config                  VARCHAR    Config.
-- axes: panel
-- run_id                  VARCHAR    Newest report, by its last run.
-- run_id_before           VARCHAR    The report before.
-- began_at                TIMESTAMP  When the newest began; for an import that does not say, when it was loaded. UTC.
-- began_at_before         TIMESTAMP  When the one before did.
-- speedup                 DOUBLE     Geometric mean of the speedups; NULL where there is nothing to compare with.
-- speedup_before          DOUBLE     The same of the run before.
-- n                       BIGINT     Cases it covers.
-- n_before                BIGINT     Cases the other covers.
-- matched_speedup         DOUBLE     Geometric mean over the cases that pass in both.
-- matched_speedup_before  DOUBLE     The same of the run before.
-- n_matched               BIGINT     Cases both cover.
-- excluded                VARCHAR[]  Cases of either that both leave out, as 'name: reason', in order.
-- passing                 BIGINT     Cases that pass.
-- passing_before          BIGINT     The same of the run before.
-- total                   BIGINT     Cases judged for performance.
-- total_before            BIGINT     The same of the run before.
-- rate                    VARCHAR    Both as text, such as "82%, 50/61".
-- rate_before             VARCHAR    The same of the run before.
-- mean_seconds            DOUBLE     Mean compile latency of the passing cases.
-- mean_seconds_before     DOUBLE     The same of the run before.
-- mean_ratio              DOUBLE     Mean of baseline peak memory / case peak memory of the passing cases.
-- mean_ratio_before       DOUBLE     The same of the run before.
WITH
newest_reports AS (
    SELECT *
    FROM _reports
    WHERE age = 1
    QUALIFY 1 = row_number() OVER (
        PARTITION BY config, panel
        ORDER BY selection IS NOT NULL, began_at DESC NULLS LAST, run_id DESC
    )
),
report_pairs AS (
    SELECT panel, run_id, unnest([run_id, previous_run]) AS report_id
    FROM newest_reports
    WHERE previous_run IS NOT NULL
),
paired_runs AS (SELECT run_id FROM _report_runs WHERE report_id IN (SELECT report_id FROM report_pairs)),
paired_cases AS (
    SELECT
        pair.run_id, pair.panel, case_id, name, reason, pair.report_id = pair.run_id AS is_now,
        ln(CASE WHEN passing AND speedup > 0 THEN CASE WHEN slowdowns_as_one THEN greatest(speedup, 1) ELSE speedup END END)
            AS log_speedup
    FROM report_pairs AS pair
    JOIN _report_cases AS own ON pair.report_id = own.report_id AND pair.panel = own.panel
    WHERE own.run_id IN (SELECT run_id FROM paired_runs) AND origin IS NOT NULL AND status <> 'skipped'
),
matched_cases AS (
    SELECT
        run_id, panel, case_id, any_value(name) AS name, max(log_speedup) FILTER (is_now) AS log_now,
        max(log_speedup) FILTER (NOT is_now) AS log_before,
        CASE
            WHEN log_now IS NULL THEN coalesce(max(reason) FILTER (is_now), 'absent') || ' now'
            WHEN log_before IS NULL THEN coalesce(max(reason) FILTER (NOT is_now), 'absent') || ' before'
        END AS why
    FROM paired_cases
    GROUP BY run_id, panel, case_id
),
matched_means AS (
    SELECT
        run_id, panel, count(*) FILTER (why IS NULL) AS n_matched,
        _geometric_mean(log_now, why IS NULL) AS matched_speedup,
        _geometric_mean(log_before, why IS NULL) AS matched_speedup_before,
        coalesce(list(name || ': ' || why ORDER BY name, why) FILTER (why IS NOT NULL), []) AS excluded
    FROM matched_cases
    GROUP BY run_id, panel
),
summaries AS (SELECT *, CASE WHEN slowdowns_as_one THEN dashboard_speedup ELSE speedup END AS geomean FROM _report_summaries)

SELECT
    now.config, now.suite, now.mode, now.dtype, now.device, now.backend, now.run_id, previous_run AS run_id_before,
    report.began_at, before.began_at AS began_at_before, now.geomean AS speedup, before.geomean AS speedup_before,
    now.n, before.n AS n_before, matched_means.matched_speedup,
    matched_means.matched_speedup_before, matched_means.n_matched, matched_means.excluded,
    now.passing, before.passing AS passing_before, now.total, before.total AS total_before,
    now.rate, before.rate AS rate_before,
    now.mean_compile_ns / 1e9::DOUBLE AS mean_seconds, before.mean_compile_ns / 1e9::DOUBLE AS mean_seconds_before,
    now.mean_compression AS mean_ratio, before.mean_compression AS mean_ratio_before
FROM newest_reports AS report
JOIN summaries AS now
    ON report.run_id = now.run_id AND report.panel = now.panel
LEFT JOIN summaries AS before
    ON previous_run = before.run_id AND report.panel = before.panel
LEFT JOIN matched_means
    ON report.run_id = matched_means.run_id AND report.panel = matched_means.panel
