-- One value: whether a count is read from a processor or kernel, so that one reading does not tell whether repeats agree.
--
-- arguments: metric
regexp_matches(metric, 'instructions|cycles|branch|cache|misses|references|faults|switches|migrations|(l1|ll|tlb)_?(hits|accesses)')
