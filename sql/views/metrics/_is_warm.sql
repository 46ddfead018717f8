-- One value: whether a comparison shows this phase unless its user names phases: work that is warm, or has no phase.
--
-- arguments: phase
coalesce(phase NOT IN ('cold', 'warmup'), true)
