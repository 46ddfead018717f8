-- One value: the verdict on what all cases of a metric share: its gain, half of the gain's interval, and its p, NULL of sides of different machines.
--
-- arguments: gain, reach, p, unit, floor, fdr
CASE
    WHEN abs(gain) + reach <= ln(1 + floor) THEN 'SAME'
    WHEN coalesce(p, 1) > fdr / 5 OR abs(gain) < ln(1 + floor) THEN 'UNSURE'
    ELSE _change_verdict(gain > 0, unit)
END
