-- One row per case × metric × phase that the runs under judgement measured: whether it got worse since the runs before.
-- `judged` is a list of run ids: one run, or a run and its repeats. Of each config, the last `last` runs before the first of
-- these that measured the series are the baseline, on the same host (see _regression_runs for where these are too few).
--
-- The value of a run is x = ln(median), of a count ln(1 + median); a case that failed has none. The level of the baseline is
-- the median b of its n values, their spread the median absolute deviation from it, · 1.4826 n / (n - 0.8) (Croux and
-- Rousseeuw, Compstat 1992), never below a tenth of `floor`: it is worth 0.37 (n - 1) degrees of freedom. Where most values
-- are equal it is the mean absolute deviation · 1.2533, and p is no less than the share of the values that are as far off.
--
-- A few runs say little about one case, so its variance is moderated towards the median variance of all cases of the metric.
-- The more alike these variances are, the more weight their median has (Smyth, Statistical Applications in Genetics and
-- Molecular Biology 3, 2004); no variance falls more than two of its standard errors below its own value. The noise is the
-- square root of the result or, where that is larger, the sampling error within a judged run. A judged value varies by the
-- noise, too, so the standard deviation of x - b is noise · √(1 + π / 2n).
--
-- All judged runs must show a change, so the run with the smallest change counts. p is two-sided, by Student's t. With two or
-- more judged runs it is squared, the probability that chance does this twice; the power stays 2, because repeats within an
-- hour share disturbances. q is p after Benjamini and Hochberg over all rows. accuracy_error is not judged: it has its own
-- tolerances.
--
-- arguments: judged, last := 20, floor := 0.03, fdr := 0.05, least := 5
--
-- config        VARCHAR    Config.
-- axes: case without work_hash, value
-- better        VARCHAR    'higher' or 'lower'; what has no direction is not judged.
-- run_id        VARCHAR    First judged run that measured it.
-- runs          BIGINT     Judged runs that measured it.
-- n             BIGINT     Runs of the baseline.
-- baseline      DOUBLE     Their level.
-- value         DOUBLE     The judged runs' (geometric) mean.
-- change        DOUBLE     value / baseline - 1; NULL where the baseline is 0.
-- low           DOUBLE     Lower end of its 95 % interval, by that error or the differences of the judged runs, whichever
--                          is more.
-- high          DOUBLE     Upper end.
-- noise         DOUBLE     Standard deviation of ln(value) from run to run, moderated.
-- p             DOUBLE     Probability that runs without a change differ as much; NULL where that cannot be judged.
-- q             DOUBLE     Share of false alarms to expect if this row and all with a smaller p were called changed.
-- verdict       VARCHAR    REGRESSED, or of one run alone SUSPECTED: worse by the floor or more, and q within `fdr`.
--                          IMPROVED: better likewise. UNSURE: too little data, or a change with p within `fdr` but q
--                          above it. STEADY: none of these.
-- reason        VARCHAR    Why, in one line.
-- since_run_id  VARCHAR    Run the change begins with: the first of those before, without a gap, that are beyond the floor
--                          too.
-- since_at      TIMESTAMP  When that run began.
-- since_commit  VARCHAR    Commit it measured.
-- good_commit   VARCHAR    Commit of the last run before it.
WITH
failed_cases AS (SELECT run_id, case_id FROM case_outcomes WHERE kind = 'performance' AND failed),
run_values AS (
    SELECT
        run.config, place, is_judged, anywhere, cell.run_id, cell.case_id, metric, phase, unit, better,
        CASE WHEN unit = 'count' THEN 1 ELSE 0 END AS plus,
        ln(greatest(median + plus, 1e-300)) AS x,  -- zero is far below everything
        CASE WHEN median_low > 0 THEN ln(median_high / median_low) / (2 * 1.959963984540054::DOUBLE) END AS sampling
    FROM _all_cells AS cell
    JOIN _regression_runs(judged, last, least) AS run ON cell.run_id = run.run_id
    LEFT JOIN failed_cases ON cell.run_id = failed_cases.run_id AND cell.case_id = failed_cases.case_id
    WHERE better IS NOT NULL AND metric <> 'accuracy_error' AND failed_cases.run_id IS NULL
),
series AS (  -- newest first
    SELECT
        config, case_id, metric, phase, unit, any_value(plus) AS plus, bool_or(anywhere) AS anywhere,
        CASE min(better) WHEN 'higher' THEN -1 ELSE 1 END AS worse,
        arg_min(run_id, place) FILTER (is_judged) AS run_id, min(place) FILTER (is_judged) AS place,
        list(x) FILTER (is_judged) AS now, max(sampling) FILTER (is_judged) AS sampling,
        coalesce(arg_max(x, place, last) FILTER (NOT is_judged), []) AS before,
        coalesce(max(place, last) FILTER (NOT is_judged), []) AS places
    FROM run_values
    GROUP BY config, case_id, metric, phase, unit
    HAVING bool_or(is_judged)
),
levels AS (
    SELECT
        *, len(now) AS runs, len(before) AS n, list_median(before) AS b, list_avg(now) AS level,
        list_min(now) > -600 AND coalesce(list_median(before), 0) > -600 AS has_ratio
    FROM series
),
deviations AS (
    SELECT
        *, 0.37::DOUBLE * (greatest(n, 2) - 1) AS d, list_transform(before, lambda x: abs(x - b)) AS deviations,
        list_transform(now, lambda x: worse * (x - b)) AS effects
    FROM levels
),
spreads AS (
    SELECT
        *, list_median(deviations) AS mad,
        CASE WHEN list_min(effects) > 0 THEN list_min(effects) WHEN list_max(effects) < 0 THEN list_max(effects) ELSE 0 END AS effect,
        list_max(list_transform(effects, lambda x: abs(x))) AS most
    FROM deviations
),
own_spreads AS (
    SELECT
        *,
        CASE WHEN n >= least AND has_ratio THEN greatest(floor / 10, n / (n - 0.8::DOUBLE) * CASE
            WHEN mad > 0 THEN 1.4826::DOUBLE * mad ELSE 1.2533::DOUBLE * list_avg(deviations)
        END) END AS own
    FROM spreads
),
pooled_variances AS (  -- how much the variances differ beyond what chance does with so many degrees: 2 / d + 2 / d² is trigamma(d / 2)
    SELECT
        *, median(own * own) OVER cases AS pool, (count(own) OVER cases - 1) * avg(d) FILTER (own > 0) OVER cases AS d_most,
        var_samp(2 * ln(own)) OVER cases - avg(2 / d + 2 / (d * d)) FILTER (own > 0) OVER cases AS excess
    FROM own_spreads
    WINDOW cases AS (PARTITION BY config, metric, phase, unit)
),
pool_weights AS (
    SELECT
        *,
        CASE
            WHEN d_most = 0 THEN 0
            WHEN excess > 0 THEN least(d_most, (1 + sqrt(1 + 2 * excess)) / excess)
            ELSE d_most
        END AS d_pool
    FROM pooled_variances
),
moderated_noise AS (
    SELECT
        *, d + d_pool AS degrees,
        sqrt(greatest(
            (d * own * own + d_pool * pool * n / (n - 0.8::DOUBLE)) / (d + d_pool), own * own / (1 + 2 * sqrt(2 / d))
        )) AS noise
    FROM pool_weights
),
effective_noise AS (SELECT *, CASE WHEN noise IS NOT NULL THEN greatest(noise, sampling) END AS doubt FROM moderated_noise),
test_results AS (
    SELECT
        *,
        _t975(degrees) * greatest(doubt, list_stddev_samp(now)) * sqrt(1 / runs + pi() / (2 * n)) AS reach,  -- half the interval
        CASE
            WHEN doubt IS NULL THEN NULL
            WHEN effect = 0 THEN 1
            ELSE least(1, pow(greatest(
                2 * _t_tail(abs(effect) / doubt / sqrt(1 + pi() / (2 * n)), degrees),
                CASE WHEN mad = 0 THEN len(list_filter(deviations, lambda x: x >= abs(effect))) / n ELSE 0 END
            ), least(runs, 2)))
        END AS p
    FROM effective_noise
),
p_ranks AS (
    SELECT *, count(p) OVER () AS tests, row_number() OVER (ORDER BY p NULLS LAST) AS rank
    FROM test_results
),
q_values AS (
    SELECT
        *,
        CASE WHEN p IS NOT NULL THEN least(1, min(p * tests / rank) OVER (ORDER BY rank DESC)) END AS q,
        abs(effect) >= ln(1 + floor) AS beyond
    FROM p_ranks
),
judgements AS (
    SELECT
        *,
        CASE
            WHEN p IS NULL THEN 'UNSURE'
            WHEN beyond AND q <= fdr AND effect < 0 THEN 'IMPROVED'
            WHEN beyond AND q <= fdr THEN CASE WHEN runs > 1 THEN 'REGRESSED' ELSE 'SUSPECTED' END
            WHEN beyond AND p <= fdr THEN 'UNSURE'
            ELSE 'STEADY'
        END AS verdict,
        CASE WHEN beyond AND p <= fdr THEN coalesce(  -- newest of the runs before that are not beyond
            list_position(list_transform(before, lambda x: worse * (x - b) * sign(effect) >= ln(1 + floor)), false), n + 1
        ) END AS stop
    FROM q_values
)

SELECT
    it.config, it.case_id, suite, name, mode, device, dtype, backend, batch_size, sequence_length, parameters, it.metric,
    it.phase, it.unit, cell.better, it.run_id, runs, it.n, exp(b) - plus AS baseline, exp(level) - plus AS value,
    _finite((exp(level) - plus) / nullif(exp(b) - plus, 0) - 1) AS change,
    _finite((exp(level - reach) - plus) / nullif(exp(b) - plus, 0) - 1) AS low,
    _finite((exp(level + reach) - plus) / nullif(exp(b) - plus, 0) - 1) AS high,
    noise, p, q, verdict,
    CASE
        WHEN NOT has_ratio AND it.n >= least THEN 'a value of zero or less has no ratio'
        WHEN p IS NULL THEN
            it.n || ' earlier run' || CASE WHEN it.n = 1 THEN '' ELSE 's' END || ' of its config on its host; ' || least || ' are needed'
        WHEN verdict = 'UNSURE' THEN format('chance alone does this to one of {}, q = {:.2g}', tests, q)
        WHEN verdict = 'STEADY' AND NOT beyond AND runs > 1 AND most >= ln(1 + floor) THEN 'only in some of the ' || runs || ' runs'
        WHEN verdict = 'STEADY' THEN
            format('no change found (smallest detectable: {:.1f} %)', 100 * greatest(floor, exp(reach) - 1))
        ELSE CASE
                WHEN runs > 1 THEN 'in each of ' || runs || ' runs'
                WHEN stop > 1 THEN 'one run judged, but so ' || stop || ' runs in a row'
                ELSE 'one run, not confirmed by another'
            END
            || CASE WHEN q < 0.001 THEN ', q below 0.001' ELSE format(', q = {:.2g}', q) END
    END || CASE WHEN it.anywhere THEN '; baseline of other hosts' ELSE '' END AS reason,
    since.run_id AS since_run_id, since.began_at AS since_at, since.git_commit AS since_commit,
    good.git_commit AS good_commit
FROM judgements AS it
JOIN _all_cells AS cell
    ON it.run_id = cell.run_id AND it.case_id IS NOT DISTINCT FROM cell.case_id AND it.metric = cell.metric
    AND it.phase IS NOT DISTINCT FROM cell.phase AND it.unit IS NOT DISTINCT FROM cell.unit
LEFT JOIN _regression_runs(judged, last, least) AS since
    ON it.config = since.config AND since.place = CASE WHEN stop > 1 THEN places[stop - 1] WHEN stop = 1 THEN it.place END
LEFT JOIN _regression_runs(judged, last, least) AS good ON it.config = good.config AND good.place = places[stop]
