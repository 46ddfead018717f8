-- One row per run × case × metric × phase, be it measured (`cells`) or of scheduler steps (`step_cells`).
--
-- axes: run, case, value
-- n            BIGINT  Samples.
-- minimum      DOUBLE  Smallest.
-- q1           DOUBLE  First quartile.
-- median       DOUBLE  Median.
-- q3           DOUBLE  Third quartile.
-- maximum      DOUBLE  Largest.
-- mean         DOUBLE  Arithmetic mean.
-- stdev        DOUBLE  Standard deviation of the sample (n - 1); NULL for one sample.
-- median_low   DOUBLE  Lower end of the distribution-free 95 % interval of the median; NULL for fewer than 6 samples.
-- median_high  DOUBLE  Upper end: the k-th largest sample.
-- processes    BIGINT  Processes, forks or invocations that measured it; NULL where nobody said.
-- process_spread  DOUBLE  Standard deviation of ln(median) from process to process; NULL of fewer than two.
-- tokens       DOUBLE  Median tokens of the bin's scheduler steps; NULL of all else.
SELECT * FROM cells
UNION ALL BY NAME
SELECT * FROM step_cells
