-- One value: what made a speedup change, in words; NULL where its baseline did not change by the floor or more. The baseline's change
-- follows from those of the speedup and of the case itself.
--
-- arguments: speedup_change, own_change, smallest
list_transform([speedup_change - own_change], lambda baseline: CASE WHEN abs(baseline) >= ln(1 + smallest)
    THEN format('the baseline is {:.2f}x {}, the backend itself {}', exp(abs(baseline)), CASE WHEN baseline < 0 THEN 'faster' ELSE 'slower' END,
        CASE WHEN abs(own_change) < ln(1 + smallest) THEN format('the same within {:g} %', 100 * smallest)
            ELSE format('{:.2f}x {}', exp(abs(own_change)), CASE WHEN own_change > 0 THEN 'faster' ELSE 'slower' END) END)
END)[1]
