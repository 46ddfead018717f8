-- One value: the probability, either way, that the values of one of two sides lie beyond those of the other as often as they do if both
-- come from one distribution (Mann and Whitney, Annals of Mathematical Statistics 18, 1947; normal, with its correction for continuity);
-- 0 where each lies beyond each.
--
-- arguments: xs, ys
list_transform(
    [{
        'pairs': len(xs) * len(ys)::DOUBLE,
        'above': list_sum(list_transform(xs, lambda x: list_sum(list_transform(ys, lambda y: (1 + sign(y - x)) / 2::DOUBLE))))
    }],
    lambda its: CASE WHEN its.above IN (0, its.pairs) THEN 0 ELSE least(1, 2 * _normal_tail(
        (abs(its.pairs / 2 - its.above) - 0.5::DOUBLE) / sqrt(its.pairs * (len(xs) + len(ys) + 1) / 12)
    )) END
)[1]
