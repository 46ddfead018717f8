-- One row per value of a series that `bench history` judges, as in `history_series` but without its position: what a series needs
-- costs a fraction of counting the places of all.
--
-- config          VARCHAR    Config; together with case_id, metric, phase and unit it names the series.
-- axes: case without work_hash, value
-- case_id         VARCHAR    Case; of a suite 'suite/' and its name, mode, dtype, device and backend.
-- run_id          VARCHAR    Run.
-- n               BIGINT     Samples of that run; of a suite the cases that the value is taken over.
-- value           DOUBLE     Their median; of a suite its number.
-- low             DOUBLE     Lower end of its 95 % interval within the run; NULL where there is none.
-- high            DOUBLE     Upper end.
SELECT config, case_id, {axes}, metric, phase, unit, better, run_id, n, value, low, high
FROM _placed_cells
UNION ALL BY NAME
SELECT config, case_id, suite, mode, device, dtype, backend, metric, phase, unit, better, run_id, cases AS n, value, low, high
FROM suite_series
