-- One value: how far two sessions of the same code are apart, half of the interval of ln(ratio) that holds 95 %; of sides of
-- several processes, what 99.5 % do not exceed by the floor. Assumed where nothing of the store tells it.
-- Learnt from neighbouring nights of 145 models on public dashboards (PyTorch's, December 2022 and January 2023, 50 nights, 7,164
-- pairs a metric, real changes among them). |ln ratio| in percent, quantiles 50, 75, 90, 95, 98: latency 0.3, 0.8, 2.8, 6.1, 12.8;
-- speedup 0.3, 1.3, 4.3, 9.2, 14.9; compile time 1.4, 3.9, 13.2, 27.0, 37.9; memory compression 0, 0, 0.1, 0.7, 5.9. Memory
-- takes what 115 dashboards of the same fleet say, 6.8 % at 95, less the floor of 3 %; times lie midway between these 6.1 % and the
-- 9.5 % of all 115.
-- Where the five nights before and the five after agree within 3 %, nothing changed for good. 99.5 % of these pairs are within 19.5 %
-- (latency), 25.0 (speedup), 16.3 (compile time), 2.6 (memory compression): that is sure, and no less than the 95 %.
-- Files of 20 processes each are closer: of CPython built and measured again without a change on six machines (faster-cpython's A/A
-- tests of 2024 and 2025, 1,367 pairs of benchmarks) 7 are 8 % apart or more, 6 are 9 %, 4 are 10 %.
--
-- arguments: metric, phase, unit, processes
CASE
    WHEN metric LIKE '%compil%' OR phase IN ('compile', 'cold') THEN 0.25::DOUBLE
    WHEN unit = 'bytes' OR metric LIKE 'compression%' THEN 0.038::DOUBLE
    WHEN unit = 'ratio' THEN CASE WHEN processes IS NULL THEN 0.092::DOUBLE ELSE 0.245::DOUBLE END
    WHEN processes IS NULL THEN 0.078::DOUBLE
    WHEN processes < 20 THEN 0.195::DOUBLE
    ELSE 0.06::DOUBLE
END
