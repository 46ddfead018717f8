-- One value: the 50th, 90th and 99th percentile of a list of numbers, interpolated; each NULL for a list without numbers.
--
-- arguments: numbers
[
    list_aggregate(numbers, 'quantile_cont', 0.5), list_aggregate(numbers, 'quantile_cont', 0.9),
    list_aggregate(numbers, 'quantile_cont', 0.99)
]
