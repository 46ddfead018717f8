-- One row per pair × case × metric × phase × unit measured on either side of a comparison: both values, and how far the runs
-- of each side are from theirs.
-- What all cases of a run share moves its deviations alike and says nothing of one case: of 20 cases or more, the median
-- deviation of the run is taken out of each. Where most runs of a history are equal, its last runs that are as the candidate is tell
-- since when the step is there, and not how much the value moves without one: they have no deviations.
--
-- arguments: base, candidate, last, floor
--
-- axes: sides, runs_apart
-- deviations       DOUBLE[]  Distances of all runs from the value of their side, of sides with two runs or more, without what
--                            all cases of the run share.
-- own_degrees      DOUBLE    Degrees of freedom of these.
-- base_deviations  DOUBLE[]  Such distances of all runs of the base.
-- candidate_deviations  DOUBLE[]  The same of the candidate.
WITH
side_values AS MATERIALIZED (SELECT * FROM _side_values(base, candidate, last)),
metric_samples AS (
    SELECT
        pair, metric, phase, unit, row_number() OVER (ORDER BY pair, metric, phase, unit) AS metric_id, median(n / runs) AS usual_samples,
        median(sampling * n / runs) FILTER (n >= 6 * runs) AS usual_variance
    FROM side_values
    GROUP BY pair, metric, phase, unit
),
side_levels AS MATERIALIZED (
    SELECT
        own.*, metric_id, usual_samples, usual_variance, _floor_of(floor, floors, floor_metrics, floor_names, own.metric, name) AS case_floor, CASE WHEN n >= 6 * runs THEN sampling * n / runs END AS sample_variance,
        _log_value(value, own.unit) AS level, CASE WHEN runs > 1 THEN len(xs) ELSE 0 END AS n_apart
    FROM side_values AS own
    JOIN metric_samples AS metrics
        ON own.pair = metrics.pair AND own.metric = metrics.metric AND own.phase IS NOT DISTINCT FROM metrics.phase
        AND own.unit IS NOT DISTINCT FROM metrics.unit
    LEFT JOIN case_axes AS axes ON own.case_id = axes.case_id
    CROSS JOIN _floor_rules
),
run_deviations AS (
    SELECT
        metric_id, side,
        unnest(list_transform(range(1, n_apart + 1), lambda i: {'place': places[i], 'deviation': xs[i] - level})) AS run
    FROM side_levels
),
run_shifts AS (
    SELECT
        metric_id, side, run.place AS place, CASE WHEN count(*) >= 20 THEN median(run.deviation) ELSE 0 END AS shift
    FROM run_deviations
    GROUP BY metric_id, side, run.place
),
side_shifts AS (
    SELECT metric_id, side, list(place) AS shift_places, list(shift) AS shifts
    FROM run_shifts
    GROUP BY metric_id, side
),
run_variances AS (
    SELECT
        metric_id, sum(shift * shift) / nullif(count(*) - count(DISTINCT side), 0) AS run_variance,
        (count(*) - count(DISTINCT side))::DOUBLE AS run_degrees
    FROM run_shifts
    GROUP BY metric_id
),
side_deviations AS (
    SELECT
        own.* EXCLUDE xs, list_min(xs) AS least, list_max(xs) AS most, list_transform(xs, lambda x: x - level) AS raw_deviations,
        list_transform(range(1, n_apart + 1), lambda i: xs[i] - level - shifts[list_position(shift_places, places[i])]) AS deviations
    FROM side_levels AS own
    LEFT JOIN side_shifts AS of_metric ON own.metric_id = of_metric.metric_id AND own.side = of_metric.side
),
base_sides AS (SELECT * FROM side_deviations WHERE side = 'base'),
candidate_sides AS (SELECT * FROM side_deviations WHERE side = 'candidate'),
case_sides AS (
    SELECT
        coalesce(base.pair, candidate.pair) AS pair, coalesce(base.series_id, candidate.series_id) AS series_id,
        coalesce(base.case_id, candidate.case_id) AS case_id, coalesce(base.metric, candidate.metric) AS metric,
        coalesce(base.phase, candidate.phase) AS phase, coalesce(base.unit, candidate.unit) AS unit,
        least(base.better, candidate.better) AS better, base.value AS base_value, candidate.value AS candidate_value,
        coalesce(base.runs, 0) AS base_runs, coalesce(candidate.runs, 0) AS candidate_runs, base.n AS base_n,
        candidate.n AS candidate_n, candidate.level - base.level AS effect,
        CASE
            WHEN candidate.fewest_tokens > base.most_tokens AND candidate.most_tokens / base.fewest_tokens >= 1 + base.case_floor
                THEN ln(candidate.most_tokens / base.fewest_tokens)
            WHEN candidate.most_tokens < base.fewest_tokens AND base.most_tokens / candidate.fewest_tokens >= 1 + base.case_floor
                THEN ln(candidate.fewest_tokens / base.most_tokens)
            ELSE 0
        END AS size_effect, coalesce(base.metric_id, candidate.metric_id) AS metric_id,
        coalesce(base.case_floor, candidate.case_floor) AS case_floor,
        candidate.first_place, coalesce(base.places, []) AS places, coalesce(base.raw_deviations, []) AS raw_deviations,
        greatest(
            base.sampling, coalesce(base.sample_variance, candidate.sample_variance, base.usual_variance) * base.runs / base.n
        ) AS base_sampling,
        greatest(
            candidate.sampling,
            coalesce(candidate.sample_variance, base.sample_variance, base.usual_variance) * candidate.runs / candidate.n
        ) AS candidate_sampling,
        base.processes AS base_processes, candidate.processes AS candidate_processes,
        coalesce(base.is_even AND candidate.is_even, false) AS is_even_within,
        candidate.least - base.level AS least,
        candidate.most - base.level AS most,
        list_avg(list_transform(candidate.deviations, lambda x: x * x)) * candidate.n_apart / nullif(candidate.n_apart - 1, 0) AS repeats,
        least(base.n, candidate.n) < 6 AND (base.usual_samples >= 6 OR base.most_tokens IS NOT NULL) AS is_thin,
        coalesce(base.is_session, candidate.is_session) AS is_session,
        coalesce(base.is_other_machine, candidate.is_other_machine) AS is_other_machine,
        coalesce(base.deviations, []) AS base_deviations, coalesce(candidate.deviations, []) AS candidate_deviations,
        (coalesce(greatest(base.n_apart - 1, 0), 0) + coalesce(greatest(candidate.n_apart - 1, 0), 0))::DOUBLE AS own_degrees
    FROM base_sides AS base
    FULL JOIN candidate_sides AS candidate ON base.pair = candidate.pair AND base.series_id = candidate.series_id
),
good_places AS (
    SELECT
        *, list_max(list_transform(range(1, len(places) + 1), lambda i: CASE
            WHEN raw_deviations[i] * sign(candidate_value - base_value) < greatest(ln(1 + case_floor), abs(effect) / 2) THEN places[i]
        END)) AS good_place,
        base_runs > 1 AND 2 * len(list_filter(raw_deviations, lambda x: x = 0)) > len(raw_deviations) AS is_even
    FROM case_sides
),
usual_runs AS (
    SELECT
        *, CASE WHEN candidate_value IS NOT NULL THEN list_filter(places, lambda place: place > coalesce(good_place, 0)) END
            AS streak_places,
        CASE WHEN is_even THEN list_filter(range(1, len(places) + 1), lambda i: pair = 0 OR places[i] <= coalesce(good_place, places[i]))
            END AS usual
    FROM good_places
)

SELECT
    pair, series_id, case_id, metric, phase, unit, better, base_value, candidate_value, base_runs, candidate_runs, base_n, candidate_n,
    effect, size_effect, own.metric_id, case_floor, first_place,
    CASE WHEN is_even THEN len(list_filter(usual, lambda i: abs(raw_deviations[i]) >= abs(effect))) / len(usual)::DOUBLE ELSE 0
        END AS tied,
    len(streak_places) AS streak, coalesce(list_min(streak_places), first_place) AS since_place, good_place, base_sampling,
    candidate_sampling, base_processes, candidate_processes, is_even_within, least, most, repeats, is_thin, run_variance, coalesce(run_degrees, 0) AS run_degrees, is_session, is_other_machine,
    list_concat(
        CASE WHEN len(usual) < len(places) THEN list_transform(usual, lambda i: base_deviations[i]) ELSE base_deviations END,
        candidate_deviations
    ) AS deviations,
    own_degrees - coalesce(len(places) - len(usual), 0) AS own_degrees, base_deviations, candidate_deviations
FROM usual_runs AS own
LEFT JOIN run_variances AS of_metric ON own.metric_id = of_metric.metric_id
