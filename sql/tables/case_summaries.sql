-- One row per case of a run judged for performance: how it ended, what it gained, whether it passes.
-- It is measured against the eager case of the same run and the same work, or its speedup is reported by an import. Pairs
-- measured block by block give the speedup an interval (see block_ratios); elsewhere it is the ratio of the medians,
-- without one. Results of torch.compile report a speedup of every case that worked; other imports report one where a case has a
-- positive metric `speedup`. What a program records under that name is a metric like any other. A case that failed, or whose
-- baseline did, has a status and no speedup. A case passes if it is ok, its accuracy is pass or pass_due_to_skip where the run
-- judged that of any case of the same suite, mode and backend, and, where speedups were measured or reported for it, it has
-- one. The baseline passes when it is ok and accurate.
--
-- axes: run, case
-- work_hash          VARCHAR  What was computed, whoever computed it; the baseline has the same.
-- panel              VARCHAR  Its suite, mode, dtype, device and backend (see case_axes).
-- baseline_ns        DOUBLE   Median steady latency of the baseline; NULL where only the speedup is reported.
-- candidate_ns       DOUBLE   Median steady latency of the case.
-- speedup            DOUBLE   Baseline / case; above 1 is faster, NULL where either failed, and for the baseline itself.
-- low                DOUBLE   Lower end of its 95 % interval; NULL where nothing was paired, or fewer than 5 blocks.
-- high               DOUBLE   Upper end.
-- n                  BIGINT   Pairs of blocks the speedup rests on; NULL where nothing was paired.
-- p                  DOUBLE   Probability of a speedup so far from 1, either way, if there were none; see block_ratios.
--                             NULL as low.
-- p_unpaired         DOUBLE   The same by Welch's t-test of the blocks' times, unpaired.
-- origin             VARCHAR  Where a speedup comes from, measured or reported; NULL for a case that has nothing to compare
--                             with.
-- status             VARCHAR  ok, or how the case ended, or 'baseline …' with how the baseline did.
-- accuracy           VARCHAR  How its accuracy was judged: that of the case itself, else of the cases of the same run,
--                             suite, name, mode, device, dtype and backend (accuracy is often checked at another batch
--                             size), of several the one that does not pass. NULL where it was not.
-- passing            BOOLEAN  Whether it passes.
-- reason             VARCHAR  Why it does not: its status, its accuracy, or what is missing. NULL if it passes.
-- compile_ns         DOUBLE   Compile latency.
-- compression_ratio  DOUBLE   Peak memory of the baseline / that of the case, measured the same way: as reported, else of
--                             the GPU's allocator, else what the call added to the process, else of the process.
-- disturbed          DOUBLE   Share of its steady samples during which it lost its processor; NULL where nobody counted.
WITH
judgements AS (
    SELECT
        run_id, config, case_id, work_hash, {axes},
        panel, kind, status, bool_or(kind = 'accuracy') OVER (PARTITION BY run_id, suite, mode, backend) AS wants_accuracy
    FROM case_outcomes
    WHERE run_id IN (SELECT run_id FROM _touched)
),
accuracies AS (SELECT run_id, case_id, name, panel, status FROM judgements WHERE kind = 'accuracy'),
model_accuracies AS (
    SELECT run_id, name, panel, min_by(status, (_is_accurate(status), status)) AS status
    FROM accuracies
    GROUP BY run_id, name, panel
),
accurate_cases AS (
    SELECT
        own.* EXCLUDE (kind, wants_accuracy), coalesce(accuracies.status, of_model.status) AS accuracy,
        NOT wants_accuracy OR coalesce(_is_accurate(accuracy), false) AS is_accurate
    FROM judgements AS own
    LEFT JOIN accuracies ON own.run_id = accuracies.run_id AND own.case_id = accuracies.case_id
    LEFT JOIN model_accuracies AS of_model
        ON own.run_id = of_model.run_id AND own.name = of_model.name AND own.panel = of_model.panel
    WHERE kind = 'performance'
),
medians AS (
    SELECT
        run_id, case_id,
        min(median) FILTER (metric = 'latency' AND phase = 'steady' AND unit = 'ns') AS latency_ns,
        min(median) FILTER (metric = 'compile_latency' AND unit = 'ns') AS compile_ns,
        min(median) FILTER (metric = 'compression_ratio' AND coalesce(unit, 'ratio') = 'ratio' AND median > 0)
            AS reported_compression,
        min(median) FILTER (metric = 'speedup' AND coalesce(unit, 'ratio') = 'ratio' AND median > 0) AS reported_speedup,
        min(median) FILTER (metric = 'absolute_latency' AND unit = 'ns' AND median > 0) AS reported_ns
    FROM cells
    WHERE run_id IN (SELECT run_id FROM _touched)
        AND metric IN ('latency', 'compile_latency', 'compression_ratio', 'speedup', 'absolute_latency')
    GROUP BY run_id, case_id
),
peaks AS (
    SELECT
        run_id, case_id,
        max(size_bytes) FILTER (source = 'cuda_allocated') AS allocated,
        max(size_bytes) FILTER (source = 'rss_growth') AS growth,
        max(size_bytes) FILTER (source = 'rss') AS resident
    FROM memory_samples
    WHERE run_id IN (SELECT run_id FROM _touched) AND size_bytes > 0 AND phase IS DISTINCT FROM 'traced'
    GROUP BY run_id, case_id
),
disturbances AS (
    SELECT run_id, case_id, avg((involuntary_switches > 0)::INTEGER) AS disturbed
    FROM timings
    WHERE run_id IN (SELECT run_id FROM _touched) AND phase = 'steady' AND involuntary_switches IS NOT NULL
    GROUP BY run_id, case_id
),
reporting_backends AS (  -- of these every case has a speedup, or did not work
    SELECT DISTINCT run_id, suite, backend
    FROM cells
    WHERE run_id IN (SELECT run_id FROM _touched) AND metric = 'speedup'
        AND run_id IN (SELECT run_id FROM runs WHERE source = 'torch-compile')
),
imported_cases AS (
    SELECT DISTINCT run_id, case_id
    FROM cases
    WHERE run_id IN (SELECT run_id FROM _touched) AND source_id IS NOT NULL
),
measured_cases AS (
    SELECT
        own.*, latency_ns, compile_ns, reported_compression, reported_speedup, reported_ns, allocated, growth, resident, disturbed,
        reporting.run_id IS NOT NULL OR imported.run_id IS NOT NULL AND reported_speedup > 0 AS is_reported
    FROM accurate_cases AS own
    LEFT JOIN medians ON own.run_id = medians.run_id AND own.case_id = medians.case_id
    LEFT JOIN peaks ON own.run_id = peaks.run_id AND own.case_id = peaks.case_id
    LEFT JOIN disturbances ON own.run_id = disturbances.run_id AND own.case_id = disturbances.case_id
    LEFT JOIN imported_cases AS imported ON own.run_id = imported.run_id AND own.case_id = imported.case_id
    LEFT JOIN reporting_backends AS reporting
        ON own.run_id = reporting.run_id AND own.suite IS NOT DISTINCT FROM reporting.suite
        AND own.backend IS NOT DISTINCT FROM reporting.backend
),
baselines AS (SELECT * FROM measured_cases WHERE backend = 'eager'),
compared_cases AS (
    SELECT
        own.*, base.latency_ns AS base_ns, base.status AS base_status,
        -- the allocator of the GPU is exact; else what the call added says more than the whole process
        coalesce(
            own.reported_compression, base.allocated / own.allocated, base.growth / own.growth, base.resident / own.resident
        ) AS compression_ratio,
        CASE
            WHEN base.case_id IS NOT NULL AND (NOT own.is_reported OR own.latency_ns > 0 AND base.latency_ns > 0) THEN 'measured'
            WHEN own.is_reported THEN 'reported'
        END AS origin
    FROM measured_cases AS own
    LEFT JOIN baselines AS base ON own.run_id = base.run_id AND own.work_hash = base.work_hash AND own.backend <> 'eager'
),
block_estimates AS (
    SELECT run_id, case_id, n, log_ratio, _t975(degrees) * error AS width, p, p_unpaired
    FROM block_ratios
    WHERE run_id IN (SELECT run_id FROM _touched) AND clock = 'host'
),
gains AS (
    SELECT
        compared_cases.*, n, width, p, p_unpaired,
        CASE WHEN status = 'ok' AND origin = 'measured' AND base_status <> 'ok' THEN 'baseline ' || base_status ELSE status END
            AS ended,
        CASE
            WHEN ended <> 'ok' THEN NULL
            WHEN origin = 'reported' THEN reported_speedup
            WHEN n > 0 THEN exp(log_ratio)
            WHEN base_ns > 0 AND latency_ns > 0 THEN base_ns / latency_ns
        END AS gain
    FROM compared_cases
    LEFT JOIN block_estimates AS blocks
        ON compared_cases.run_id = blocks.run_id AND compared_cases.case_id = blocks.case_id AND origin = 'measured'
)

SELECT
    run_id, config, case_id, work_hash, {axes}, panel,
    CASE WHEN origin = 'measured' THEN base_ns END AS baseline_ns,
    CASE WHEN origin = 'reported' THEN reported_ns ELSE latency_ns END AS candidate_ns,
    gain AS speedup, gain * exp(-width) AS low, _finite(gain * exp(width)) AS high, n, p + 0 * gain AS p,
    p_unpaired + 0 * gain AS p_unpaired, origin, ended AS status, accuracy,
    ended = 'ok' AND is_accurate AND (origin IS NULL OR coalesce(gain > 0, false)) AS passing,
    CASE
        WHEN passing THEN NULL
        WHEN ended <> 'ok' THEN ended
        WHEN NOT is_accurate THEN coalesce(accuracy, 'no accuracy')
        ELSE 'no speedup'
    END AS reason,
    compile_ns, compression_ratio, disturbed
FROM gains
