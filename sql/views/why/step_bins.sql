-- One row per bin of scheduled tokens × time of a step, over all steps of some runs whose tokens have a bin in
-- `step_cells`: how many steps it has and what they take.
-- Mean times, for they add up: the mean of all steps is the sum of share × mean over the bins. The errors are of ratios, over 32
-- contiguous stretches of each file, since neighbouring steps resemble each other (Cochran, Sampling Techniques, 6.4). Steps in
-- fewer than ten stretches hardly tell how they differ, and one step does not at all: their error is by Student's t, and no less
-- than that of as many steps that differ, in proportion, as the steps within all bins do.
--
-- arguments: runs
--
-- metric       VARCHAR  model_run, schedule or step: the times of `step_cells`, in ns.
-- time_span    VARCHAR  What the time of the model run spans, where its writer says; NULL else.
-- tokens       VARCHAR  Bin, such as 512–1023.
-- least        BIGINT   Fewest tokens of the bin.
-- steps        BIGINT   Steps in it.
-- mean_tokens  DOUBLE   Mean tokens of a step.
-- share        DOUBLE   Steps in it / all steps, 0 to 1.
-- share_error  DOUBLE   Standard error of the share.
-- mean         DOUBLE   Mean time of a step, in ns.
-- mean_error   DOUBLE   Its standard error.
WITH
files AS (
    SELECT run_id, source_id, writer, max(greatest(line, 1)) AS lines
    FROM schedule_chunks
    WHERE list_contains(runs::VARCHAR[], run_id)
    GROUP BY run_id, source_id, writer
),
steps AS (
    SELECT
        files.run_id || coalesce(files.source_id, '') || coalesce(files.writer, '') AS file,
        floor((greatest(line, 1) - 1)::DOUBLE * 32 / lines)::BIGINT AS stretch, step.time_span, _step_tokens(chunk_sizes, total_tokens) AS tokens,
        unnest([
            {'metric': 'model_run', 'ms': model_run_ms}, {'metric': 'schedule', 'ms': schedule_ms},
            {'metric': 'step', 'ms': coalesce(step_ms, coalesce(schedule_ms, 0) + model_run_ms)}
        ]) AS time
    FROM schedule_chunks AS step
    JOIN files ON step.run_id = files.run_id AND step.source_id IS NOT DISTINCT FROM files.source_id
        AND step.writer IS NOT DISTINCT FROM files.writer
),
cells AS (
    SELECT
        time.metric AS metric, time_span, file, stretch, _token_bin(tokens) AS least,
        count(*)::DOUBLE AS n, sum(tokens)::DOUBLE AS all_tokens, sum(_fixed_point(time.ms, 1e6))::DOUBLE AS total, sum(pow(time.ms * 1e6, 2)) AS squares
    FROM steps
    WHERE time.ms IS NOT NULL AND tokens >= 0 AND tokens < 2 ** 53
    GROUP BY ALL
),
stretches AS (SELECT metric, time_span, file, stretch, sum(n) AS all_n FROM cells GROUP BY ALL),
bins AS (
    SELECT
        metric, time_span, least, sum(n) AS bin_n, sum(all_tokens) / sum(n) AS mean_tokens, sum(total) / sum(n) AS mean, count(*) AS own_pieces,
        greatest(sum(squares) - sum(total) * sum(total) / sum(n), 0) AS deviations
    FROM cells
    GROUP BY metric, time_span, least
),
spreads AS (
    SELECT
        metric, time_span,
        sqrt(sum(deviations / nullif(mean * mean, 0)) / nullif(sum(bin_n) - count(*), 0)) AS spread
    FROM bins
    GROUP BY metric, time_span
),
totals AS (SELECT metric, time_span, sum(all_n) AS every_n, count(*) AS pieces FROM stretches GROUP BY ALL),
residuals AS (  -- every bin in every stretch, for it may have no steps there
    SELECT
        bins.metric, bins.time_span, bins.least, bin_n, mean_tokens, mean, own_pieces, every_n, pieces,
        coalesce(total, 0) - mean * coalesce(n, 0) AS of_time, coalesce(n, 0) - bin_n / every_n * all_n AS of_count
    FROM bins
    JOIN totals ON bins.metric = totals.metric AND bins.time_span IS NOT DISTINCT FROM totals.time_span
    JOIN stretches ON bins.metric = stretches.metric AND bins.time_span IS NOT DISTINCT FROM stretches.time_span
    LEFT JOIN cells ON bins.metric = cells.metric AND bins.time_span IS NOT DISTINCT FROM cells.time_span AND bins.least = cells.least
        AND stretches.file = cells.file AND stretches.stretch = cells.stretch
)

SELECT
    residuals.metric, residuals.time_span, _token_bin_name(least) AS tokens, least,
    bin_n::BIGINT AS steps, mean_tokens, bin_n / every_n AS share,
    sqrt(pieces / nullif(pieces - 1, 0) * sum(of_count * of_count)) / every_n AS share_error,
    mean,
    _finite(CASE
        WHEN pieces < 2 THEN NULL
        WHEN own_pieces >= 10 THEN sqrt(pieces / nullif(pieces - 1, 0) * sum(of_time * of_time)) / bin_n
        WHEN own_pieces >= 2 THEN greatest(
            sqrt(pieces / nullif(pieces - 1, 0) * sum(of_time * of_time)) / bin_n * _t975(own_pieces - 1) / 1.96::DOUBLE,
            spread * mean / sqrt(bin_n)
        )
        ELSE spread * mean / sqrt(bin_n)
    END) AS mean_error
FROM residuals
JOIN spreads ON residuals.metric = spreads.metric AND residuals.time_span IS NOT DISTINCT FROM spreads.time_span
GROUP BY residuals.metric, residuals.time_span, least, bin_n, mean_tokens, mean, own_pieces, every_n, pieces, spread
