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
pair_runs AS (SELECT pair, run_id, place, began_at, git_commit FROM _comparison_sides(NULL, judged, last)),
verdicts AS (
    SELECT
        *, CASE WHEN low > 0 AND ratio > 0 THEN ln(ratio / low) END AS reach,
        candidate_value IS NOT NULL AND better IS NOT NULL AND metric <> 'accuracy_error' AS is_judged,
        verdict IN ('SLOWER', 'WORSE', 'FASTER', 'BETTER') AS has_changed
    FROM _compared_cases(NULL, judged, last, floor, fdr)
),
runs_before AS (  -- of what changed, newest first
    SELECT
        *, CASE WHEN has_changed AND _log_value(base_value, unit) IS NOT NULL THEN list_sort(list_transform(
            range(1, len(base_places) + 1), lambda i: {'back': -base_places[i], 'deviation': base_deviations[i]}
        )) END AS earlier
    FROM verdicts
),
streaks AS (
    SELECT
        *, coalesce(list_position(list_transform(
            earlier, lambda run: run.deviation * sign(candidate_value - base_value) >= greatest(ln(1 + floor), abs(effect) / 2)
        ), false), len(earlier) + 1) AS stop
    FROM runs_before
),
beginnings AS (
    SELECT
        *, CASE WHEN stop > 1 THEN -earlier[stop - 1].back WHEN stop = 1 THEN first_place END AS since_place,
        -earlier[stop].back AS good_place
    FROM streaks
)

SELECT
    own.config, own.host, case_id, suite, name, mode, device, dtype, backend, batch_size, sequence_length, parameters, metric,
    phase, unit, better, first.run_id, candidate_runs AS runs, coalesce(base_runs, 0) AS n, base_value AS baseline,
    candidate_value AS value, _finite(candidate_value / nullif(base_value, 0) - 1) AS change,
    _finite(candidate_value * exp(-reach) / nullif(base_value, 0) - 1) AS low,
    _finite(candidate_value * exp(reach) / nullif(base_value, 0) - 1) AS high,
    noise, p, q,
    CASE WHEN base_total = 0 THEN 'UNSURE' ELSE verdict END AS verdict, evidence,
    concat_ws('; ', reason, CASE WHEN stop > 1 THEN 'so ' || stop || ' runs in a row' END) AS reason,
    since.run_id AS since_run_id, since.began_at AS since_at, since.git_commit AS since_commit, good.git_commit AS good_commit,
    coalesce(is_judged, false) AS is_judged, log_shift, cases, shift_reach, shift_p, shift_runs
FROM beginnings AS own
LEFT JOIN pair_runs AS first ON own.pair = first.pair AND own.first_place = first.place
LEFT JOIN pair_runs AS since ON own.pair = since.pair AND own.since_place = since.place
LEFT JOIN pair_runs AS good ON own.pair = good.pair AND own.good_place = good.place
