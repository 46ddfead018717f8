-- One row per case × ATen operator that a step of the model calls, or that stands in its captured graphs.
-- Recorded by `bench measure models --inspect`. What eager calls and no graph has runs outside them: the optimizer's step, what
-- comes between two graphs, or another operator that the compiler put in its place. What graphs cover of all of a step is in the
-- metrics captured_ops_share and captured_time_share of the case.
--
-- axes: run, case without work_hash backend
-- case_id           VARCHAR  Case inspected, of backend eager.
-- name              VARCHAR  Model.
-- operator          VARCHAR  Name, with its overload: aten.addmm.default.
-- calls             BIGINT   Calls of it in one step by eager; 0 where only graphs have it.
-- captured          BIGINT   Calls of it in the graphs that torch.compile captures of a step; 0 where only eager has it, NULL
--                            where no graphs were captured.
-- time_ns           DOUBLE   Time of its calls in one step by eager, without Python around them; NULL where it was not taken.
-- share             DOUBLE   That time as a share of all operators of the step.
-- captured_time_ns  DOUBLE   Time of the calls that graphs make, run operator by operator; NULL where there are none.
WITH
call_counts AS (
    SELECT
        run_id, case_id, regexp_replace(metric, '^(graph_)?operator(_time)?:', '') AS operator,
        sum(_fixed_point(value, 1)::HUGEINT) FILTER (starts_with(metric, 'operator:')) AS calls,
        sum(_fixed_point(value, 1)::HUGEINT) FILTER (starts_with(metric, 'graph_operator:')) AS captured,
        max(value) FILTER (starts_with(metric, 'operator_time:')) AS time_ns,
        max(value) FILTER (starts_with(metric, 'graph_operator_time:')) AS captured_time_ns
    FROM metrics
    WHERE starts_with(metric, 'operator:') OR starts_with(metric, 'graph_operator:')
        OR starts_with(metric, 'operator_time:') OR starts_with(metric, 'graph_operator_time:')
    GROUP BY ALL
),
step_times AS (SELECT run_id, case_id, sum(time_ns) AS step_ns FROM call_counts GROUP BY run_id, case_id),
inspected_cases AS (SELECT DISTINCT run_id, case_id, true AS graphs FROM metrics WHERE metric = 'graphs')

SELECT
    call_counts.run_id, config, call_counts.case_id, {axes without backend}, operator, TRY_CAST(coalesce(calls, 0) AS BIGINT) AS calls, CASE WHEN graphs THEN TRY_CAST(coalesce(captured, 0) AS BIGINT) END AS captured,
    time_ns, time_ns / nullif(step_ns, 0) AS share, captured_time_ns
FROM call_counts
JOIN case_axes ON call_counts.case_id = case_axes.case_id
JOIN step_times ON call_counts.run_id = step_times.run_id AND call_counts.case_id = step_times.case_id
LEFT JOIN _run_records AS run ON call_counts.run_id = run.run_id
LEFT JOIN inspected_cases ON call_counts.run_id = inspected_cases.run_id AND call_counts.case_id = inspected_cases.case_id
