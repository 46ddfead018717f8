-- One row per request that counts, with what it is a part of: its run's record, and the block of time in that.
-- The requests of a record (a benchmark of one case) are cut by their arrival into blocks of equal time, 20 or as many as have 10
-- requests each on average; where nobody says when they arrived, by their number. A block begun late or ended early by the
-- ramp counts as the others.
--
-- arguments: ttft := NULL, tpot := NULL, e2e := NULL, configs := NULL, runs := NULL
--
-- axes: run
-- case_id     VARCHAR  Case: the model with its load and settings.
-- source_id   VARCHAR  Imported file; NULL for own recordings.
-- line        BIGINT   Record in that file.
-- block       BIGINT   Block of time within the record, from 0.
-- blocks      BIGINT   Blocks of the record.
-- arrival_s   DOUBLE   When it was sent.
-- ended_s     DOUBLE   When it was sent and its latency had passed.
-- tokens_out  DOUBLE   Generated tokens, 0 of a request that did not complete.
-- ttft_ms     DOUBLE   Time to its first token.
-- tpot_ms     DOUBLE   Time per output token after the first.
-- e2e_ms      DOUBLE   Time to its last token.
-- is_ok       BOOLEAN  Whether it completed.
-- is_good     BOOLEAN  Whether it did so within all limits given: a time of exactly a limit is within. A response of one token
--                      has no tpot, which therefore is within; what else is missing is not.
WITH
chosen AS (
    SELECT *, outcome = 'ok' AS is_ok
    FROM requests
    WHERE (configs IS NULL OR list_contains(configs::VARCHAR[], config)) AND (runs IS NULL OR list_contains(runs::VARCHAR[], run_id))
),
ranges AS (
    SELECT
        run_id, case_id, source_id, line, greatest(least(count(*) // 10, 20), 1) AS blocks, count(arrival_s) = count(*) AS is_timed,
        min(arrival_s) AS first_s, max(arrival_s) AS last_s, min(sample)::DOUBLE AS first_sample, max(sample)::DOUBLE AS last_sample
    FROM requests
    WHERE (configs IS NULL OR list_contains(configs::VARCHAR[], config)) AND (runs IS NULL OR list_contains(runs::VARCHAR[], run_id))
    GROUP BY run_id, case_id, source_id, line
)

SELECT
    chosen.run_id, config, chosen.case_id, chosen.source_id, chosen.line,
    least(blocks - 1, floor(coalesce(
        CASE WHEN is_timed THEN (arrival_s - first_s) / nullif(last_s - first_s, 0)
            ELSE (sample - first_sample) / nullif(last_sample - first_sample, 0) END, 0
    ) * blocks))::BIGINT AS block, blocks,
    arrival_s, arrival_s + coalesce(e2e_ms, 0) / 1e3::DOUBLE AS ended_s,
    CASE WHEN is_ok THEN coalesce(tokens_out, 0) ELSE 0 END AS tokens_out, ttft_ms, tpot_ms, e2e_ms, is_ok,
    is_ok AND (ttft IS NULL OR coalesce(ttft_ms <= ttft, false))
        AND (tpot IS NULL OR coalesce(tpot_ms <= tpot, tokens_out <= 1, false)) AND (e2e IS NULL OR coalesce(e2e_ms <= e2e, false)) AS is_good
FROM chosen
JOIN ranges
    ON chosen.run_id = ranges.run_id AND chosen.case_id = ranges.case_id
    AND chosen.source_id IS NOT DISTINCT FROM ranges.source_id AND chosen.line IS NOT DISTINCT FROM ranges.line
