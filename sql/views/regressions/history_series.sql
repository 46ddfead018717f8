-- One row per value of a series that `bench history` judges: the rows of `series`, and of whole suites, with a name of NULL,
-- those of `suite_series`.
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
SELECT
    config, case_id, {axes}, metric, phase, unit,
    better, position, run_id, n, value, low, high
FROM series
UNION ALL BY NAME
SELECT
    config, case_id, suite, mode, device, dtype, backend, metric, phase, unit, better,
    row_number() OVER (PARTITION BY config, case_id, metric ORDER BY began_at NULLS FIRST, run_id) AS position,
    run_id, cases AS n, value, low, high
FROM suite_series
