-- One value: the variance of the logarithm of a run's median as the run itself tells it: by how its processes differ; of one
-- process from the 95 % interval of its samples or, for fewer than 6, from their standard deviation (the median of normal
-- samples varies π / 2 times as much as their mean), a thousand times the median at most; NULL for one sample.
--
-- arguments: median, median_low, median_high, stdev, n, processes, process_spread
CASE
    WHEN processes > 1 AND process_spread >= 0 THEN process_spread * process_spread / processes
    WHEN median_low > 0 THEN pow((ln(median_high) - ln(median_low)) / (2 * 1.959963984540054::DOUBLE), 2)
    WHEN median > 0 AND stdev >= 0 THEN pi() / 2 * pow(least(stdev / median, 1000::DOUBLE), 2) / n
END
