-- One row per run × bin of scheduled tokens × metric, and one over all steps: scheduler steps summed up as `cells` are.
-- Neighbouring steps resemble each other (the same requests, the same load), so the step is no independent sample. The
-- steps of a run, in the order of its files and lines, are cut into 32 contiguous stretches, and each stretch counts as one
-- sample: the method of batch means (Law, Simulation Modeling and Analysis, 9.5; beyond some 30 stretches little is gained,
-- Schmeiser, Operations Research 30, 1982). In a bin the sample is the median of its steps in the stretch, immune to
-- hiccups. Over all steps the value is their mean, '<metric>_mean', for a median of prefills and decodes tells of neither; its
-- error is that of a ratio of the stretches' totals (Cochran, Sampling Techniques, 6.4). Token counts of 2^53 and more, and
-- negative ones, have no bin. Steps whose times span different things are different cases. A capture that left steps out has no
-- tokens_per_second. All axes but suite, name and parameters are NULL: a profile does not say.
--
-- axes: run, case
-- case_id          VARCHAR  Hash of suite, name and bin: the same in every run.
-- work_hash        VARCHAR  The same: steps of so many tokens are taken for the same work.
-- suite            VARCHAR  'scheduler'.
-- name             VARCHAR  'step'.
-- parameters       JSON     {"tokens": "512–1023"}, or {"tokens": "all"}; with "span" where its writer says what the times span.
-- metric           VARCHAR  model_run, schedule or step (what its writer says, else the sum of both), as time of one step; step
--                           only where it tells more than model_run. With '_mean' over all steps, and tokens_per_second, their
--                           tokens / their time. In a bin that would mostly tell where in the bin the steps lie.
-- phase            VARCHAR  'steady'.
-- unit             VARCHAR  ns, or tokens/s.
-- better           VARCHAR  'lower' for times, 'higher' for tokens/s.
-- n                BIGINT   Stretches that have such steps, 32 at most.
-- minimum          DOUBLE   Smallest of their values.
-- q1               DOUBLE   First quartile.
-- median           DOUBLE   Median; over all steps their mean, or all tokens / all time.
-- q3               DOUBLE   Third quartile.
-- maximum          DOUBLE   Largest.
-- mean             DOUBLE   Arithmetic mean.
-- stdev            DOUBLE   Standard deviation (n - 1); NULL for one stretch.
-- median_low       DOUBLE   Lower end of its 95 % interval: distribution-free over stretches, as in `cells`; over all steps by
--                           Student's t, of the logarithm. NULL for fewer than 6 stretches.
-- median_high      DOUBLE   Upper end.
-- tokens           DOUBLE   Median, over the stretches, of the median tokens of the bin's steps; NULL over all steps.
WITH
named AS (
    SELECT source_id, min(name) AS name
    FROM sources
    WHERE run_id IN (SELECT run_id FROM _touched)
    GROUP BY source_id
),
files AS (  -- by length, then name: profile_2 before profile_10
    SELECT
        *, sum(lines::DOUBLE) OVER (PARTITION BY run_id) AS lines_of_run,
        sum(lines::DOUBLE) OVER (PARTITION BY run_id ORDER BY length(name), name, source_id, writer) - lines AS before
    FROM (
        SELECT run_id, source_id, writer, max(greatest(line, 1)) AS lines
        FROM schedule_chunks
        WHERE run_id IN (SELECT run_id FROM _touched)
        GROUP BY run_id, source_id, writer
    )
    LEFT JOIN named USING (source_id)
),
steps AS (  -- whole numbers: their sums do not depend on the order of adding
    SELECT
        run_id, floor((before + greatest(line, 1) - 1) * 32 / lines_of_run)::BIGINT AS stretch,
        CASE WHEN abs(given::HUGEINT) < 2 ** 53 THEN given END AS tokens,
        _fixed_point(model_run_ms, 1e6) AS model_run, _fixed_point(schedule_ms, 1e6) AS schedule,
        _fixed_point(coalesce(step_ms, schedule_ms + model_run_ms), 1e6) AS step,
        _fixed_point(coalesce(step_ms, coalesce(schedule_ms, 0) + model_run_ms), 1e6) AS taken, time_span,
        coalesce(capture_mode = 'sampled', false) AS is_sampled
    FROM (SELECT *, _step_tokens(chunk_sizes, total_tokens) AS given FROM schedule_chunks)
        AS schedule_chunks
    JOIN files USING (run_id)
    WHERE schedule_chunks.source_id IS NOT DISTINCT FROM files.source_id
        AND schedule_chunks.writer IS NOT DISTINCT FROM files.writer
),
stretches AS (
    SELECT
        run_id, stretch, time_span, bool_or(is_sampled) AS is_sampled,
        _token_bin(tokens) AS least,
        median(model_run) AS model_run, median(schedule) AS schedule, median(step) AS step, median(tokens) AS size,
        sum(model_run::HUGEINT) AS model_runs, count(model_run) AS n_model_run,
        sum(schedule::HUGEINT) AS schedules, count(schedule) AS n_schedule, sum(step::HUGEINT) AS steps, count(step) AS n_step,
        sum(tokens::HUGEINT) FILTER (taken > 0) AS tokens, sum(taken::HUGEINT) FILTER (tokens >= 0 AND taken > 0) AS busy
    FROM steps
    GROUP BY ALL
),
of_all AS (
    SELECT
        run_id, stretch, time_span, bool_or(is_sampled) AS is_sampled, sum(model_runs)::DOUBLE AS model_run,
        sum(n_model_run)::DOUBLE AS n_model_run, sum(schedules)::DOUBLE AS schedule, sum(n_schedule)::DOUBLE AS n_schedule,
        sum(steps)::DOUBLE AS step, sum(n_step)::DOUBLE AS n_step,
        sum(tokens) FILTER (least >= 0)::DOUBLE AS tokens, sum(busy)::DOUBLE AS busy
    FROM stretches
    GROUP BY run_id, stretch, time_span
),
samples AS (
    SELECT
        run_id, stretch, time_span, _token_bin_name(least) AS tokens, size,
        unnest([
            {'metric': 'model_run', 'total': model_run, 'weight': 1.0::DOUBLE},
            {'metric': 'schedule', 'total': schedule, 'weight': 1.0::DOUBLE},
            {'metric': 'step', 'total': step, 'weight': 1.0::DOUBLE}
        ]) AS sample
    FROM stretches
    WHERE least IS NOT NULL
    UNION ALL
    SELECT
        run_id, stretch, time_span, 'all', NULL,
        unnest([
            {'metric': 'model_run_mean', 'total': model_run, 'weight': n_model_run},
            {'metric': 'schedule_mean', 'total': schedule, 'weight': n_schedule},
            {'metric': 'step_mean', 'total': step, 'weight': n_step},
            {'metric': 'tokens_per_second', 'total': CASE WHEN NOT is_sampled THEN 1e9 * tokens END, 'weight': busy}
        ]) AS sample
    FROM of_all
),
sorted AS (
    SELECT
        run_id, time_span, tokens, sample.metric AS metric, list_sort(list(sample.total / sample.weight)) AS x,
        median(size) AS size,
        list(sample ORDER BY stretch) FILTER (tokens = 'all') AS parts
    FROM samples
    WHERE sample.total IS NOT NULL AND sample.weight > 0
    GROUP BY ALL
),
means AS (
    SELECT
        *, list_avg(list_transform(parts, lambda part: part.total)) / list_avg(list_transform(parts, lambda part: part.weight))
            AS mean_of_all
    FROM sorted
),
errors AS (
    SELECT
        *, sqrt(list_avg(list_transform(parts, lambda part: pow(part.total / mean_of_all - part.weight, 2))) / (len(x) - 1))
            / list_avg(list_transform(parts, lambda part: part.weight)) AS error
    FROM means
),
ranked AS (
    SELECT
        *, len(x) AS n,
        CASE WHEN len(x) >= 6 THEN floor((len(x) + 1 - 1.959963984540054 * sqrt(len(x))) / 2)::BIGINT END AS k,
        CASE WHEN len(x) >= 6 THEN exp(_t975(len(x) - 1) * error) END AS factor
    FROM errors
)

SELECT
    run_id, config, left(sha256('scheduler step ' || tokens || coalesce(' ' || time_span, '')), 16) AS case_id, case_id AS work_hash,
    'scheduler' AS suite, 'step' AS name, {axis without suite name parameters: NULL::type AS axis},
    CASE WHEN time_span IS NULL THEN json_object('tokens', tokens) ELSE json_object('tokens', tokens, 'span', time_span) END
        AS parameters, metric, 'steady' AS phase,
    CASE WHEN metric = 'tokens_per_second' THEN 'tokens/s' ELSE 'ns' END AS unit,
    CASE WHEN metric = 'tokens_per_second' THEN 'higher' ELSE 'lower' END AS better,
    n,
    x[1] AS minimum,
    list_aggregate(x, 'quantile_cont', 0.25) AS q1,
    coalesce(mean_of_all, list_aggregate(x, 'quantile_cont', 0.5)) AS median,
    list_aggregate(x, 'quantile_cont', 0.75) AS q3,
    x[n] AS maximum,
    list_avg(x) AS mean,
    list_stddev_samp(x) AS stdev,
    _finite(coalesce(mean_of_all / factor, x[k])) AS median_low,
    _finite(coalesce(mean_of_all * factor, x[n + 1 - k])) AS median_high,
    size AS tokens
FROM ranked
JOIN _touched USING (run_id)
