-- One value: whether values of a unit are times or rates, which are faster or slower where others are better or worse.
--
-- arguments: unit
coalesce(unit = 'ns' OR unit LIKE '%/s', false)
