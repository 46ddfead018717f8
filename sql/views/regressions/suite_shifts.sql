-- One row per config × class of machine × suite × mode × dtype × device × backend × number of it (see `suite_series`) that the judged runs
-- and earlier ones of the same config and class have: whether the suite as a whole moved.
-- The judged reports' geometric mean is compared with the median of the last `last` reports before, by how much these vary: their
-- variance, winsorised, moderated by a prior that counts as 3 degrees of freedom (2 %; 5 % for compile times). All judged reports count as
-- one, because they share the machine.
--
-- arguments: judged, last := {window}, floor := NULL, fdr := {fdr}
--
-- config        VARCHAR    Config.
-- host          VARCHAR    Host; NULL where nobody said, or there are several.
-- machine       VARCHAR    Class of machine (see `machines`); NULL unknown.
-- axes: panel, value
-- run_id        VARCHAR    First judged report that has the number.
-- runs          BIGINT     Judged reports that have it.
-- n             BIGINT     Reports before.
-- baseline      DOUBLE     Their median.
-- value         DOUBLE     Geometric mean of the judged ones.
-- change        DOUBLE     value / baseline - 1.
-- low           DOUBLE     Lower end of its 95 % interval.
-- high          DOUBLE     Upper end.
-- noise         DOUBLE     Standard deviation of ln(value) from report to report, moderated.
-- p             DOUBLE     Probability that reports without a change differ as much.
-- q             DOUBLE     Share of false alarms to expect if this row and all with a smaller p were called changed.
-- verdict       VARCHAR    By the floor or more with q within half of `fdr`: FASTER or SLOWER (compile times), BETTER or WORSE (speedups),
--                          FIXED or BROKEN (pass rates). SAME: the interval lies within the floor. UNSURE: anything else.
-- evidence      VARCHAR    Reports before and now.
-- reason        VARCHAR    Why, in one line.
-- since_run_id  VARCHAR    Report the change begins with: the first of those before, without a gap, that are beyond the floor
--                          too.
-- since_at      TIMESTAMP  When it began.
-- since_commit  VARCHAR    Commit it measured.
-- good_commit   VARCHAR    Commit of the last report before it.
WITH
numbers AS (  -- a suite of which nothing passes counts as a thousandth, for the logarithm
    SELECT
        * EXCLUDE machine, machine AS class, coalesce(machine_id, '') AS machine, ln(greatest(value, 0.001::DOUBLE)) AS x, list_contains(judged, run_id) AS is_judged,
        row_number() OVER (ORDER BY began_at NULLS FIRST, run_id) AS place
    FROM suite_series
),
judged_numbers AS (
    SELECT config, machine, case_id, metric, min(place) AS first_place
    FROM numbers
    WHERE is_judged
    GROUP BY config, machine, case_id, metric
),
compared_numbers AS (
    SELECT
        numbers.*, row_number() OVER (
            PARTITION BY numbers.config, numbers.machine, numbers.case_id, numbers.metric, is_judged ORDER BY place DESC
        ) AS back
    FROM numbers
    JOIN judged_numbers AS panel
        ON numbers.config = panel.config AND numbers.machine = panel.machine AND numbers.case_id = panel.case_id
        AND numbers.metric = panel.metric
    WHERE is_judged OR place < first_place
),
levels AS (  -- lists are newest first
    SELECT
        config, CASE WHEN min(host) = max(host) THEN min(host) END AS host, min(class) AS class, suite, mode, dtype, device, backend, metric, phase,
        unit, better, count(*) FILTER (is_judged) AS runs, arg_max(cases, place) FILTER (is_judged) AS cases,
        _ordered_mean(list(x) FILTER (is_judged)) AS x, count(*) FILTER (NOT is_judged) AS n,
        median(x) FILTER (NOT is_judged) AS level, list(x ORDER BY -place) FILTER (NOT is_judged) AS xs,
        list(run_id ORDER BY -place) FILTER (NOT is_judged) AS run_ids,
        list(began_at ORDER BY -place) FILTER (NOT is_judged) AS begins,
        list(git_commit ORDER BY -place) FILTER (NOT is_judged) AS commits,
        arg_min(run_id, place) FILTER (is_judged) AS run_id, min(began_at) FILTER (is_judged) AS began_at,
        min(git_commit) FILTER (is_judged) AS git_commit
    FROM compared_numbers
    WHERE is_judged OR back <= last
    GROUP BY config, machine, suite, mode, dtype, device, backend, metric, phase, unit, better
    HAVING count(*) FILTER (NOT is_judged) > 0
),
spreads AS (
    SELECT
        * EXCLUDE (floors, floor_metrics, floor_names), x - level AS effect, n + 2 AS degrees, _floor_of(floor, floors, floor_metrics, floor_names, metric, suite) AS suite_floor,
        pow(CASE metric WHEN 'suite_compile_time' THEN 0.05 ELSE 0.02 END::DOUBLE, 2) AS prior,
        list_transform(xs, lambda x: pow(x - level, 2)) AS squares
    FROM levels
    CROSS JOIN _floor_rules
),
errors AS (  -- a report far out, or those after an earlier change, count as 2.5 standard deviations
    SELECT
        *, sqrt((3 * prior + n / 0.9776::DOUBLE * _ordered_mean(list_transform(
            squares, lambda square: least(square, 6.25::DOUBLE * greatest(prior, 2.198::DOUBLE * list_median(squares)))
        ))) / (n + 2)) AS noise
    FROM spreads
),
tests AS (
    SELECT
        *, _t975(degrees) * noise * sqrt(1 + _median_variance(n)) AS reach,
        2 * _t_tail(abs(effect) / noise / sqrt(1 + _median_variance(n)), degrees) AS p
    FROM errors
),
ranks AS (
    SELECT *, rank() OVER (ORDER BY p) AS p_rank, count(*) OVER () AS tests
    FROM tests
),
q_values AS (
    SELECT *, _q_value(p, tests, p_rank, NULL) AS q
    FROM ranks
),
verdicts AS (
    SELECT
        *,
        CASE
            WHEN abs(effect) + reach <= ln(1 + suite_floor) THEN 'SAME'
            WHEN q > fdr / 2 OR abs(effect) < ln(1 + suite_floor) THEN 'UNSURE'
            WHEN metric = 'suite_compile_time' THEN CASE WHEN effect < 0 THEN 'FASTER' ELSE 'SLOWER' END
            WHEN metric = 'suite_pass_rate' THEN CASE WHEN effect > 0 THEN 'FIXED' ELSE 'BROKEN' END
            ELSE CASE WHEN effect > 0 THEN 'BETTER' ELSE 'WORSE' END
        END AS verdict,
        list_transform(xs, lambda x: (x - level) * sign(effect) >= greatest(ln(1 + suite_floor), abs(effect) / 2)) AS are_beyond
    FROM q_values
),
beginnings AS (  -- the newest report before that is not beyond, where the suite moved
    SELECT
        *, CASE WHEN verdict NOT IN ('SAME', 'UNSURE') THEN coalesce(list_position(are_beyond, false), n + 1) END AS stop
    FROM verdicts
)

SELECT
    config, host, class AS machine, suite, mode, dtype, device, backend, metric, phase, unit, better, run_id, runs, n, _finite(exp(level)) AS baseline,
    _finite(exp(x)) AS value, _finite(exp(effect) - 1) AS change, _finite(exp(effect - reach) - 1) AS low,
    _finite(exp(effect + reach) - 1) AS high, noise, p, q,
    verdict, printf('%d against %d runs', runs, n) AS evidence,
    concat_ws('; ', printf('the whole suite, %d cases', cases), CASE WHEN stop > 1 THEN 'seen in ' || stop || ' runs in a row' END)
        AS reason,
    CASE WHEN stop > 1 THEN run_ids[stop - 1] WHEN stop = 1 THEN run_id END AS since_run_id,
    CASE WHEN stop > 1 THEN begins[stop - 1] WHEN stop = 1 THEN began_at END AS since_at,
    CASE WHEN stop > 1 THEN commits[stop - 1] WHEN stop = 1 THEN git_commit END AS since_commit,
    commits[stop] AS good_commit
FROM beginnings
