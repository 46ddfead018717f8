-- One row per series that the judged runs and 14 earlier runs of its config and machine measured, no counts: whether the judged value and
-- the two before are a step that no single run could show. Their mean is compared with those of three neighbouring runs each
-- before: it must be farther from the median of these than any of them, by a tenth, and than their spread explains; and the judged
-- value by a third of that, since a level that has been left is no step. This
-- spread holds whatever makes neighbouring runs alike; it is no smaller than that of independent runs, and no smaller in
-- proportion than that of half of the metric's series. What all series share is taken out, of 20 or more.
--
-- arguments: judged, last := {window}, floor := NULL, fdr := {fdr}
--
-- pair         BIGINT   Config and machine that are judged apart (see _comparison_sides).
-- series_id    BIGINT   Case, metric, phase and unit in one (see _series_key).
-- level        DOUBLE   Level before, in the unit.
-- value        DOUBLE   Geometric mean of the three.
-- change       DOUBLE   value / level, as a logarithm, less what all series share.
-- reach        DOUBLE   Half of its 95 % interval, as a logarithm: Student's t of 12 degrees, as few as stretches of three give.
-- runs         BIGINT   Earlier runs, at most three times `last`, without the two.
-- p            DOUBLE   Probability that runs without a change differ as much.
-- q            DOUBLE   Share of false alarms to expect if this row and all with a smaller p were called changed.
-- since_place  BIGINT   Place in time of the first of the three, or of the runs before them without a gap, beyond half of the change.
-- good_place   BIGINT   Place of the run before it.
-- is_step      BOOLEAN  Whether it is one: `floor` or more (_floor_of), with q within `fdr`.
WITH
halves AS (  -- the last two join the judged value
    SELECT
        pair, series_id, metric_id, _floor_of(floor, floors, floor_metrics, floor_names, metric, name) AS case_floor, xs[1:len(xs) - 2] AS earlier, [xs[len(xs) - 1], xs[len(xs)], x] AS recent,
        list_concat(places, [place]) AS all_places
    FROM _earlier_values(judged, last) AS earlier
    LEFT JOIN case_axes AS axes ON earlier.case_id = axes.case_id
    CROSS JOIN _floor_rules
    WHERE len(xs) >= 14 AND unit <> 'count'
),
means AS (
    SELECT
        *, list_transform(range(1, len(earlier) - 1), lambda i: (earlier[i] + earlier[i + 1] + earlier[i + 2]) / 3) AS means,
        list_median(earlier) AS middle
    FROM halves
),
levels AS (  -- a median within a lambda would be computed for each value
    SELECT *, list_median(means) AS level
    FROM means
),
deviations AS (
    SELECT
        *, list_transform(means, lambda mean: abs(mean - level)) AS of_means, list_transform(earlier, lambda x: abs(x - middle)) AS of_runs,
        (recent[1] + recent[2] + recent[3]) / 3 - level AS raw_change
    FROM levels
),
usual_deviations AS (
    SELECT *, 13.74::DOUBLE * pow(list_median(of_means), 2) AS most_of_means, 13.74::DOUBLE * pow(list_median(of_runs), 2) AS most_of_runs
    FROM deviations
),
spreads AS (  -- no run counts for more than 2.5 standard deviations
    SELECT
        *, list_avg(list_transform(of_means, lambda d: least(d * d, most_of_means))) AS mean_variance,
        list_avg(list_transform(of_runs, lambda d: least(d * d, most_of_runs))) / 0.95::DOUBLE AS own_variance
    FROM usual_deviations
),
metrics AS (
    SELECT
        pair, metric_id, exp(avg(ln(nullif(own_variance, 0)))) AS usual_variance,
        median(3 * mean_variance / nullif(own_variance, 0)) AS usual_growth,
        CASE WHEN count(*) >= 20 THEN median(raw_change) ELSE 0 END AS shared_change
    FROM spreads
    GROUP BY pair, metric_id
),
errors AS (
    SELECT
        *, raw_change - shared_change AS change, list_median(recent) - level - shared_change AS typical_change,
        (10 * coalesce(usual_variance, 0) + 20 * own_variance) / 30 / 3 AS independent
    FROM spreads
    JOIN metrics USING (pair, metric_id)
),
tests AS (
    SELECT
        *, sqrt(greatest(independent * greatest(1, coalesce(usual_growth, 1)), mean_variance) * (1 + 3.6::DOUBLE / len(earlier))) AS error
    FROM errors
),
p_values AS (
    SELECT *, CASE WHEN error > 0 THEN 2 * _t_tail(abs(change) / error, 12) WHEN change = 0 THEN 1 ELSE 0 END::DOUBLE AS p
    FROM tests
),
ranks AS (
    SELECT *, row_number() OVER (ORDER BY p) AS p_rank, count(*) OVER () AS tests
    FROM p_values
),
q_values AS (
    SELECT *, _q_value(p, tests, p_rank, NULL) AS q
    FROM ranks
),
beginnings AS (
    SELECT
        *, list_position(list_transform(recent, lambda x: (x - level - shared_change) * sign(change) >= abs(change) / 2), true) AS first_beyond,
        CASE WHEN first_beyond > 1 THEN len(earlier) + first_beyond - 1 ELSE list_max(list_transform(
            range(1, len(earlier) + 1), lambda i: CASE WHEN (earlier[i] - level) * sign(change) < abs(change) / 2 THEN i END
        )) END AS last_good
    FROM q_values
)

SELECT
    pair, series_id, _finite(exp(level)) AS level, _finite(exp((recent[1] + recent[2] + recent[3]) / 3)) AS value, change,
    _t975(12) * error AS reach, len(earlier) AS runs, p, q, all_places[last_good + 1] AS since_place,
    all_places[last_good] AS good_place,
    q <= fdr AND sign(typical_change) = sign(change) AND abs(change) >= ln(1 + case_floor)
        AND abs(typical_change) >= ln(1 + case_floor) AND abs(change) > 1.1::DOUBLE * list_max(of_means)
        AND 3 * (recent[3] - level - shared_change) * sign(change) >= abs(change) AS is_step
FROM beginnings
