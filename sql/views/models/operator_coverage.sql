-- One row per run × suite × mode × dtype × device × ATen operator that its models call: which do, and what compilers capture of it.
-- Of each case see operator_calls. A model counts as captured where graphs have every call that eager makes of the operator.
--
-- axes: run
-- suite     VARCHAR    Suite of the models.
-- mode      VARCHAR    inference or training.
-- dtype     VARCHAR    float32, bfloat16, amp …
-- device    VARCHAR    cpu, cuda …
-- operator  VARCHAR    Name, with its overload: aten.addmm.default.
-- calls     BIGINT     Calls of it in one step of each of its cases, together.
-- captured  BIGINT     Those that the captured graphs have; NULL where no graphs were captured.
-- n_models  BIGINT     Models that call it.
-- models    VARCHAR[]  Their names, in order.
-- n_missed  BIGINT     Of them, those of whose calls some are in no graph; NULL where no graphs were captured.
-- missed    VARCHAR[]  Their names, in order.
-- time_ns   DOUBLE     Time of its calls in one step of each of its cases, together; NULL where it was not taken.
-- share     DOUBLE     Mean share of it in the time of a step, over its cases.
SELECT
    run_id, config, suite, mode, dtype, device, operator,
    _total(one.calls) AS calls, _total(least(one.calls, one.captured)) AS captured,
    count(DISTINCT name) AS n_models, list_sort(list(DISTINCT name)) AS models,
    CASE WHEN count(one.captured) > 0 THEN count(DISTINCT name) FILTER (one.calls > one.captured) END AS n_missed,
    coalesce(list_sort(list(DISTINCT name) FILTER (one.calls > one.captured)), []) AS missed,
    sum(one.time_ns) AS time_ns, avg(one.share) AS share
FROM operator_calls AS one
WHERE one.calls > 0
GROUP BY run_id, config, suite, mode, dtype, device, operator
