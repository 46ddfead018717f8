-- One value: p after Benjamini and Hochberg, the share of false alarms to expect if this row and all of its family with a smaller p were called
-- changed (Journal of the Royal Statistical Society B 57, 1995). It looks at all rows of the step that calls it.
--
-- arguments: p, tests, place, family
least(1, min(p * tests / place) OVER (PARTITION BY family ORDER BY place DESC))
