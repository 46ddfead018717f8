-- One row per case that counts in the report of its run: judged for performance or accuracy, not skipped, and not measured again
-- by another part of the report (see _superseded_cases).
--
-- run_id             VARCHAR  Run.
-- case_id            VARCHAR  Case that was announced.
-- same_id            VARCHAR  The case that it is, though its batch size may be unknown in this run (see _same_cases).
-- panel              VARCHAR  Its suite, mode, dtype, device and backend (see case_axes).
-- speedup            DOUBLE   Baseline / case; NULL where either failed, or where accuracy alone was judged.
-- compile_ns         DOUBLE   Compile latency.
-- compression_ratio  DOUBLE   Peak memory of the baseline / that of the case.
WITH
judged_cases AS (
    SELECT run_id, case_id, panel, speedup, compile_ns, compression_ratio
    FROM case_summaries
    WHERE status <> 'skipped'
    UNION ALL
    SELECT accuracy.run_id, accuracy.case_id, panel, NULL, NULL, NULL
    FROM case_outcomes AS accuracy
    ANTI JOIN (
        SELECT run_id, case_id FROM case_summaries WHERE status <> 'skipped'
        UNION ALL
        SELECT run_id, same_id FROM _same_cases
    ) AS summary
        ON accuracy.run_id = summary.run_id AND accuracy.case_id = summary.case_id
    WHERE kind = 'accuracy' AND status <> 'skipped'
)

SELECT
    judged.run_id, judged.case_id, coalesce(same_id, judged.case_id) AS same_id, panel, speedup, compile_ns, compression_ratio
FROM judged_cases AS judged
ANTI JOIN _superseded_cases AS again ON judged.run_id = again.run_id AND judged.case_id = again.case_id
LEFT JOIN _same_cases AS same ON judged.run_id = same.run_id AND judged.case_id = same.case_id
