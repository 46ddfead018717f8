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
),
sides AS (  -- joined at once: blocks of one number with one another would be the square of the cases
    SELECT run_id, case_id, baseline_id, unnest([false, true]) AS is_baseline
    FROM block_ratios
    WHERE clock = 'host'
)

SELECT
    side.run_id, side.case_id, baseline_id, process, block, max(each_ns) FILTER (is_baseline) AS baseline_ns,
    max(each_ns) FILTER (NOT is_baseline) AS candidate_ns, baseline_ns / candidate_ns AS ratio
FROM sides AS side
JOIN blocks ON side.run_id = blocks.run_id AND CASE WHEN is_baseline THEN baseline_id ELSE side.case_id END = blocks.case_id
GROUP BY side.run_id, side.case_id, baseline_id, process, block
HAVING count(*) = 2
