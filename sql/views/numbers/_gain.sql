-- One value: a change of ln(value) as a gain: above 0 is better, or more where neither way is better.
--
-- arguments: change, better
CASE better WHEN 'lower' THEN -change ELSE change END
