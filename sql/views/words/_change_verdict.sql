-- One value: the verdict on what changed.
--
-- arguments: is_better, unit
CASE
    WHEN _is_time_or_rate(unit) THEN CASE WHEN is_better THEN 'FASTER' ELSE 'SLOWER' END
    ELSE CASE WHEN is_better THEN 'BETTER' ELSE 'WORSE' END
END
