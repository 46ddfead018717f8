-- One value: the standard error of a mean over neighbouring blocks of time, from the deviations of the blocks in order of time;
-- NULL for fewer than 5. What slows several blocks in a row does not make them more certain: it is the error of overlapping
-- batches, each a fifth of the blocks (Meketon and Schmeiser 1984), which has 8 degrees of freedom at most.
--
-- arguments: deviations
CASE WHEN len(deviations) >= 5 THEN list_transform(
    [{'x': deviations, 'n': len(deviations), 'width': len(deviations) // 5}],
    lambda its: sqrt(
        list_avg(list_transform(
            range(1, its.n - its.width + 2), lambda start: pow(list_avg(its.x[start:start + its.width - 1]), 2)
        )) * its.width / (its.n - its.width)
    )
)[1] END
