-- One row per run × kind × operator or kernel of traces: those of torch.profiler, others in Chrome's format, and of Nsight Systems.
-- A name is without the hash and number of generated code; shapes, grids and blocks do not tell rows apart. Of a GPU the rows add
-- up to the time from its first kernel to the end of its last: where several run at once, the time counts for the one that began
-- first, and `idle` is when none runs. On the host a row has the time of its calls without that of the calls within them.
--
-- arguments: runs
--
-- run_id    VARCHAR  Run of the trace.
-- kind      VARCHAR  kernel, gpu_memcpy, gpu_memset, graph_trace, idle of a GPU; else the category of a host's span: cpu_op, cuda_runtime.
-- name      VARCHAR  Operator, kernel or call.
-- device    BOOLEAN  Whether it is time of a GPU.
-- calls     BIGINT   How many there are; of idle the gaps.
-- own_ns    BIGINT   Its part of the time, as above.
-- total_ns  BIGINT   Durations of all of them, with what they call or overlap.
-- launches  BIGINT   Kinds of grid and block, or of shapes of inputs, that it has.
WITH
spans AS (FROM _trace_spans(runs)),
kinds AS (SELECT DISTINCT run_id, kind, name, device, case_id, lane FROM spans),
known AS (SELECT run_id, count_if(kind IN ('cpu_op', 'cuda_runtime', 'cuda_driver')) > 0 AS torch FROM kinds GROUP BY run_id),
kept AS (  -- of what torch and CUDA do on the host, where it is known: Python and annotations lie around it
    SELECT
        kinds.*, row_number() OVER () AS key,  -- whole numbers are joined and sorted in a fraction of the time of texts
        dense_rank() OVER (ORDER BY kinds.run_id, lane) AS place
    FROM kinds
    JOIN known ON kinds.run_id = known.run_id
    WHERE (device OR NOT torch OR kind IN ('cpu_op', 'cuda_runtime', 'cuda_driver')) AND kind NOT IN ('gpu_user_annotation', 'Trace')
),
placed AS (
    SELECT key, kept.device, place, ns, start, row_number() OVER (ORDER BY place, start, ns DESC, line) AS number
    FROM spans
    JOIN kept ON spans.run_id = kept.run_id AND spans.case_id = kept.case_id AND spans.lane = kept.lane
    WHERE start BETWEEN -(2::BIGINT ** 61) AND 2::BIGINT ** 61
),
swept AS (
    SELECT *, max(start + ns) OVER (PARTITION BY place ORDER BY number ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
    FROM placed
    WHERE device
),
ends AS (
    SELECT place, number, start AS moment, ns, 1 AS step FROM placed WHERE NOT device AND ns > 0
    UNION ALL
    SELECT place, number, start + ns, ns, -1 FROM placed WHERE NOT device AND ns > 0
),
deep AS (
    SELECT *, sum(step) OVER (PARTITION BY place ORDER BY moment, step, number ROWS UNBOUNDED PRECEDING)::INTEGER AS depth
    FROM ends
),
levels AS (  -- every span once as a caller, and once as a call of the level above
    SELECT depth AS level, number, number AS caller, 0 AS within FROM deep WHERE step = 1
    UNION ALL
    SELECT depth - 1, number, NULL, ns FROM deep WHERE step = 1 AND depth > 1
),
called AS (  -- the caller of a span is the last of the level above: an earlier one of its thread, as numbers follow threads
    SELECT within, last_value(caller IGNORE NULLS) OVER (PARTITION BY level ORDER BY number ROWS UNBOUNDED PRECEDING) AS caller
    FROM levels
),
callers AS (SELECT caller, sum(within) AS within FROM called GROUP BY caller),
owned AS (
    SELECT key, false AS idle, ns, greatest(start + ns - greatest(start, coalesce(reached, start)), 0) AS own FROM swept
    UNION ALL
    SELECT key, true, start - reached, start - reached FROM swept WHERE start > reached
    UNION ALL
    SELECT key, false, ns, greatest(ns - coalesce(within, 0), 0)
    FROM placed
    LEFT JOIN callers ON placed.number = callers.caller
    WHERE NOT device
),
sums AS (SELECT key, idle, count(*) AS calls, sum(own) AS own, sum(ns) AS total FROM owned GROUP BY key, idle)

SELECT
    run_id, CASE WHEN idle THEN 'idle' ELSE kind END AS kind, CASE WHEN idle THEN 'no kernel ran' ELSE name END AS name, device,
    sum(calls)::BIGINT AS calls, TRY_CAST(sum(own) AS BIGINT) AS own_ns, TRY_CAST(sum(total) AS BIGINT) AS total_ns,
    count(DISTINCT CASE WHEN NOT idle THEN case_id END) AS launches
FROM sums
JOIN kept ON sums.key = kept.key
GROUP BY ALL
