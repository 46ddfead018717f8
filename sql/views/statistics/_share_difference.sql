-- One value: by how many standard errors two shares of failures differ, 0 where they are equal: the root of the likelihood ratio
-- statistic of their table of 2 × 2, with half a count less in each cell (Yates, Journal of the Royal Statistical Society Supplement 1, 1934).
--
-- arguments: failed, trials, other_failed, other_trials
list_transform(
    list_transform(
        [(failed + other_failed) * trials / nullif(trials + other_trials, 0)::DOUBLE],
        lambda expected: {'expected': expected, 'off': sign(failed - expected) * greatest(abs(failed - expected) - 0.5::DOUBLE, 0)}
    ),
    lambda it: sqrt(greatest(0, 2 * list_sum(list_transform(
        [
            {'count': it.expected + it.off, 'expected': it.expected},
            {'count': trials - it.expected - it.off, 'expected': trials - it.expected},
            {'count': failed + other_failed - it.expected - it.off, 'expected': failed + other_failed - it.expected},
            {
                'count': other_trials - failed - other_failed + it.expected + it.off,
                'expected': other_trials - failed - other_failed + it.expected
            }
        ],
        lambda cell: CASE WHEN cell.count > 0 THEN cell.count * ln(cell.count / cell.expected) ELSE 0 END
    ))))
)[1]
