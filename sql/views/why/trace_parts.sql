-- One row per run × kind × operator or kernel of traces: those of torch.profiler, others in Chrome's format, and of Nsight Systems.
-- A name is without the hash and number of generated code; shapes, grids and blocks do not tell rows apart. Of a GPU the rows add
-- up to the time from its first kernel to the end of its last: where several run at once, the time counts for the one that began
-- first, and `idle` is when none runs. On the host a row has the time of its calls without that of the calls within them.
--
-- arguments: runs
--
-- run_id    VARCHAR  Run of the trace.
-- kind      VARCHAR  kernel, gpu_memcpy, gpu_memset, idle of a GPU; else the category of a span on the host: cpu_op, cuda_runtime.
-- name      VARCHAR  Operator, kernel or call.
-- device    BOOLEAN  Whether it is time of a GPU.
-- calls     BIGINT   How many there are; of idle the gaps.
-- own_ns    BIGINT   Its part of the time, as above.
-- total_ns  BIGINT   Durations of all of them, with what they call or overlap.
-- launches  BIGINT   Kinds of grid and block, or of shapes of inputs, that it has.
WITH
spans AS (FROM _trace_spans(runs)),
lanes AS (  -- whole numbers are sorted in a fraction of the time of texts
    SELECT run_id, lane, row_number() OVER () AS number FROM (SELECT DISTINCT run_id, lane FROM spans)
),
known AS (SELECT run_id, count_if(kind IN ('cpu_op', 'cuda_runtime', 'cuda_driver')) > 0 AS torch FROM spans GROUP BY run_id),
placed AS (  -- of what torch and CUDA do on the host, where it is known: Python and annotations lie around it
    SELECT
        spans.* EXCLUDE (lane, line), lanes.number AS lane, row_number() OVER (ORDER BY lanes.number, start, ns DESC, line) AS number
    FROM spans
    JOIN known ON spans.run_id = known.run_id
    JOIN lanes ON spans.run_id = lanes.run_id AND spans.lane = lanes.lane
    WHERE start IS NOT NULL AND start BETWEEN -(2::BIGINT ** 61) AND 2::BIGINT ** 61
        AND (device OR NOT torch OR kind IN ('cpu_op', 'cuda_runtime', 'cuda_driver')) AND kind <> 'gpu_user_annotation'
),
swept AS (
    SELECT *, max(start + ns) OVER (PARTITION BY lane ORDER BY number ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
    FROM placed
    WHERE device
),
of_gpus AS (
    SELECT run_id, kind, name, case_id, true AS device, ns, greatest(start + ns - greatest(start, coalesce(reached, start)), 0) AS own
    FROM swept
    UNION ALL
    SELECT run_id, 'idle', 'no kernel ran', NULL, true, start - reached, start - reached
    FROM swept
    WHERE start > reached
),
ends AS (
    SELECT lane, number, start AS moment, ns, 1 AS step, start FROM placed WHERE NOT device AND ns > 0
    UNION ALL
    SELECT lane, number, start + ns, ns, -1, NULL FROM placed WHERE NOT device AND ns > 0
),
deep AS (
    SELECT *, sum(step) OVER (PARTITION BY lane ORDER BY moment, step, number ROWS UNBOUNDED PRECEDING)::INTEGER AS depth
    FROM ends
),
nested AS (SELECT lane, number, start, ns, depth FROM deep WHERE step = 1),
levels AS (  -- every span once as a caller, and once as a call of the level above
    SELECT lane, depth AS level, number, number AS caller, 0 AS within FROM nested
    UNION ALL
    SELECT lane, depth - 1, number, NULL, ns FROM nested WHERE depth > 1
),
called AS (SELECT *, count(caller) OVER (PARTITION BY lane, level ORDER BY number ROWS UNBOUNDED PRECEDING) AS call FROM levels),
callers AS (SELECT max(caller) AS number, sum(within) AS within FROM called GROUP BY lane, level, call),
of_hosts AS (
    SELECT run_id, kind, name, case_id, false AS device, ns, greatest(ns - coalesce(within, 0), 0) AS own
    FROM placed
    LEFT JOIN callers ON placed.number = callers.number
    WHERE NOT device
)

SELECT
    run_id, kind, name, device, count(*) AS calls, TRY_CAST(sum(own) AS BIGINT) AS own_ns, TRY_CAST(sum(ns) AS BIGINT) AS total_ns,
    count(DISTINCT case_id) AS launches
FROM (FROM of_gpus UNION ALL FROM of_hosts)
GROUP BY run_id, kind, name, device
