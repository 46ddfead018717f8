-- One row per series that the judged runs and 6 earlier runs of its config and machine measured: whether the judged value is at a level
-- that the series knows. A series knows a level where earlier runs were as far from the baseline as the judged value, less twice the
-- noise, and farther than noise alone, which is twice its standard deviation: at least 3 runs in two or more separate stretches, of which
-- one has 2 (single runs may have had a bad machine); or one stretch of 3 runs, or of 2 where the level is beyond 5 times the noise,
-- whose median is within four times the noise of the judged value. The stretch that reaches up to the judged
-- runs does not count, and must not be longer than twice the longest of the others. `regressions` calls such a value UNSURE.
--
-- arguments: judged, last := {window}
--
-- pair       BIGINT   Config and machine that are judged apart (see _comparison_sides).
-- series_id  BIGINT   Case, metric, phase and unit in one (see _series_key).
-- level      DOUBLE   Baseline: median of the last `last` runs, in the unit.
-- value      DOUBLE   Judged value.
-- runs       BIGINT   Earlier runs, at most three times `last`.
-- noise      DOUBLE   Standard deviation of ln(value) around a level, from differences between neighbouring runs: of a quarter of them,
--                     the smallest, so that changes of level do not count.
-- reached    BIGINT   Earlier runs at the judged value's level or beyond it, outside the stretch that reaches up to now.
-- stretches  BIGINT   Separate stretches of these.
-- longest    BIGINT   Runs of the longest of them.
-- lasting    BIGINT   Runs of the stretch that reaches up to now, the judged value among them.
-- is_known   BOOLEAN  Whether the series knows this level.
WITH
baselines AS (
    SELECT *, list_median(xs[greatest(1, len(xs) - last + 1):len(xs)]) AS level_x
    FROM _earlier_values(judged, last)
),
neighbours AS (  -- a normal distribution has a quarter of its absolute values below 0.3186 standard deviations
    SELECT
        *, list_sort(list_transform(range(2, len(xs) + 1), lambda i: abs(xs[i] - xs[i - 1])))[(len(xs) + 2) // 4]
            / (0.3186::DOUBLE * sqrt(2)) AS noise
    FROM baselines
),
reaches AS (
    SELECT
        *, list_transform(
            xs, lambda earlier: CASE WHEN (earlier - level_x) * sign(x - level_x) >= greatest(abs(x - level_x) - 2 * noise, 2 * noise)
                THEN '1' ELSE '0' END
        ) AS are_there
    FROM neighbours
),
stretches AS (
    SELECT
        *, list_filter(
            string_split(array_to_string(list_transform(range(1, last_elsewhere + 1), lambda i: are_there[i]), ''), '0'),
            lambda stretch: stretch <> ''
        ) AS visits
    FROM (
        SELECT *, coalesce(list_max(list_filter(range(1, len(xs) + 1), lambda i: are_there[i] = '0')), 0) AS last_elsewhere
        FROM reaches
    ) AS places
),
counts AS (
    SELECT
        *, len(visits) AS stretches, coalesce(list_max(list_transform(visits, lambda visit: len(visit))), 0) AS longest,
        coalesce(list_sum(list_transform(visits, lambda visit: len(visit))), 0)::BIGINT AS reached, len(xs) - last_elsewhere + 1 AS lasting,
        abs(x - list_median(list_transform(
            list_filter(range(1, last_elsewhere + 1), lambda i: are_there[i] = '1'), lambda i: xs[i]
        ))) <= 4 * noise AS is_near
    FROM stretches
)

SELECT
    pair, series_id, _finite(exp(level_x)) AS level, _finite(exp(x)) AS value, len(xs) AS runs, noise, reached, stretches, longest,
    lasting,
    lasting <= 2 * longest AND abs(x - level_x) > 2 * noise AND longest >= 2
        AND (reached >= 3 AND stretches >= 2 OR (longest >= 3 OR abs(x - level_x) > 5 * noise) AND is_near) AS is_known
FROM counts
