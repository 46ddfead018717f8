-- One row per bin of scheduler steps whose median number of tokens differs between two sides by `floor` or more.
-- Where a setting makes other steps, as a token budget does, those of a bin (see step_cells) take longer or shorter for that alone.
--
-- arguments: base, candidate, floor
--
-- bin               VARCHAR  Numbers of tokens, such as 1024–2047.
-- base_tokens       DOUBLE   Median tokens of the steps of `base`, a list of run ids.
-- candidate_tokens  DOUBLE   The same of `candidate`.
WITH
steps AS (
    SELECT list_contains(base::VARCHAR[], run_id) AS is_base, _step_tokens(chunk_sizes, total_tokens) AS tokens
    FROM schedule_chunks
    WHERE list_contains(base::VARCHAR[], run_id) OR list_contains(candidate::VARCHAR[], run_id)
),
bins AS (
    SELECT
        (2 ** floor(log2(tokens)))::BIGINT AS least, median(tokens) FILTER (is_base) AS base_tokens,
        median(tokens) FILTER (NOT is_base) AS candidate_tokens
    FROM steps
    WHERE tokens BETWEEN 2 AND 9007199254740991
    GROUP BY ALL
)

SELECT least || '–' || (2 * least - 1) AS bin, base_tokens, candidate_tokens
FROM bins
WHERE abs(ln(base_tokens / candidate_tokens)) >= ln(1 + floor)
