-- One row per run × suite × mode × dtype × device × backend: what a report says first.
-- Means are taken over the cases that pass on the backend (see geomean_speedups for what they leave out). The limits are
-- those of `flags`.
--
-- arguments: min_speedup := 0.95, max_compile_seconds := 120, min_compression := 0.9
--
-- axes: run
-- began_at           TIMESTAMP  When the run began; for an import that does not say, when it was loaded. UTC.
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
WITH
flagged AS (
    SELECT run_id, suite, mode, dtype, device, backend, count(DISTINCT case_id) AS cases
    FROM flags(min_speedup := min_speedup, max_compile_seconds := max_compile_seconds, min_compression := min_compression)
    GROUP BY ALL
)

SELECT
    summary.run_id, summary.config, began_at, git_commit, summary.suite, summary.mode, summary.dtype, summary.device,
    summary.backend, raw_speedup AS speedup, raw_speedup * exp(-width) AS low, raw_speedup * exp(width) AS high, n_here AS n,
    speedup AS dashboard_speedup, matched_raw_speedup AS matched_speedup, n_matched, n_elsewhere, passing, total, rate, skipped, mean_compile_ns / 1e9::DOUBLE AS mean_seconds,
    mean_compression AS mean_ratio, coalesce(flagged.cases, 0) AS flagged
FROM _summaries AS summary
JOIN _run_times AS run ON summary.run_id = run.run_id
LEFT JOIN flagged
    ON summary.run_id = flagged.run_id
    AND summary.suite IS NOT DISTINCT FROM flagged.suite AND summary.mode IS NOT DISTINCT FROM flagged.mode
    AND summary.dtype IS NOT DISTINCT FROM flagged.dtype AND summary.device IS NOT DISTINCT FROM flagged.device
    AND summary.backend IS NOT DISTINCT FROM flagged.backend
