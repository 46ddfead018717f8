-- One value: how far two sessions of the same code are apart, half of a 95 % interval of ln(ratio): assumed where nothing of
-- the store tells it.
-- Learnt from neighbouring nights of 145 models on public dashboards (PyTorch's, December 2022 and January 2023, 50 nights, 7,164
-- pairs a metric, real changes among them). |ln ratio| in percent, quantiles 50, 75, 90, 95, 98: latency 0.3, 0.8, 2.8, 6.1, 12.8;
-- speedup 0.3, 1.3, 4.3, 9.2, 14.9; compile time 1.4, 3.9, 13.2, 27.0, 37.9; memory compression 0, 0, 0.1, 0.7, 5.9. Memory
-- takes what 115 dashboards of the same fleet say, 6.8 % at 95, less the floor of 3 %; times lie midway between these 6.1 % and the
-- 9.5 % of all 115.
--
-- arguments: metric, phase, unit
CASE
    WHEN metric LIKE '%compil%' OR phase IN ('compile', 'cold') THEN 0.25::DOUBLE
    WHEN unit = 'bytes' OR metric LIKE 'compression%' THEN 0.038::DOUBLE
    WHEN unit = 'ratio' THEN 0.092::DOUBLE
    ELSE 0.078::DOUBLE
END
