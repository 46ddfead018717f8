-- One value: how many works of a setting pass on every backend but that of a group of cases on which anything does; NULL where
-- there is no other.
-- `backends` counts those of the setting on which anything passes, `shared` those on which the work of a case does; works that
-- pass on all of them are `n_everywhere`, on all but one `n_but_one`.
--
-- arguments: in_mean, shared, backends, n_everywhere, n_but_one
CASE
    WHEN count(*) FILTER (in_mean) = 0 THEN max(n_everywhere)
    WHEN max(backends) > 1 THEN max(n_everywhere) + max(n_but_one) - count(*) FILTER (in_mean AND shared = backends - 1)
END
