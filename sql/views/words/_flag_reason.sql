-- One value: why a case is flagged, in words.
--
-- arguments: metric, value, low, high, n, threshold, cause
CASE
    WHEN cause IS NOT NULL THEN cause
    WHEN metric = 'compile_latency' THEN format('compiling took {:.1f} s, above {:g} s', value, threshold)
    WHEN metric = 'compression_ratio' THEN format('memory compression {:.3f} is below {:g}', value, threshold)
    WHEN low IS NULL THEN format('speedup {:.3f} is below {:g}', value, threshold)
    ELSE format('speedup {:.3f} (95 % {:.3f}–{:.3f}, n={}) is below {:g}', value, low, high, n, threshold)
END
