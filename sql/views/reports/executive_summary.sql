-- One row per report × suite × mode × dtype × device × backend: what `bench report` says first.
-- A report is a run, or all parts of one night: runs of a fleet, of `--partition`, and what `--resume` added to them. Means are
-- taken over the cases that pass on the backend. The limits are those of `flags`.
--
-- arguments: min_speedup := {min_speedup}, max_compile_seconds := {max_compile_seconds}, min_compression := {min_compression}
--
-- axes: run
-- run_id             VARCHAR    Report, by its last run.
-- began_at           TIMESTAMP  When it began; for an import that does not say, when its first step was taken, else when it was loaded. UTC.
-- git_commit         VARCHAR    Commit it measured.
-- axes: panel
-- speedup            DOUBLE     Geometric mean of the speedups; NULL where there is nothing to compare with.
-- low                DOUBLE     Lower end of its 95 % interval, from the intervals of its cases; NULL where a case has none.
-- high               DOUBLE     Upper end.
-- n                  BIGINT     Cases it covers.
-- dashboard_speedup  DOUBLE     The same with slowdowns as 1, as PyTorch's dashboard counts.
-- matched_speedup    DOUBLE     Geometric mean over work that passes on every backend, so that backends compare.
-- n_matched          BIGINT     Cases that covers.
-- n_elsewhere        BIGINT     Cases that pass on every other backend on which anything does; NULL where there is no other.
-- passing            BIGINT     Cases that pass.
-- total              BIGINT     Cases judged for performance.
-- rate               VARCHAR    Both as text, such as "82%, 50/61"; NULL where there are none.
-- skipped            BIGINT     Cases skipped, which are in none of these numbers.
-- mean_seconds       DOUBLE     Mean compile latency.
-- mean_ratio         DOUBLE     Mean of baseline peak memory / case peak memory; above 1 needs less.
-- flagged            BIGINT     Cases flagged.
-- n_total            BIGINT     Cases with something to compare with, or whose speedup an import reports.
-- excluded           VARCHAR[]  Those that the geometric mean does not cover, as 'name: reason', in order.
WITH
parts AS (
    SELECT run.run_id, coalesce(report_id, run.run_id) AS report_id
    FROM _run_times AS run
    LEFT JOIN _report_runs AS part ON run.run_id = part.run_id
),
flagged AS (
    SELECT report_id AS run_id, panel, count(DISTINCT flag.case_id) AS cases
    FROM parts
    JOIN _flagged_numbers(min_speedup, max_compile_seconds, min_compression) AS flag ON parts.run_id = flag.run_id
    ANTI JOIN _superseded_cases AS again ON flag.run_id = again.run_id AND flag.case_id = again.case_id
    GROUP BY report_id, panel
)

SELECT
    report.run_id, config, began_at, git_commit, suite, mode, dtype, device, backend, speedup, speedup * exp(-width) AS low,
    speedup * exp(width) AS high, n, dashboard_speedup, matched_speedup, n_matched, n_elsewhere, passing, total, rate, skipped,
    mean_compile_ns / 1e9::DOUBLE AS mean_seconds, mean_compression AS mean_ratio, coalesce(flagged.cases, 0) AS flagged,
    n_compared AS n_total, excluded
FROM _report_summaries AS report
LEFT JOIN flagged ON report.run_id = flagged.run_id AND report.panel = flagged.panel
