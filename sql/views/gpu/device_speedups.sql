-- One row per case timed by a device's own clock in blocks together with its baseline: its speedup by that clock, beside the
-- one by the host's. The host's clock also sees what the program does between two kernels, and is what a user waits for; the
-- device's, between two events of its stream, leaves out what the host does before the first kernel and after the last.
--
-- axes: run, case
-- speedup              DOUBLE   By the host's clock: baseline / case; NULL as in speedups.
-- low                  DOUBLE   Lower end of its 95 % interval.
-- high                 DOUBLE   Upper end.
-- device_speedup       DOUBLE   By the device's clock, computed the same way; NULL where the case or its baseline failed.
-- device_low           DOUBLE   Lower end of its 95 % interval; NULL for fewer than 5 blocks.
-- device_high          DOUBLE   Upper end.
-- n                    BIGINT   Blocks that the device's speedup rests on.
-- baseline_device_ns   DOUBLE   Median of the baseline's steady samples by the device's clock, for one call.
-- candidate_device_ns  DOUBLE   The same of the case.
-- device_share         DOUBLE   Time by the device's clock / by the host's, of the case; gaps between kernels are the device's.
WITH
device_times AS (
    SELECT run_id, case_id, median(device_ns / loops) AS device_ns
    FROM timings
    WHERE metric = 'latency' AND phase = 'steady' AND loops > 0 AND device_ns > 0
    GROUP BY run_id, case_id
)

SELECT
    own.run_id, config, own.case_id, work_hash, {axes},
    speedup, low, high,
    CASE WHEN status = 'ok' THEN exp(log_ratio) END AS device_speedup,
    device_speedup * exp(-_t975(degrees) * error) AS device_low,
    _finite(device_speedup * exp(_t975(degrees) * error)) AS device_high, ratio.n,
    base_time.device_ns AS baseline_device_ns, own_time.device_ns AS candidate_device_ns,
    _finite(own_time.device_ns / candidate_ns) AS device_share
FROM block_ratios AS ratio
JOIN speedups AS own ON ratio.run_id = own.run_id AND ratio.case_id = own.case_id
JOIN device_times AS own_time ON ratio.run_id = own_time.run_id AND ratio.case_id = own_time.case_id
JOIN device_times AS base_time ON ratio.run_id = base_time.run_id AND ratio.baseline_id = base_time.case_id
WHERE clock = 'device'
