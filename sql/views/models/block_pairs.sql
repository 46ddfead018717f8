-- One row per block that timed a case and its baseline, as `block_ratios` has it, which sums them up: a block times every
-- side once, so drift of the machine cancels in the ratio.
--
-- run_id        VARCHAR  Run it was measured in.
-- case_id       VARCHAR  Case measured.
-- baseline_id   VARCHAR  Case it is measured against.
-- process       BIGINT   Process that timed both; NULL where nobody said.
-- block         BIGINT   Number of the block.
-- baseline_ns   DOUBLE   Median steady latency of the baseline in this block.
-- candidate_ns  DOUBLE   The same of the case.
-- ratio         DOUBLE   baseline_ns / candidate_ns; above 1 is faster.
WITH
blocks AS (
    SELECT run_id, case_id, process, block, median(duration_ns / loops) AS each_ns
    FROM timings
    WHERE metric = 'latency' AND phase = 'steady' AND block IS NOT NULL AND loops > 0 AND duration_ns > 0
    GROUP BY ALL
)

SELECT
    own.run_id, own.case_id, baseline_id, own.process, own.block, base.each_ns AS baseline_ns,
    own.each_ns AS candidate_ns, base.each_ns / own.each_ns AS ratio
FROM block_ratios AS ratio
JOIN blocks AS own ON ratio.run_id = own.run_id AND ratio.case_id = own.case_id
JOIN blocks AS base
    ON own.run_id = base.run_id AND baseline_id = base.case_id AND own.block = base.block
    AND own.process IS NOT DISTINCT FROM base.process
WHERE clock = 'host'
