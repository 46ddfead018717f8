-- One row per request that completed, with what its time went to, as far as its tool says: the queue and the prefill in the engine, and
-- the gaps between its tokens. A stall is what a gap takes beyond twice the median gap of its case in its run: in it the engine did
-- something else, such as a prefill of another request.
--
-- arguments: runs
--
-- axes: run
-- case_id     VARCHAR  Case: the model with its load and settings.
-- arrival_s   DOUBLE   When it was sent, as in `requests`; else its number.
-- ttft_ms     DOUBLE   Time to its first token.
-- e2e_ms      DOUBLE   Time to its last token.
-- tpot_ms     DOUBLE   Time per output token after the first.
-- tokens_out  DOUBLE   Generated tokens.
-- queue_ms    DOUBLE   Until the engine first scheduled it; NULL where nobody says.
-- prefill_ms  DOUBLE   From then to its first token, by the engine's clock; NULL where nobody says.
-- gaps        BIGINT   Gaps between its tokens; NULL where its record does not have those of all requests.
-- gaps_ms     DOUBLE   All of them together.
-- stalls_ms   DOUBLE   What they take beyond twice the median gap each.
WITH
served AS (FROM requests WHERE list_contains(runs::VARCHAR[], run_id) AND outcome = 'ok'),
samples AS (
    SELECT
        run_id, case_id, source_id, CASE WHEN source_id IS NOT NULL THEN line END AS line, sample, metric,
        (duration_ns / loops)::DOUBLE AS value
    FROM timings
    WHERE metric IN ('queue_time', 'prefill_time', 'itl') AND phase = 'steady' AND sample IS NOT NULL AND loops > 0
        AND list_contains(runs::VARCHAR[], run_id)
    UNION ALL
    SELECT run_id, case_id, source_id, CASE WHEN source_id IS NOT NULL THEN line END, sample, metric, value
    FROM metrics
    WHERE (metric = 'itl_count' OR metric = 'itl' AND unit = 'ns') AND statistic IS NULL AND sample IS NOT NULL
        AND coalesce(phase, 'steady') = 'steady' AND value >= 0 AND _finite(value) IS NOT NULL AND list_contains(runs::VARCHAR[], run_id)
),
engine_times AS (
    SELECT
        run_id, case_id, source_id, line, sample,
        min(value) FILTER (metric = 'queue_time') AS queued, min(value) FILTER (metric = 'prefill_time') AS prefilled
    FROM samples
    WHERE metric IN ('queue_time', 'prefill_time')
    GROUP BY run_id, case_id, source_id, line, sample
),
counts AS (  -- of completed requests, whose gaps are numbered through all of a record
    SELECT
        counted.run_id, counted.case_id, counted.source_id, counted.line, counted.sample, counted.value AS gaps,
        sum(counted.value) OVER (
            PARTITION BY counted.run_id, counted.case_id, counted.source_id, counted.line ORDER BY counted.sample
        ) - counted.value AS first
    FROM samples AS counted
    JOIN served ON counted.run_id = served.run_id AND counted.case_id = served.case_id
        AND counted.source_id IS NOT DISTINCT FROM served.source_id AND counted.sample = served.sample
        AND (served.line IS NULL OR counted.line = served.line)
    WHERE counted.metric = 'itl_count'
),
medians AS (SELECT run_id, case_id, median(value) AS gap FROM samples WHERE metric = 'itl' GROUP BY run_id, case_id),
marks AS (
    SELECT run_id, case_id, source_id, line, first AS place, sample AS request, NULL::DOUBLE AS value FROM counts WHERE gaps > 0
    UNION ALL
    SELECT run_id, case_id, source_id, line, sample, NULL, value FROM samples WHERE metric = 'itl'
),
owned AS (
    SELECT
        run_id, case_id, source_id, line, value, max(request) OVER (
            PARTITION BY run_id, case_id, source_id, line ORDER BY place, value NULLS FIRST ROWS UNBOUNDED PRECEDING
        ) AS request
    FROM marks
),
told AS (
    SELECT
        owned.run_id, owned.case_id, source_id, line, request, count(*) AS gaps, sum(value) AS total,
        sum(greatest(value - 2 * gap, 0)) AS stalled
    FROM owned
    JOIN medians ON owned.run_id = medians.run_id AND owned.case_id = medians.case_id
    WHERE value IS NOT NULL
    GROUP BY owned.run_id, owned.case_id, source_id, line, request
),
gaps_of AS (  -- no gap is known of a record that lacks some
    SELECT
        counts.*, coalesce(told.gaps, 0) AS found, coalesce(total, 0) AS total, coalesce(stalled, 0) AS stalled,
        bool_and(counts.gaps = coalesce(told.gaps, 0)) OVER (
            PARTITION BY counts.run_id, counts.case_id, counts.source_id, counts.line
        ) AS is_whole
    FROM counts
    LEFT JOIN told ON counts.run_id = told.run_id AND counts.case_id = told.case_id
        AND counts.source_id IS NOT DISTINCT FROM told.source_id AND counts.line IS NOT DISTINCT FROM told.line
        AND counts.sample = told.request
)

SELECT
    served.run_id, served.config, served.case_id, coalesce(arrival_s, served.sample) AS arrival_s, ttft_ms, e2e_ms, tpot_ms, tokens_out,
    queued / 1e6::DOUBLE AS queue_ms, prefilled / 1e6::DOUBLE AS prefill_ms,
    CASE WHEN is_whole THEN found END AS gaps, CASE WHEN is_whole THEN total / 1e6::DOUBLE END AS gaps_ms,
    CASE WHEN is_whole THEN stalled / 1e6::DOUBLE END AS stalls_ms
FROM served
LEFT JOIN engine_times ON served.run_id = engine_times.run_id AND served.case_id = engine_times.case_id
    AND served.source_id IS NOT DISTINCT FROM engine_times.source_id AND served.sample = engine_times.sample
    AND (served.line IS NULL OR engine_times.line = served.line)
LEFT JOIN gaps_of ON served.run_id = gaps_of.run_id AND served.case_id = gaps_of.case_id
    AND served.source_id IS NOT DISTINCT FROM gaps_of.source_id AND served.sample = gaps_of.sample
    AND (served.line IS NULL OR gaps_of.line = served.line)
