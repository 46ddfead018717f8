-- One row per case × metric × phase that the runs under judgement measured, on each host: whether it changed since the runs
-- before. `judged` is a list of run ids: one run, or a run and its repeats. It is the comparison of these with the last `last`
-- runs of the same config and host that measured the case, by the rule of `comparisons`. accuracy_error is not judged: it has
-- its own tolerances.
--
-- arguments: judged, last := 20, floor := 0.03, fdr := 0.05
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
WITH
verdicts AS MATERIALIZED (
    SELECT *, CASE WHEN unit = 'count' THEN 1 ELSE 0 END AS plus
    FROM comparisons(NULL, judged, floor := floor, fdr := fdr, last := last)
    WHERE candidate_value IS NOT NULL AND better IS NOT NULL AND metric <> 'accuracy_error'
),
pairs AS (
    SELECT pair, min(config) AS config, min(host) FILTER (side = 'candidate') AS host
    FROM _comparison_sides(NULL, judged, last)
    GROUP BY pair
),
run_medians AS (
    SELECT pairs.config, pairs.host, median.side, median.run_id, median.place, case_id, metric, phase, unit, x, began_at, git_commit
    FROM _side_medians(NULL, judged, last) AS median
    JOIN _comparison_sides(NULL, judged, last) AS run ON median.pair = run.pair AND median.run_id = run.run_id
    JOIN pairs ON median.pair = pairs.pair
),
case_runs AS (  -- newest first
    SELECT
        verdicts.config, verdicts.host, verdicts.case_id, verdicts.metric, verdicts.phase, verdicts.unit,
        arg_min(run_id, place) FILTER (side = 'candidate') AS run_id,
        arg_min(began_at, place) FILTER (side = 'candidate') AS began_at,
        arg_min(git_commit, place) FILTER (side = 'candidate') AS git_commit,
        list(
            (x - ln(CASE WHEN base_value + plus > 0 THEN base_value + plus END)) * sign(candidate_value - base_value)
                >= greatest(ln(1 + floor), abs(ln(CASE
                    WHEN base_value + plus > 0 AND candidate_value + plus > 0
                        THEN (candidate_value + plus) / (base_value + plus)
                END)) / 2)
            ORDER BY -place
        ) FILTER (side = 'base' AND x IS NOT NULL) AS are_beyond,
        list(run_id ORDER BY -place) FILTER (side = 'base' AND x IS NOT NULL) AS run_ids,
        list(began_at ORDER BY -place) FILTER (side = 'base' AND x IS NOT NULL) AS begins,
        list(git_commit ORDER BY -place) FILTER (side = 'base' AND x IS NOT NULL) AS commits
    FROM verdicts
    JOIN run_medians AS run
        ON verdicts.config = run.config AND verdicts.host IS NOT DISTINCT FROM run.host
        AND verdicts.case_id IS NOT DISTINCT FROM run.case_id AND verdicts.metric = run.metric
        AND verdicts.phase IS NOT DISTINCT FROM run.phase AND verdicts.unit IS NOT DISTINCT FROM run.unit
    GROUP BY verdicts.config, verdicts.host, verdicts.case_id, verdicts.metric, verdicts.phase, verdicts.unit
),
judged_cases AS (  -- the newest run before that is not beyond, where the case changed
    SELECT
        verdicts.*, run_id, began_at, git_commit, run_ids, begins, commits,
        CASE WHEN verdict IN ('SLOWER', 'WORSE', 'FASTER', 'BETTER') AND base_value + plus > 0
            THEN coalesce(list_position(are_beyond, false), len(are_beyond) + 1)
        END AS stop,
        CASE WHEN low > 0 AND ratio > 0 THEN ln(ratio / low) END AS reach
    FROM verdicts
    JOIN case_runs AS run
        ON verdicts.config = run.config AND verdicts.host IS NOT DISTINCT FROM run.host
        AND verdicts.case_id IS NOT DISTINCT FROM run.case_id AND verdicts.metric = run.metric
        AND verdicts.phase IS NOT DISTINCT FROM run.phase AND verdicts.unit IS NOT DISTINCT FROM run.unit
)

SELECT
    config, host, case_id, suite, name, mode, device, dtype, backend, batch_size, sequence_length, parameters, metric, phase,
    unit, better, run_id, candidate_runs AS runs, coalesce(base_runs, 0) AS n, base_value AS baseline,
    candidate_value AS value, _finite(candidate_value / nullif(base_value, 0) - 1) AS change,
    _finite(candidate_value * exp(-reach) / nullif(base_value, 0) - 1) AS low,
    _finite(candidate_value * exp(reach) / nullif(base_value, 0) - 1) AS high,
    noise, p, q,
    CASE WHEN base_value IS NULL AND reason LIKE 'no earlier run %' THEN 'UNSURE' ELSE verdict END AS verdict, evidence,
    concat_ws('; ', reason, CASE WHEN stop > 1 THEN 'so ' || stop || ' runs in a row' END) AS reason,
    CASE WHEN stop > 1 THEN run_ids[stop - 1] WHEN stop = 1 THEN run_id END AS since_run_id,
    CASE WHEN stop > 1 THEN begins[stop - 1] WHEN stop = 1 THEN began_at END AS since_at,
    CASE WHEN stop > 1 THEN commits[stop - 1] WHEN stop = 1 THEN git_commit END AS since_commit,
    commits[stop] AS good_commit
FROM judged_cases
