-- One row per case whose memory was traced line by line: a program, or a model that `bench measure models --trace-lines` measured.
--
-- axes: run, case without work_hash
-- case_id         VARCHAR  Case traced.
-- lines           BIGINT   Lines that ran; 0 where the trace failed.
-- hits            BIGINT   How often they did, together.
-- increase_bytes  BIGINT   Sum of what memory rose by at them, CPU and GPUs together.
-- growth_bytes    BIGINT   What they added to it.
-- reason          VARCHAR  Why there is no trace; NULL where there is one.
WITH
traces AS (
    SELECT
        run_id, case_id, count(*) AS lines, _total(hits) AS hits, _total(increase_bytes) AS increase_bytes,
        _total(growth_bytes) AS growth_bytes, NULL::VARCHAR AS reason
    FROM line_memory_sums
    GROUP BY run_id, case_id
    UNION ALL
    SELECT run_id, case_id, 0, 0, 0, 0, original_value FROM metrics WHERE metric = 'trace_lines' AND value IS NULL
)

SELECT
    traces.run_id, run.config, traces.case_id, {axes},
    lines, hits, increase_bytes, growth_bytes, reason
FROM traces
LEFT JOIN _run_records AS run ON traces.run_id = run.run_id
LEFT JOIN case_axes AS axes ON traces.case_id = axes.case_id
