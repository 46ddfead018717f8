-- One row per run × mode × dtype × device × ATen operator that its models call: which do, and what compilers capture of it.
-- Of each case see operator_calls. A model counts as captured where graphs have every call that eager makes of the operator.
--
-- run_id       Run.
-- config       Config of that run.
-- mode         inference or training.
-- dtype        float32, bfloat16, amp …
-- device       cpu, cuda …
-- operator     Name, with its overload: aten.addmm.default.
-- calls        Calls of it in one step of each of its cases, together.
-- captured     Those that the captured graphs have; NULL where no graphs were captured.
-- n_models     Models that call it.
-- models       Their names, in order.
-- n_missed     Of them, those of whose calls some are in no graph; NULL where no graphs were captured.
-- missed       Their names, in order.
SELECT
    run_id, config, mode, dtype, device, operator,
    sum(one.calls)::BIGINT AS calls, sum(least(one.calls, one.captured))::BIGINT AS captured,
    count(DISTINCT name) AS n_models, list_sort(list(DISTINCT name)) AS models,
    CASE WHEN count(one.captured) > 0 THEN count(DISTINCT name) FILTER (one.calls > one.captured) END AS n_missed,
    coalesce(list_sort(list(DISTINCT name) FILTER (one.calls > one.captured)), []) AS missed
FROM operator_calls AS one
WHERE one.calls > 0
GROUP BY run_id, config, mode, dtype, device, operator
