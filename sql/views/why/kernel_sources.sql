-- One row per run × kernel × line of source that it computes, as a log of torch.compile tells (TORCH_TRACE with INDUCTOR_PROVENANCE=1).
--
-- axes: run
-- kernel    VARCHAR  Generated kernel, or operator of a library, by the name that it has in `trace_parts`.
-- number    BIGINT   Number of the line among those of its kernel, from 1.
-- file      VARCHAR  Source file.
-- line      BIGINT   Line in the file, from 1.
-- function  VARCHAR  Function that the line belongs to.
-- text      VARCHAR  Source text of the line; empty where the log has none.
SELECT
    found.run_id, config, _part_name(json_extract_string(place, '$.kernel')) AS kernel,
    min(TRY_CAST(json_extract_string(place, '$.number') AS BIGINT)) AS number, json_extract_string(place, '$.file') AS file,
    TRY_CAST(json_extract_string(place, '$.line') AS BIGINT) AS line, json_extract_string(place, '$.function') AS function,
    coalesce(json_extract_string(place, '$.text'), '') AS text
FROM (SELECT run_id, original_value AS place FROM metrics WHERE metric = 'kernel_source' AND json_valid(original_value)) AS found
LEFT JOIN _run_records AS run ON found.run_id = run.run_id
GROUP BY ALL
