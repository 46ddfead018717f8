-- One row per option or argument that a run of bench was measured with, in the order of its command: what measures it again.
--
-- axes: run
-- position   BIGINT   Place in the command, from 0.
-- role       VARCHAR  command (its first words), what (is measured), how, sides (that take turns), where (its rows go), or axis.
-- option     VARCHAR  Its name, such as --repeat; NULL for arguments.
-- arguments  JSON     Its values as a JSON list of texts; empty for a switch; of an axis the column of cases that it chooses.
SELECT
    run_id, config, position,
    json_extract_string(options, '$[' || position::VARCHAR || '].role') AS role,
    json_extract_string(options, '$[' || position::VARCHAR || '].option') AS option,
    json_extract(options, '$[' || position::VARCHAR || '].arguments') AS arguments
FROM (
    SELECT run_id, config, options, unnest(range(json_array_length(options)::BIGINT)) AS position
    FROM (SELECT run_id, min(config) AS config, max(options) AS options FROM runs GROUP BY run_id)
)
