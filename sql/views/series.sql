-- One row per cell, with the place its run has in time: what a case's metric was in every run of its config.
-- The value of a run is the median of its samples. Warm-up and cold samples are phases of their own, hence other series.
--
-- config            Config; together with case_id, metric, phase and unit it names the series.
-- case_id           Case measured; NULL for a value of the run as a whole.
-- work_hash         What was computed, whoever computed it.
-- suite             Suite of the workload.
-- name              Model, function, command or benchmark.
-- mode              inference or training.
-- device            cpu, cuda …
-- dtype             float32, bfloat16, amp …
-- backend           Compiler or implementation.
-- batch_size        Samples in one batch.
-- sequence_length   Tokens in one sequence.
-- parameters        Further axes, as a JSON object.
-- metric            What was measured.
-- phase             cold, compile, warmup or steady; NULL where that has no meaning.
-- unit              Unit of the value.
-- better            'higher' or 'lower'; NULL where neither is.
-- position          Place of the run in its series, from 1, the oldest.
-- run_id            Run.
-- began_at          When that run began; for an import that does not say, when it was loaded. UTC.
-- git_commit        Commit it measured.
-- host              Machine it ran on.
-- environment_id    Environment it ran in.
-- n                 Samples of that run.
-- value             Their median.
-- low               Lower end of its distribution-free 95 % interval within the run; NULL for fewer than 6 samples.
-- high              Upper end.
SELECT
    cell.config, case_id, work_hash, suite, name, mode, device, dtype, backend, batch_size, sequence_length, parameters,
    metric, phase, unit, better,
    row_number() OVER (
        PARTITION BY cell.config, case_id, metric, phase, unit ORDER BY began_at NULLS FIRST, cell.run_id
    ) AS position,
    cell.run_id, began_at, git_commit, host, environment_id, n, median AS value, median_low AS low, median_high AS high
FROM _all_cells AS cell
JOIN _run_times AS run ON cell.run_id = run.run_id
