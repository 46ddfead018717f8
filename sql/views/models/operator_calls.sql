-- One row per case × ATen operator that a step of the model calls, or that stands in its captured graphs.
-- Recorded by `bench measure models --inspect`. What eager calls and no graph has runs outside them: the optimizer's step, what
-- comes between two graphs, or another operator that the compiler put in its place.
--
-- axes: run, case without work_hash backend
-- case_id   VARCHAR  Case inspected, of backend eager.
-- name      VARCHAR  Model.
-- operator  VARCHAR  Name, with its overload: aten.addmm.default.
-- calls     BIGINT   Calls of it in one step by eager; 0 where only graphs have it.
-- captured  BIGINT   Calls of it in the graphs that torch.compile captures of a step; 0 where only eager has it, NULL where
--                    no graphs were captured.
WITH
call_counts AS (
    SELECT
        run_id, case_id, regexp_replace(metric, '^(graph_)?operator:', '') AS operator,
        sum(_fixed_point(value, 1)::HUGEINT) FILTER (starts_with(metric, 'operator:')) AS calls,
        sum(_fixed_point(value, 1)::HUGEINT) FILTER (starts_with(metric, 'graph_operator:')) AS captured
    FROM metrics
    WHERE starts_with(metric, 'operator:') OR starts_with(metric, 'graph_operator:')
    GROUP BY ALL
),
inspected_cases AS (SELECT DISTINCT run_id, case_id, true AS graphs FROM metrics WHERE metric = 'graphs')

SELECT
    call_counts.run_id, config, call_counts.case_id, suite, name, mode, device, dtype, batch_size, sequence_length,
    parameters, operator, TRY_CAST(coalesce(calls, 0) AS BIGINT) AS calls, CASE WHEN graphs THEN TRY_CAST(coalesce(captured, 0) AS BIGINT) END AS captured
FROM call_counts
JOIN case_axes ON call_counts.case_id = case_axes.case_id
LEFT JOIN _run_records AS run ON call_counts.run_id = run.run_id
LEFT JOIN inspected_cases ON call_counts.run_id = inspected_cases.run_id AND call_counts.case_id = inspected_cases.case_id
