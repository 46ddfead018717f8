-- One value: the geometric mean over the rows of a group that are in it, from their logarithms.
--
-- arguments: log_value, is_in
exp(_ordered_mean(list(log_value) FILTER (is_in)))
