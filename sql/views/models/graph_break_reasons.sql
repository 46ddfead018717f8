-- One row per run × suite × mode × dtype × device × backend × reason for which the compiler broke a graph.
-- A break is recorded as a metric of its case: 'graph_break:' and the reason, how often, and as its original_value the
-- stack it happened at.
--
-- axes: run, panel
-- backend   VARCHAR    Compiler.
-- reason    VARCHAR    Why, in the compiler's words.
-- breaks    BIGINT     Breaks for that reason.
-- n_models  BIGINT     Models that have it.
-- models    VARCHAR[]  Their names, in order.
-- stacks    VARCHAR[]  Where it happens, each place once, in order.
SELECT
    run_id, config, suite, mode, dtype, device, backend, substr(metric, length('graph_break:') + 1) AS reason,
    _total(_fixed_point(value, 1)) AS breaks, count(DISTINCT name) AS n_models, list_sort(list(DISTINCT name)) AS models,
    coalesce(list_sort(list(DISTINCT original_value) FILTER (original_value IS NOT NULL)), []) AS stacks
FROM (SELECT run_id, case_id, metric, value, original_value FROM metrics WHERE starts_with(metric, 'graph_break:'))
JOIN (
    SELECT DISTINCT run_id, case_id, metric, config, suite, name, mode, dtype, device, backend  -- of any phase
    FROM cells
    WHERE starts_with(metric, 'graph_break:')
) USING (run_id, case_id, metric)
GROUP BY ALL
