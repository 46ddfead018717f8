-- One row per value of a series that `bench history` judges: the rows of `series`, and of whole suites, with a name of NULL,
-- suite_speedup (the geometric mean of the speedups of passing cases), suite_pass_rate and suite_compile_time (the mean
-- of passing cases).
-- A run that judged fewer than 5 cases of a suite and backend says no more than its cases do, and has no row for them.
--
-- config          VARCHAR    Config; together with case_id, metric, phase and unit it names the series.
-- axes: case without work_hash, value
-- case_id         VARCHAR    Case; of a suite 'suite/' and its name, mode, dtype, device and backend.
-- position        BIGINT     Place of the run in its series, from 1, the oldest.
-- run_id          VARCHAR    Run.
-- n               BIGINT     Samples of that run; of a suite the cases that the value is taken over.
-- value           DOUBLE     Their median; of a suite its number.
-- low             DOUBLE     Lower end of its 95 % interval within the run; NULL where there is none.
-- high            DOUBLE     Upper end.
WITH
suites AS (
    SELECT *, concat_ws('/', 'suite', suite, mode, dtype, device, backend) AS panel
    FROM _report_summaries
    WHERE total >= 5 AND is_typical
),
suite_values AS (
    SELECT
        *, 'suite_speedup' AS metric, NULL AS phase, 'ratio' AS unit, 'higher' AS better, n AS cases, speedup AS value, speedup * exp(-width) AS low,
        speedup * exp(width) AS high
    FROM suites
    UNION ALL
    SELECT
        *, 'suite_pass_rate', NULL, 'ratio', 'higher', total, passing / total, NULL, NULL
    FROM suites
    UNION ALL
    SELECT *, 'suite_compile_time', 'compile', 'ns', 'lower', n_compiled, mean_compile_ns, NULL, NULL
    FROM suites
)

SELECT
    config, case_id, suite, name, mode, device, dtype, backend, batch_size, sequence_length, parameters, metric, phase, unit,
    better, position, run_id, n, value, low, high
FROM series
UNION ALL
SELECT
    config, panel, suite, NULL, mode, device, dtype, backend, NULL, NULL, NULL, metric, phase, unit, better,
    row_number() OVER (PARTITION BY config, panel, metric ORDER BY began_at NULLS FIRST, run_id), run_id, cases, value, low, high
FROM suite_values
WHERE value IS NOT NULL
