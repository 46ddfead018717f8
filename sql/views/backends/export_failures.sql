-- One row per run × suite × mode × dtype × device × backend × way in which exporting models to ONNX failed × error.
--
-- axes: run, panel
-- way       VARCHAR    CaptureFailed: torch could not take the graph. TranslationFailed: an operator has no counterpart in
--                      ONNX. OnnxFileFailed: the file is no valid ONNX. SessionFailed: ONNX Runtime does not load it.
--                      SessionRunFailed: ONNX Runtime does not run it.
-- reason    VARCHAR    The first error, with its type.
-- n_models  BIGINT     Models that fail so.
-- models    VARCHAR[]  Their names, in order.
SELECT
    run_id, config, suite, mode, dtype, device, backend, exception AS way, reason, count(DISTINCT name) AS n_models,
    list_sort(list(DISTINCT name)) AS models
FROM case_outcomes
WHERE kind = 'performance'
    AND exception IN ('CaptureFailed', 'TranslationFailed', 'OnnxFileFailed', 'SessionFailed', 'SessionRunFailed')
GROUP BY ALL
