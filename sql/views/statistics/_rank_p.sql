-- One value: the probability, either way, that the values of one of two sides lie beyond those of the other as often as they do if both
-- come from one distribution (Mann and Whitney, Annals of Mathematical Statistics 18, 1947; normal, with its correction for continuity);
-- 0 where each lies beyond each. Of equal values one half counts as above: the mean of both orders in which they may be sorted.
--
-- arguments: xs, ys
list_transform(
    [{
        'pairs': len(xs) * len(ys)::DOUBLE,
        'above': list_avg(list_transform([-1, 1], lambda tie: list_transform(
            [list_sort(list_concat(
                list_transform(xs, lambda x: {'value': x, 'tie': 0}), list_transform(ys, lambda y: {'value': y, 'tie': tie})
            ))],
            lambda sorted: list_sum(list_transform(range(1, len(sorted) + 1), lambda i: CASE WHEN sorted[i].tie = 0 THEN 0 ELSE i END))
        )[1])) - len(ys) * (len(ys) + 1) / 2
    }],
    lambda its: CASE WHEN its.above IN (0, its.pairs) THEN 0 ELSE least(1, 2 * _normal_tail(
        (abs(its.pairs / 2 - its.above) - 0.5::DOUBLE) / sqrt(its.pairs * (len(xs) + len(ys) + 1) / 12)
    )) END
)[1]
