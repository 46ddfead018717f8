-- One row per case × metric × phase that the runs under judgement measured, on each class of machine: whether it changed since the runs
-- before. `judged` is a list of run ids: one run, or a run and its repeats. It is the comparison of these with the last `last`
-- runs of the same config and class that measured the case, by the rule of `comparisons`. accuracy_error is not judged: it has
-- its own tolerances.
--
-- arguments: judged, last := {window}, floor := NULL, fdr := {fdr}
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
SELECT
    config, host, machine, case_id, {axes}, metric, phase,
    unit, better, run_id, runs, n, baseline, value, change, low, high, noise, p, q, verdict, evidence, reason, since_run_id, since_at,
    since_commit, good_commit
FROM _judged_cases(judged, last, floor, fdr)
WHERE is_judged
