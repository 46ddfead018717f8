-- One row per run × imported file or process that recorded × time span: which scheduler steps there are of it.
-- Questions about steps need it to trim and to number them, and would read all steps for it.
--
-- axes: run
-- source_id      VARCHAR  Imported file; NULL for own recordings.
-- writer         VARCHAR  Process that recorded; NULL for imported files.
-- time_span      VARCHAR  What their times span; NULL for the model run.
-- steps          BIGINT   Steps.
-- last_line      BIGINT   Largest line.
-- lowest         HUGEINT  Smallest number of a step, its writer's or else its line, from 0; numbers beyond 2^53 do not count.
-- highest        HUGEINT  Largest.
-- lowest_shift   HUGEINT  Smallest difference between such a number and its line.
-- highest_shift  HUGEINT  Largest.
-- is_sampled     BOOLEAN  Whether any is of a capture that left steps out.
-- counters       BIGINT   Steps that are counted by their worker.
-- token_budget   BIGINT   Most tokens that a step may schedule.
SELECT
    run_id, config, source_id, writer, time_span, count(*) AS steps, max(line) AS last_line,
    min(number) FILTER (is_number) AS lowest, max(number) FILTER (is_number) AS highest,
    min(number - line) FILTER (is_number) AS lowest_shift, max(number - line) FILTER (is_number) AS highest_shift,
    bool_or(coalesce(capture_mode = 'sampled', false)) AS is_sampled, count(counter_id) AS counters,
    max(token_budget) AS token_budget
FROM (
    SELECT * EXCLUDE (writer), CASE WHEN source_id IS NULL THEN writer END AS writer, number BETWEEN 0 AND 9007199254740992 AS is_number
    FROM (SELECT *, coalesce(batch_id, line::HUGEINT - 1) AS number FROM schedule_chunks)
)
JOIN _touched USING (run_id)
GROUP BY run_id, config, source_id, writer, time_span
