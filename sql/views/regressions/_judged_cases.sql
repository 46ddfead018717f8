-- One row per case × metric × phase × unit of the runs under judgement or of those before, on each class of machine: what `regressions` shows,
-- and what all cases of the metric share.
--
-- arguments: judged, last, floor, fdr
--
-- config        VARCHAR  Config.
-- host          VARCHAR  Host; NULL where nobody said.
-- machine       VARCHAR  Class of machine (see `machines`); NULL unknown.
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
-- verdict       VARCHAR  That of `comparisons`; UNSURE where its class has no earlier run, or fewer than three beside those of others,
--                        or where the judged value is at a level that the series knows (series_levels); changed where the last
--                        three runs together are a step (recent_steps): then the row has the numbers of these three.
-- evidence      VARCHAR  Runs before and now, and whether several confirm each other.
-- reason        VARCHAR  Why, in one line.
-- since_run_id  VARCHAR  Run the change begins with: the first of those before, without a gap, that are beyond the floor
--                        too.
-- since_at      TIMESTAMP  When that run began.
-- since_commit  VARCHAR  Commit it measured.
-- good_commit   VARCHAR  Commit of the last run before it.
-- is_known      BOOLEAN  Whether the judged value is at a level that the series knows.
-- case_floor    DOUBLE   Smallest change that counts, as a fraction.
-- is_judged     BOOLEAN  Whether the runs under judgement measured it, and one way is better: whether `regressions` shows it.
-- log_shift     DOUBLE   Median effect of all cases of the metric; 0 of fewer than 20 cases.
-- axes: shifts without shift
-- is_moved_machine  BOOLEAN  Whether no processor is known, and all cases of the metric moved by more than 5 % in one direction.
-- machine_doubt     VARCHAR  That the config has too few earlier runs on the class of machine, in words; NULL where it has enough.
WITH
compared_runs AS (  -- one row, since joins with few runs copy all verdicts
    SELECT list(place) AS places, list({'run_id': run_id, 'began_at': began_at, 'git_commit': git_commit}) AS compared
    FROM _comparison_sides(NULL, judged, last)
),
machines_of_pairs AS (
    SELECT
        pair, min(machine_name) AS machine,
        min(machine_name || CASE WHEN cpu IS NULL AND clock_mhz IS NOT NULL THEN printf(', %d MHz', clock_mhz) ELSE '' END) AS with_clock,
        bool_or(is_known IS DISTINCT FROM true) AS is_nameless, bool_or(is_new_machine) AS is_new_machine, min(here_before) AS here_before
    FROM _comparison_sides(NULL, judged, last) AS side
    JOIN _machine_facts AS facts ON side.run_id = facts.run_id
    WHERE side = 'candidate'
    GROUP BY pair
),
raw_verdicts AS (
    SELECT
        own.*, of_pair.machine, with_clock, is_new_machine, here_before, is_nameless AND count(step) OVER same_metric >= 3
            AND (min(step) OVER same_metric > ln(1.05) OR max(step) OVER same_metric < -ln(1.05)) AS is_moved_machine
    FROM (
        SELECT
            *, CASE WHEN better IS NOT NULL AND _is_time_or_rate(unit) AND base_value > 0 AND candidate_value > 0
                THEN ln(candidate_value / base_value) END AS step
        FROM _compared_cases(NULL, judged, last, floor, fdr, false)
    ) AS own
    JOIN machines_of_pairs AS of_pair ON own.pair = of_pair.pair
    WINDOW same_metric AS (PARTITION BY own.pair, metric, phase, unit)
),
verdicts AS (
    SELECT
        *, NOT is_moved_machine AND coalesce(verdict IN ('SLOWER', 'WORSE', 'FASTER', 'BETTER') OR verdict LIKE 'LIKELY %', false) AS is_changed,
        CASE better WHEN 'lower' THEN 1 / high ELSE low END AS run_low, CASE better WHEN 'lower' THEN 1 / low ELSE high END AS run_high
    FROM raw_verdicts
),
verdicts_with_history AS (  -- what single runs leave open, the levels and the last three runs of the series may tell
    SELECT
        own.* EXCLUDE (p, q), is_changed AND coalesce(level.is_known, false) AS is_known, level.stretches,
        base_total > 0 AND (NOT is_changed OR verdict LIKE 'LIKELY %') AND step.is_step AND better IS NOT NULL AND is_headline AS is_step,
        step.level AS step_level, step.value AS step_value, step.change AS step_change, step.reach AS step_reach, step.runs AS step_runs,
        step.since_place AS step_since, step.good_place AS step_good,
        CASE WHEN is_step THEN step.p ELSE own.p END AS p, CASE WHEN is_step THEN step.q ELSE own.q END AS q
    FROM verdicts AS own
    LEFT JOIN series_levels(judged, last := last) AS level
        ON own.pair = level.pair AND _series_key(case_id, metric, phase, unit) = level.series_id
    LEFT JOIN recent_steps(judged, last := last, floor := floor, fdr := fdr) AS step
        ON own.pair = step.pair AND _series_key(case_id, metric, phase, unit) = step.series_id
),
dated_verdicts AS (
    SELECT
        * EXCLUDE (places, compared), compared[list_position(places, first_place)] AS first_run,
        CASE WHEN is_step THEN compared[list_position(places, step_since)]
            WHEN is_changed AND NOT is_known THEN compared[list_position(places, since_place)] END AS since,
        CASE WHEN is_step THEN compared[list_position(places, step_good)]
            WHEN is_changed AND NOT is_known THEN compared[list_position(places, good_place)] END AS good
    FROM verdicts_with_history
    CROSS JOIN compared_runs
),
judged_values AS (
    SELECT
        * EXCLUDE (low, high), CASE WHEN is_step THEN step_runs ELSE coalesce(base_runs, 0) END AS n,
        CASE WHEN is_step THEN 3 ELSE candidate_runs END AS runs,
        CASE WHEN is_step THEN step_level ELSE base_value END AS baseline,
        CASE WHEN is_step THEN step_value ELSE candidate_value END AS value,
        CASE WHEN is_step THEN step_value / step_level * exp(-step_reach) ELSE run_low END AS low,
        CASE WHEN is_step THEN step_value / step_level * exp(step_reach) ELSE run_high END AS high
    FROM dated_verdicts
)

SELECT
    config, host, machine, case_id, {axes}, metric, phase, unit,
    better, first_run.run_id, runs, n, baseline, value, _finite(value / nullif(baseline, 0) - 1) AS change, _finite(low - 1) AS low,
    _finite(high - 1) AS high, noise, CASE WHEN NOT is_held THEN p END AS p, CASE WHEN NOT is_held THEN q END AS q,
    CASE
        WHEN base_total = 0 OR is_known OR is_held THEN 'UNSURE'
        WHEN is_step THEN _change_verdict((step_change < 0) = (better = 'lower'), unit)
        ELSE verdict
    END AS verdict,
    CASE WHEN is_step THEN step_runs || ' against 3 runs, confirmed' ELSE evidence END AS evidence,
    concat_ws(
        '; ', machine_doubt, CASE
            WHEN is_new_machine THEN NULL
            WHEN is_held THEN 'all cases moved together, and no processor is known: it may be another machine'
            WHEN is_known THEN 'at a level that it knows, from ' || stretches || ' earlier stretch' || CASE WHEN stretches > 1 THEN 'es' ELSE '' END || ' of runs'
        END,
        CASE WHEN is_step
            THEN 'the last 3 runs together, ' || CASE WHEN q < 0.001 THEN 'q below 0.001' ELSE format('q = {:.2g}', q) END
                || '; noise of a run ' || format('{:.1f} %', 100 * noise)
            WHEN NOT is_new_machine THEN reason END,
        CASE WHEN is_changed AND NOT is_known AND streak > 0 THEN 'seen in ' || (streak + 1) || ' runs in a row' END
    ) AS reason,
    since.run_id AS since_run_id, since.began_at AS since_at, since.git_commit AS since_commit,
    good.git_commit AS good_commit, is_known,
    own.floor AS case_floor, coalesce(candidate_value IS NOT NULL AND better IS NOT NULL AND is_headline AND metric <> 'accuracy_error', false) AS is_judged,
    log_shift, cases, shift_reach, shift_p, shift_runs, is_moved_machine, machine_doubt
FROM (
    SELECT
        *, coalesce(is_moved_machine AND verdict <> 'SAME', false) AS is_held, CASE
            WHEN is_new_machine AND here_before = 0 THEN 'first run on ' || with_clock
            WHEN is_new_machine THEN printf('only %d earlier on %s: 3 are needed', here_before, with_clock)
        END AS machine_doubt
    FROM judged_values
) AS own
