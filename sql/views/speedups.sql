-- One row per case measured against the eager baseline in one run, or whose speedup an import reports.
-- Measured cases are paired block by block where their samples carry blocks (see block_ratios); elsewhere the speedup is
-- the ratio of the medians, without an interval. A case that failed, or whose baseline did, has a status and no speedup.
--
-- run_id            Run it was measured in.
-- config            Config of that run.
-- case_id           Case measured.
-- work_hash         What was computed; the baseline has the same.
-- suite             Suite of the workload.
-- name              Model, function, command or benchmark.
-- mode              inference or training.
-- device            cpu, cuda …
-- dtype             float32, bfloat16, amp …
-- backend           Compiler or implementation measured.
-- batch_size        Samples in one batch.
-- sequence_length   Tokens in one sequence.
-- parameters        Further axes, as a JSON object.
-- baseline_ns       Median steady latency of the baseline; NULL where only the speedup is reported.
-- candidate_ns      Median steady latency of the case.
-- speedup           Baseline / case; above 1 is faster, NULL where either failed.
-- low               Lower end of its 95 % interval; NULL where nothing was paired, or fewer than 5 blocks.
-- high              Upper end.
-- n                 Pairs of blocks the speedup rests on; NULL where nothing was paired.
-- p                 Probability of a speedup so far from 1, either way, if there were none: the t-test of the interval's own
--                   error (Yuen's, of the logs of the block ratios), so below 0.05 the interval excludes 1. NULL as low.
-- p_unpaired        The same by Welch's t-test of the two sides' blocks, unpaired, as tools without blocks test.
-- origin            measured or reported.
-- status            ok, or how the case ended, or 'baseline …' with how the baseline did.
-- accuracy          How the accuracy was judged; NULL where it was not.
-- passing           Whether the case is ok, its accuracy a pass where that was judged, and there is a speedup.
-- reason            Why it does not pass, and so is left out of all means: its status, its accuracy, or what is missing.
SELECT
    run_id, config, case_id, work_hash, suite, name, mode, device, dtype, backend, batch_size, sequence_length,
    parameters, baseline_ns, candidate_ns, speedup, low, high, n, p, p_unpaired, origin, status, accuracy, passing, reason
FROM case_summaries
WHERE origin IS NOT NULL
