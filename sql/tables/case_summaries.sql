-- One row per case of a run judged for performance: how it ended, what it gained, whether it passes.
-- It is measured against the eager case of the same run and the same work, or its speedup is reported by an import. Pairs
-- measured block by block give the speedup an interval (see block_ratios); elsewhere it is the ratio of the medians,
-- without one. Results of torch.compile report a speedup of every case that worked; other imports report one where a case has a
-- positive metric `speedup`. What a program records under that name is a metric like any other. A case that failed, or whose baseline did, has a status and no speedup. A case passes if it is ok, its
-- accuracy is pass or pass_due_to_skip where the run judged that of any case of the same suite, mode and backend, and, where
-- speedups were measured or reported for it, it has one. The baseline passes when it is ok and accurate.
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
performances AS (
    SELECT
        run_id, config, case_id, work_hash, suite, name, mode, device, dtype, backend, batch_size, sequence_length,
        parameters, panel, status
    FROM case_outcomes
    WHERE run_id IN (SELECT run_id FROM _touched) AND kind = 'performance'
),
accuracies AS (
    SELECT
        run_id, case_id, suite, name, mode, device, dtype, backend, status,
        status IN ('pass', 'pass_due_to_skip') AS passes
    FROM case_outcomes
    WHERE run_id IN (SELECT run_id FROM _touched) AND kind = 'accuracy'
),
by_model AS (
    SELECT run_id, suite, name, mode, device, dtype, backend, min_by(status, (passes, status)) AS status
    FROM accuracies
    GROUP BY ALL
),
judging_backends AS (SELECT DISTINCT run_id, suite, mode, backend FROM accuracies),
judged_cases AS (
    SELECT
        side.*, coalesce(own.status, by_model.status) AS accuracy,
        side.status = 'ok' AND (judging_backends.run_id IS NULL
            OR coalesce(coalesce(own.status, by_model.status) IN ('pass', 'pass_due_to_skip'), false)) AS sound
    FROM performances AS side
    LEFT JOIN accuracies AS own ON side.run_id = own.run_id AND side.case_id = own.case_id
    LEFT JOIN by_model
        ON side.run_id = by_model.run_id AND side.name = by_model.name
        AND side.suite IS NOT DISTINCT FROM by_model.suite AND side.mode IS NOT DISTINCT FROM by_model.mode
        AND side.device IS NOT DISTINCT FROM by_model.device AND side.dtype IS NOT DISTINCT FROM by_model.dtype
        AND side.backend IS NOT DISTINCT FROM by_model.backend
    LEFT JOIN judging_backends
        ON side.run_id = judging_backends.run_id AND side.suite IS NOT DISTINCT FROM judging_backends.suite
        AND side.mode IS NOT DISTINCT FROM judging_backends.mode
        AND side.backend IS NOT DISTINCT FROM judging_backends.backend
),
numbers AS (  -- the medians of a case that its summary takes
    SELECT
        run_id, case_id,
        min(median) FILTER (metric = 'latency' AND phase = 'steady' AND unit = 'ns') AS latency_ns,
        min(median) FILTER (metric = 'compile_latency' AND unit = 'ns') AS compile_ns,
        min(median) FILTER (metric = 'compression_ratio' AND coalesce(unit, 'ratio') = 'ratio' AND median > 0) AS compression_ratio,
        min(median) FILTER (metric = 'speedup' AND coalesce(unit, 'ratio') = 'ratio' AND median > 0) AS reported_speedup,
        min(median) FILTER (metric = 'absolute_latency' AND unit = 'ns' AND median > 0) AS absolute_latency_ns
    FROM cells
    WHERE run_id IN (SELECT run_id FROM _touched)
        AND metric IN ('latency', 'compile_latency', 'compression_ratio', 'speedup', 'absolute_latency')
    GROUP BY run_id, case_id
),
reporting_backends AS (  -- of these every case has a speedup, or did not work
    SELECT DISTINCT run_id, suite, backend
    FROM cells
    WHERE run_id IN (SELECT run_id FROM _touched) AND metric = 'speedup'
        AND run_id IN (SELECT run_id FROM runs WHERE source = 'torch-compile')
),
disturbances AS (
    SELECT run_id, case_id, avg((involuntary_switches > 0)::INTEGER) AS disturbed
    FROM timings
    WHERE run_id IN (SELECT run_id FROM _touched) AND phase = 'steady' AND involuntary_switches IS NOT NULL
    GROUP BY run_id, case_id
),
imported_cases AS (
    SELECT DISTINCT run_id, case_id
    FROM cases
    WHERE run_id IN (SELECT run_id FROM _touched) AND source_id IS NOT NULL
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
own AS (
    SELECT judged_cases.*, numbers.* EXCLUDE (run_id, case_id), allocated, growth, resident, disturbed
    FROM judged_cases
    LEFT JOIN numbers ON judged_cases.run_id = numbers.run_id AND judged_cases.case_id = numbers.case_id
    LEFT JOIN peaks ON judged_cases.run_id = peaks.run_id AND judged_cases.case_id = peaks.case_id
    LEFT JOIN disturbances ON judged_cases.run_id = disturbances.run_id AND judged_cases.case_id = disturbances.case_id
),
sides AS (
    SELECT
        own.*, base.status AS base_status, base.latency_ns AS base_ns,
        -- the allocator of the GPU is exact; else what the call added says more than the whole process
        coalesce(own.compression_ratio, base.allocated / own.allocated, base.growth / own.growth, base.resident / own.resident)
            AS compression,
        reporting_backends.run_id IS NOT NULL OR imported.run_id IS NOT NULL AND own.reported_speedup > 0 AS is_reported,
        CASE
            WHEN base.case_id IS NOT NULL AND (NOT is_reported OR own.latency_ns > 0 AND base.latency_ns > 0) THEN 'measured'
            WHEN is_reported THEN 'reported'
        END AS origin
    FROM own
    LEFT JOIN own AS base
        ON own.run_id = base.run_id AND own.work_hash = base.work_hash AND own.backend <> 'eager' AND base.backend = 'eager'
    LEFT JOIN reporting_backends
        ON own.run_id = reporting_backends.run_id AND own.suite IS NOT DISTINCT FROM reporting_backends.suite
        AND own.backend IS NOT DISTINCT FROM reporting_backends.backend
    LEFT JOIN imported_cases AS imported ON own.run_id = imported.run_id AND own.case_id = imported.case_id
),
pairs AS (
    SELECT run_id, case_id, n, log_ratio, _t975(degrees) * error AS width, p, p_unpaired
    FROM block_ratios
    WHERE run_id IN (SELECT run_id FROM _touched) AND clock = 'host'
),
gains AS (
    SELECT
        sides.*, n, width, p, p_unpaired,
        CASE WHEN status = 'ok' AND origin = 'measured' AND base_status <> 'ok' THEN 'baseline ' || base_status ELSE status END
            AS ended,
        CASE
            WHEN ended <> 'ok' THEN NULL
            WHEN origin = 'reported' THEN reported_speedup
            WHEN n > 0 THEN exp(log_ratio)
            WHEN base_ns > 0 AND latency_ns > 0 THEN base_ns / latency_ns
        END AS gain
    FROM sides
    LEFT JOIN pairs ON sides.run_id = pairs.run_id AND sides.case_id = pairs.case_id AND origin = 'measured'
)

SELECT
    run_id, config, case_id, work_hash, suite, name, mode, device, dtype, backend, batch_size, sequence_length, parameters, panel,
    CASE WHEN origin = 'measured' THEN base_ns END AS baseline_ns,
    CASE WHEN origin = 'reported' THEN absolute_latency_ns ELSE latency_ns END AS candidate_ns,
    gain AS speedup, gain * exp(-width) AS low, _finite(gain * exp(width)) AS high, n, p + 0 * gain AS p,
    p_unpaired + 0 * gain AS p_unpaired, origin, ended AS status, accuracy,
    sound AND (origin IS NULL OR coalesce(gain > 0, false)) AS passing,
    CASE
        WHEN passing THEN NULL
        WHEN ended <> 'ok' THEN ended
        WHEN NOT sound THEN coalesce(accuracy, 'no accuracy')
        ELSE 'no speedup'
    END AS reason,
    compile_ns, compression AS compression_ratio, disturbed
FROM gains
