-- One row per run × call path of folded stacks; a path that a file has several times is one.
--
-- arguments: runs
--
-- run_id   VARCHAR  Run of the file.
-- name     VARCHAR  Call path: its frames from the outermost, parted by semicolons.
-- samples  DOUBLE   How many it was seen in; NULL, infinite and negative counts are none.
SELECT run_id, name, sum(value) AS samples
FROM metrics
JOIN cases USING (run_id, case_id)
WHERE metric = 'samples' AND list_contains(runs::VARCHAR[], run_id) AND isfinite(value) AND value >= 0
GROUP BY run_id, name
