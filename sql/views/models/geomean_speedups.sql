-- One row per run × suite × mode × dtype × device × backend: the geometric mean of its speedups, and what it covers.
-- It is taken over the cases that pass on that backend, as PyTorch's dashboard does. With `matched` only over work that
-- passes on every backend of that run, suite, mode, dtype and device, so that backends compare; a backend on which nothing
-- passes is no hindrance to the others. The dashboard counts slowdowns as 1: that mean stands beside.
--
-- arguments: matched := false
--
-- axes: run, panel
-- speedup            DOUBLE     Geometric mean; NULL where nothing is left to take it over.
-- low                DOUBLE     Lower end of its 95 % interval, from the intervals of its cases: how well this run measured
--                               them, not how other models would fare. NULL where a case has none.
-- high               DOUBLE     Upper end.
-- dashboard_speedup  DOUBLE     The same with slowdowns as 1.
-- n                  BIGINT     Cases it covers.
-- n_here             BIGINT     Cases that pass on this backend.
-- n_elsewhere        BIGINT     Cases that pass on every other backend on which anything does; NULL where there is no other.
-- n_total            BIGINT     Cases judged for performance.
-- excluded           VARCHAR[]  Those that the mean does not cover, as 'name: reason', in order.
SELECT
    run_id, config, suite, mode, dtype, device, backend, geomean AS speedup, geomean * exp(-half_width) AS low,
    geomean * exp(half_width) AS high,
    CASE WHEN matched THEN matched_dashboard_speedup ELSE dashboard_speedup END AS dashboard_speedup,
    CASE WHEN matched THEN n_matched ELSE n END AS n, n AS n_here, n_elsewhere, n_compared AS n_total,
    CASE WHEN matched THEN matched_excluded ELSE excluded END AS excluded
FROM (
    SELECT
        *, CASE WHEN matched THEN matched_width ELSE width END AS half_width,
        CASE WHEN matched THEN matched_speedup ELSE speedup END AS geomean
    FROM _summaries
)
WHERE n_compared > 0
