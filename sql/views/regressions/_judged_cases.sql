-- One row per case × metric × phase × unit of the runs under judgement or of those before, on each host: what `regressions` shows,
-- and what all cases of the metric share.
--
-- arguments: judged, last, floor, fdr
--
-- config        VARCHAR  Config.
-- host          VARCHAR  Machine; NULL where nobody said.
-- axes: case without work_hash, value
-- better        VARCHAR  'higher' or 'lower'; what has no direction is not judged.
-- run_id        VARCHAR  First judged run that measured it.
-- runs          BIGINT   Judged runs that measured it.
-- n             BIGINT   Runs of the baseline, 0 without one.
-- baseline      DOUBLE   Their level.
-- value         DOUBLE   The judged runs' median.
-- change        DOUBLE   value / baseline - 1; NULL where the baseline is 0.
-- low           DOUBLE   Lower end of its 95 % interval.
-- high          DOUBLE   Upper end.
-- noise         DOUBLE   Standard deviation of ln(value) from run to run, moderated.
-- p             DOUBLE   Probability that runs without a change differ as much; NULL where that cannot be judged.
-- q             DOUBLE   Share of false alarms to expect if this row and all with a smaller p were called changed.
-- verdict       VARCHAR  That of `comparisons`; UNSURE where the host has no earlier run.
-- evidence      VARCHAR  Runs before and now, and whether several confirm each other.
-- reason        VARCHAR  Why, in one line.
-- since_run_id  VARCHAR  Run the change begins with: the first of those before, without a gap, that are beyond the floor
--                        too.
-- since_at      TIMESTAMP  When that run began.
-- since_commit  VARCHAR  Commit it measured.
-- good_commit   VARCHAR  Commit of the last run before it.
-- is_judged     BOOLEAN  Whether the runs under judgement measured it, and one way is better: whether `regressions` shows it.
-- log_shift     DOUBLE   Median effect of all cases of the metric; 0 of fewer than 20 cases.
-- axes: shifts without shift
WITH
compared_runs AS (  -- one row, since joins with few runs copy all verdicts
    SELECT list(place) AS places, list({'run_id': run_id, 'began_at': began_at, 'git_commit': git_commit}) AS compared
    FROM _comparison_sides(NULL, judged, last)
),
verdicts AS (
    SELECT
        *, verdict IN ('SLOWER', 'WORSE', 'FASTER', 'BETTER') AS has_changed,
        CASE WHEN low > 0 AND ratio > 0 THEN ln(ratio / low) END AS reach
    FROM _compared_cases(NULL, judged, last, floor, fdr)
),
dated_verdicts AS (
    SELECT
        * EXCLUDE (places, compared), compared[list_position(places, first_place)] AS first_run,
        CASE WHEN has_changed THEN compared[list_position(places, since_place)] END AS since,
        CASE WHEN has_changed THEN compared[list_position(places, good_place)] END AS good
    FROM verdicts
    CROSS JOIN compared_runs
)

SELECT
    config, host, case_id, suite, name, mode, device, dtype, backend, batch_size, sequence_length, parameters, metric, phase, unit, better,
    first_run.run_id, candidate_runs AS runs, coalesce(base_runs, 0) AS n, base_value AS baseline,
    candidate_value AS value, _finite(candidate_value / nullif(base_value, 0) - 1) AS change,
    _finite(candidate_value * exp(-reach) / nullif(base_value, 0) - 1) AS low,
    _finite(candidate_value * exp(reach) / nullif(base_value, 0) - 1) AS high,
    noise, p, q,
    CASE WHEN base_total = 0 THEN 'UNSURE' ELSE verdict END AS verdict, evidence,
    concat_ws('; ', reason, CASE WHEN has_changed AND streak > 0 THEN 'so ' || (streak + 1) || ' runs in a row' END) AS reason,
    since.run_id AS since_run_id, since.began_at AS since_at, since.git_commit AS since_commit,
    good.git_commit AS good_commit,
    coalesce(candidate_value IS NOT NULL AND better IS NOT NULL AND metric <> 'accuracy_error', false) AS is_judged,
    log_shift, cases, shift_reach, shift_p, shift_runs
FROM dated_verdicts
