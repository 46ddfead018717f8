-- One row per finding about the runs under judgement, a list of run ids: all that `bench regressions` prints.
-- finding is statistics (a row of `regressions`), shift (what all cases of a run share, a row of `shared_shifts`), suite (a
-- suite that moved as a whole, a row of `suite_shifts`), limit (a number that is beyond a limit in all judged runs which measured
-- it, and was within it in the run before, see `newly_flagged`) or coverage (a case that passed in the run before and in
-- none of the judged runs, see `coverage_losses`).
--
-- arguments: judged, last := {window}, floor := NULL, fdr := {fdr}, min_speedup := {min_speedup}, max_compile_seconds := {max_compile_seconds}, min_compression := {min_compression}
--
-- finding       VARCHAR    statistics, shift, suite, limit or coverage.
-- config        VARCHAR    Config.
-- host          VARCHAR    Host of a statistic, a shift or a suite.
-- machine       VARCHAR    Class of machine (see `machines`) of a statistic, a shift or a suite; NULL unknown.
-- axes: case without work_hash, value
-- better        VARCHAR    'higher' or 'lower'; NULL for coverage.
-- run_id        VARCHAR    First judged run that measured it, the run that is flagged, or the run that lacks the case.
-- runs          BIGINT     Judged runs that measured it; NULL of a limit and of coverage, as n, low, high, noise, p, q and since_….
-- n             BIGINT     Runs of the baseline.
-- baseline      DOUBLE     Their level; of a limit the value in the run before.
-- value         DOUBLE     What the judged runs measured.
-- change        DOUBLE     value / baseline - 1; NULL where the baseline is 0.
-- low           DOUBLE     Lower end of its 95 % interval.
-- high          DOUBLE     Upper end.
-- noise         DOUBLE     Standard deviation of ln(value) from run to run, moderated.
-- p             DOUBLE     Probability that runs without a change differ as much; NULL where that cannot be judged.
-- q             DOUBLE     Share of false alarms to expect if this row and all with a smaller p were called changed.
-- verdict       VARCHAR    That of `regressions`, `shared_shifts` or `suite_shifts`. Of a limit WORSE, or SAME where no statistic of the case
--                          moved beyond its noise, so that the noise alone took the number across the limit, or UNSURE where its
--                          class of machine has too few earlier runs. Of coverage BROKEN, or REMOVED where the run did not announce
--                          the case.
-- evidence      VARCHAR    Runs before and now, and whether several confirm each other.
-- is_known      BOOLEAN    Whether the judged value is at a level that the series knows (series_levels); NULL but for statistics.
-- limit         VARCHAR    Limit that is newly exceeded; NULL but for limits.
-- reason        VARCHAR    Why, in one line.
-- since_run_id  VARCHAR    Run the change begins with.
-- since_at      TIMESTAMP  When that run began.
-- since_commit  VARCHAR    Commit it measured.
-- good_commit   VARCHAR    Commit of the last run before it.
WITH
judged_cases AS MATERIALIZED (SELECT * FROM _judged_cases(judged, last, floor, fdr)),
verdicts AS (SELECT * FROM judged_cases WHERE is_judged),
metric_shifts AS (
    SELECT
        config, host, machine, metric, phase, unit, min(better) AS better, bool_or(is_moved_machine) AS is_moved_machine, min(shift_runs) AS runs, min(log_shift) AS shift,
        min(shift_reach) AS reach, min(shift_p) AS p, min(cases) AS cases, min(case_floor) AS shift_floor,
        _gain(min(log_shift), min(better)) AS gain
    FROM judged_cases
    WHERE cases >= 20
    GROUP BY config, host, machine, metric, phase, unit
    HAVING min(better) IS NOT NULL
),
metrics_that_moved AS (  -- an import reports the metric of a limit itself; a measurement reports what it is computed from
    SELECT
        config, case_id,
        CASE
            WHEN metric = 'latency' THEN 'speedup'
            WHEN metric IN ('cuda_allocated_peak', 'rss_growth_peak', 'rss_peak') THEN 'compression_ratio'
            ELSE metric
        END AS metric,
        bool_or(verdict IN ('SLOWER', 'WORSE')) AS has_moved
    FROM verdicts
    WHERE p IS NOT NULL AND n >= 2  -- one tells too little of noise to excuse a limit
    GROUP BY ALL
),
new_machines AS (  -- cases that no run under judgement measured on a class of machine with enough earlier runs
    SELECT config, case_id, min(machine_doubt) AS machine_doubt
    FROM judged_cases
    WHERE run_id IS NOT NULL
    GROUP BY config, case_id
    HAVING bool_and(machine_doubt IS NOT NULL)
),
suite_latencies AS (  -- how much faster the cases of a suite got themselves, as a logarithm
    SELECT
        config, machine, suite, mode, device, dtype, backend, -_ordered_mean(list(ln(1 + change))) AS own_change, min(case_floor) AS smallest
    FROM judged_cases
    WHERE metric IN ('latency', 'absolute_latency') AND _is_warm(phase) AND change > -1
    GROUP BY ALL
),
passing_runs AS (
    SELECT config, case_id, count(*) AS runs
    FROM case_summaries
    WHERE list_contains(judged, run_id) AND passing
    GROUP BY ALL
),
flagged_runs AS (
    SELECT flag.config, flag.case_id, metric, count(*) AS runs
    FROM _flagged_numbers(min_speedup, max_compile_seconds, min_compression) AS flag
    JOIN case_summaries AS summary ON flag.run_id = summary.run_id AND flag.case_id = summary.case_id
    WHERE list_contains(judged, flag.run_id) AND passing
    GROUP BY ALL
)

SELECT
    'statistics' AS finding, config, host, machine, case_id, {axes},
    metric, phase, unit, better, run_id, runs, n, baseline, value, change, low, high, noise, p, q, verdict,
    evidence, is_known, NULL AS "limit", reason, since_run_id, since_at, since_commit, good_commit
FROM verdicts
UNION ALL
SELECT
    'shift', config, host, machine, NULL, {axis: NULL}, metric, phase, unit, better, NULL, NULL,
    runs, NULL, NULL, exp(shift) - 1, exp(shift - reach) - 1, exp(shift + reach) - 1, NULL, p, NULL,
    CASE WHEN is_moved_machine THEN 'UNSURE' ELSE _shift_verdict(gain, reach, p, unit, shift_floor, fdr) END, NULL, NULL, NULL,
    concat_ws(
        '; ', _shift_reason(shift, cases, p, runs), CASE WHEN is_moved_machine THEN 'no processor is known: it may be another machine' END
    ), NULL, NULL, NULL, NULL
FROM metric_shifts
UNION ALL
SELECT
    'limit', flag.config, NULL, NULL, flag.case_id, {axes},
    flag.metric, NULL, unit, CASE flag.metric WHEN 'compile_latency' THEN 'lower' ELSE 'higher' END, run_id, NULL, NULL,
    value_before, value, _finite(value / nullif(value_before, 0) - 1), NULL, NULL, NULL, NULL, NULL,
    CASE WHEN has_moved = false THEN 'SAME' WHEN machine_doubt IS NOT NULL THEN 'UNSURE' ELSE 'WORSE' END, NULL, NULL, why,
    CASE
        WHEN has_moved = false THEN why || ', as near to it before as its noise takes it'
        ELSE concat_ws('; ', machine_doubt, why)
    END,
    NULL, NULL, NULL, NULL
FROM newly_flagged(
    min_speedup := min_speedup, max_compile_seconds := max_compile_seconds, min_compression := min_compression, runs := judged
) AS flag
JOIN flagged_runs AS beyond ON flag.config = beyond.config AND flag.case_id = beyond.case_id AND flag.metric = beyond.metric
JOIN passing_runs AS measured ON flag.config = measured.config AND flag.case_id = measured.case_id
LEFT JOIN metrics_that_moved AS moved
    ON flag.config = moved.config AND flag.case_id = moved.case_id AND flag.metric = moved.metric
LEFT JOIN new_machines AS new ON flag.config = new.config AND flag.case_id = new.case_id
WHERE before = 'fine' AND value IS NOT NULL AND beyond.runs = measured.runs
UNION ALL
SELECT
    'coverage', config, NULL, NULL, case_id, {axes}, NULL,
    NULL, NULL, NULL, run_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, CASE status WHEN 'absent' THEN 'REMOVED' ELSE 'BROKEN' END, NULL,
    NULL, NULL,
    concat_ws(': ', status, reason), NULL, NULL, NULL, NULL
FROM _coverage_losses(judged) AS loss
WHERE NOT EXISTS (
    SELECT 1
    FROM case_summaries AS other
    WHERE list_contains(judged, other.run_id) AND other.passing
        AND loss.config = other.config AND loss.case_id = other.case_id
)
UNION ALL BY NAME
SELECT
    'suite' AS finding, moved.config, moved.host, moved.machine, moved.suite, moved.mode, moved.device, moved.dtype, moved.backend, metric, phase, unit,
    better, run_id, runs, n, baseline, value, change, low, high, noise, p, q, verdict, evidence,
    concat_ws(
        '; ', CASE WHEN metric = 'suite_speedup' AND verdict NOT IN ('SAME', 'UNSURE') THEN _speedup_reason(ln(1 + change), own_change, smallest) END, reason
    ) AS reason,
    since_run_id, since_at, since_commit, good_commit
FROM suite_shifts(judged, last := last, floor := floor, fdr := fdr) AS moved
LEFT JOIN suite_latencies AS own
    ON moved.config = own.config AND moved.machine IS NOT DISTINCT FROM own.machine AND moved.suite IS NOT DISTINCT FROM own.suite
    AND moved.mode IS NOT DISTINCT FROM own.mode AND moved.device IS NOT DISTINCT FROM own.device
    AND moved.dtype IS NOT DISTINCT FROM own.dtype AND moved.backend IS NOT DISTINCT FROM own.backend
