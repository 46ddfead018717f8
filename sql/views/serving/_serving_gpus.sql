-- One row per run × case of a serving benchmark: on how many GPUs it ran.
-- The tag `gpus` of the run says it (bench tag RUN gpus=8), else the case's parameter gpus or num_gpus, else the product of its
-- parallelism (tp_size, pp_size, dp_size, or with long names).
--
-- run_id   VARCHAR  Run.
-- case_id  VARCHAR  Case.
-- gpus     DOUBLE   GPUs; NULL where nobody says.
WITH
said AS (
    SELECT
        run_id, case_id, parameters,
        TRY_CAST(json_extract_string(tags, '$.gpus') AS DOUBLE) AS tagged,
        TRY_CAST(coalesce(json_extract_string(parameters, '$.gpus'), json_extract_string(parameters, '$.num_gpus')) AS DOUBLE) AS named,
        TRY_CAST(coalesce(
            json_extract_string(parameters, '$.tp_size'), json_extract_string(parameters, '$.tensor_parallel_size')
        ) AS DOUBLE) AS tp,
        TRY_CAST(coalesce(
            json_extract_string(parameters, '$.pp_size'), json_extract_string(parameters, '$.pipeline_parallel_size')
        ) AS DOUBLE) AS pp,
        TRY_CAST(coalesce(
            json_extract_string(parameters, '$.dp_size'), json_extract_string(parameters, '$.data_parallel_size')
        ) AS DOUBLE) AS dp
    FROM (SELECT DISTINCT run_id, case_id FROM requests) AS served
    JOIN case_axes USING (case_id)
    JOIN _run_records USING (run_id)
)

SELECT
    run_id, case_id,
    nullif(greatest(coalesce(tagged, named, CASE WHEN coalesce(tp, pp, dp) IS NOT NULL
        THEN coalesce(tp, 1) * coalesce(pp, 1) * coalesce(dp, 1) END), 0), 0) AS gpus
FROM said
