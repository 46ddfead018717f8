-- One value: the smallest change that counts, as a fraction: the one that was asked for, else that of the project's rule (_floor_rules)
-- for the metric and the case, else {floor}.
--
-- arguments: floor, floors, floor_metrics, floor_names, metric, name
coalesce(floor, floors[list_filter(range(1, len(floors) + 1), lambda i:
    (floor_metrics[i] IS NULL OR regexp_matches(metric, floor_metrics[i])) AND (floor_names[i] IS NULL OR regexp_matches(name, floor_names[i]))
)[1]], {floor}::DOUBLE)
