-- One row per case with a speedup, which sql/tables/case_summaries.sql computes from sql/tables/block_ratios.sql.
-- It is measured against the eager baseline of the same run, or an import reports it. Where samples carry blocks, the two
-- are paired block by block; elsewhere the speedup is the ratio of the medians, without an interval. A case that failed, or whose baseline did, has a status and no speedup.
--
-- axes: run, case
-- work_hash     VARCHAR  What was computed; the baseline has the same.
-- baseline_ns   DOUBLE   Median steady latency of the baseline; NULL where only the speedup is reported.
-- candidate_ns  DOUBLE   Median steady latency of the case.
-- speedup       DOUBLE   Baseline / case; above 1 is faster, NULL where either failed.
-- low           DOUBLE   Lower end of its 95 % interval; NULL where nothing was paired, or fewer than 5 blocks.
-- high          DOUBLE   Upper end.
-- n             BIGINT   Pairs of blocks the speedup rests on; NULL where nothing was paired.
-- p             DOUBLE   Probability of a speedup so far from 1, either way, if there were none: the t-test of the
--                        interval's own error (Yuen's, of the logs of the block ratios), so below 0.05 the interval
--                        excludes 1. NULL as low.
-- p_unpaired    DOUBLE   The same by Welch's t-test of the two sides' blocks, unpaired, as tools without blocks test.
-- origin        VARCHAR  measured or reported.
-- status        VARCHAR  ok, or how the case ended, or 'baseline …' with how the baseline did.
-- accuracy      VARCHAR  How the accuracy was judged; NULL where it was not.
-- passing       BOOLEAN  Whether the case is ok, its accuracy a pass where that was judged, and there is a speedup.
-- reason        VARCHAR  Why it does not pass, and so is left out of all means: its status, its accuracy, or what is
--                        missing.
SELECT
    run_id, config, case_id, work_hash, {axes},
    baseline_ns, candidate_ns, speedup, low, high, n, p, p_unpaired, origin, status, accuracy, passing, reason
FROM case_summaries
WHERE origin IS NOT NULL
