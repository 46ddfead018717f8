-- One row per case and source line of a traced program: its memory on the CPU, on all GPUs together, and their sum.
-- Of each kind of memory see line_memory. Peaks of two kinds are of two moments, so only rises and falls are added up.
--
-- axes: run
-- case_id             VARCHAR  Case traced.
-- name                VARCHAR  Script, module, callable or model traced.
-- mode                VARCHAR  inference or training; NULL of a program that is no model.
-- batch_size          BIGINT   Samples in one batch; NULL likewise.
-- sequence_length     BIGINT   Tokens in one sequence; NULL likewise.
-- file                VARCHAR  Source file.
-- line                BIGINT   Line in the source file, from 1.
-- function            VARCHAR  Function the line belongs to.
-- text                VARCHAR  Source text of the line.
-- hits                BIGINT   Times the line ran.
-- cpu_increase_bytes  BIGINT   Sum of what the CPU's memory rose by at the line itself.
-- gpu_increase_bytes  BIGINT   The same of all GPUs; NULL where none was used.
-- increase_bytes      BIGINT   Both together.
-- cpu_growth_bytes    BIGINT   What the line added to the CPU's memory: increase - decrease.
-- gpu_growth_bytes    BIGINT   The same of all GPUs; NULL where none was used.
-- growth_bytes        BIGINT   Both together.
-- growth_rank         BIGINT   1 for the line that added most.
WITH
sums AS (
    SELECT
        run_id, config, case_id, name, file, line, function, any_value(text) AS text, max(hits) AS hits,
        _total(CASE WHEN device_index IS NULL THEN increase_bytes END) AS cpu_increase_bytes,
        _total(CASE WHEN device_index IS NOT NULL THEN increase_bytes END) AS gpu_increase_bytes,
        _total(increase_bytes) AS increase_bytes,
        _total(CASE WHEN device_index IS NULL THEN growth_bytes END) AS cpu_growth_bytes,
        _total(CASE WHEN device_index IS NOT NULL THEN growth_bytes END) AS gpu_growth_bytes, _total(growth_bytes) AS growth_bytes
    FROM line_memory
    GROUP BY run_id, config, case_id, name, file, line, function
)

SELECT
    run_id, config, sums.case_id, sums.name, mode, batch_size, sequence_length, file, line, function, text, hits,
    cpu_increase_bytes, gpu_increase_bytes, increase_bytes, cpu_growth_bytes, gpu_growth_bytes, growth_bytes,
    row_number() OVER (PARTITION BY run_id, sums.case_id ORDER BY growth_bytes DESC, file, line, function) AS growth_rank
FROM sums
LEFT JOIN case_axes AS axes ON sums.case_id = axes.case_id
