-- One row per sweep of a comparison over one numeric axis in which the candidate is better on one side of a size, worse on the other.
-- A sweep is three cases or more that differ by the axis alone. On one side of the interval every case is worse, on the other every
-- case is better, each beyond its own 95 % interval; so one uncertain case at an end leaves the sweep out. Metrics are those that
-- `bench compare` shows. Effects of other cases tell nothing of the error here: in a sweep they differ, as the size does.
--
-- arguments: base, candidate, across := false
--
-- axes: case without case_id work_hash
-- axis             VARCHAR  batch_size, sequence_length or a key of parameters, which is NULL (absent) in the column of its name.
-- axes: value
-- is_better_above  BOOLEAN  Whether the candidate is better above the crossover; else it is below.
-- crossover        DOUBLE   Size at which both are equal: logarithms of ratio and size are interpolated after the last case of the lower side.
-- low              DOUBLE   Lower end of its 95 % interval: the last size up to which all cases are certain.
-- high             DOUBLE   Upper end: the first size from which on all cases are certain.
-- sizes            BIGINT   Cases of the sweep.
WITH
compared_cases AS (SELECT * FROM _compared_cases(base, candidate, {window}, {floor}, {fdr}, across)),
headline_rows AS (
    SELECT
        {axes}, metric, phase, unit, better, ln(ratio) AS gain,
        ln(ratio) > own_reach AS is_better, ln(ratio) < -own_reach AS is_worse
    FROM compared_cases
    WHERE is_headline AND better IS NOT NULL AND _is_warm(phase) AND _is_headline(metric, better) AND ratio > 0 AND own_reach IS NOT NULL
),
numeric_axes AS (
    SELECT *, 'batch_size' AS axis, batch_size AS size FROM headline_rows
    UNION ALL
    SELECT *, 'sequence_length', sequence_length FROM headline_rows
    UNION ALL
    SELECT * EXCLUDE (key), key, TRY_CAST(json_extract_string(parameters, '/' || replace(replace(key, '~', '~0'), '/', '~1')) AS DOUBLE)
    FROM (SELECT *, unnest(json_keys(parameters)) AS key FROM headline_rows)
),
sized_cases AS (
    SELECT
        * REPLACE (
            CASE WHEN axis <> 'batch_size' THEN batch_size END AS batch_size,
            CASE WHEN axis <> 'sequence_length' THEN sequence_length END AS sequence_length,
            nullif(CASE WHEN axis IN ('batch_size', 'sequence_length') THEN parameters::VARCHAR
                ELSE json_merge_patch(parameters, json_object(axis, NULL))::VARCHAR END, '{}')::JSON AS parameters
        )
    FROM numeric_axes
    WHERE size > 0 AND size < 'inf'::DOUBLE
),
sweeps AS (
    SELECT
        * EXCLUDE (size, gain, is_better, is_worse), list(size ORDER BY size) AS axis_sizes, list(gain ORDER BY size) AS gains,
        list(is_better ORDER BY size) AS better_sizes, list(is_worse ORDER BY size) AS worse_sizes
    FROM sized_cases
    GROUP BY ALL
    HAVING count(*) >= 3 AND count(DISTINCT size) = count(*)
),
directed_sweeps AS (  -- the side that begins the sweep, and the other
    SELECT
        *, worse_sizes[1] AS is_better_above, len(gains) AS sizes,
        CASE WHEN worse_sizes[1] THEN worse_sizes ELSE better_sizes END AS first_side,
        CASE WHEN worse_sizes[1] THEN better_sizes ELSE worse_sizes END AS last_side,
        list_transform(gains, lambda gain: CASE WHEN worse_sizes[1] THEN gain ELSE -gain END) AS rises
    FROM sweeps
    WHERE worse_sizes[1] AND better_sizes[-1] OR better_sizes[1] AND worse_sizes[-1]
),
bounded_sweeps AS (
    SELECT
        *, coalesce(list_position(first_side, false), sizes + 1) - 1 AS low_place,
        sizes + 1 - (coalesce(list_position(list_reverse(last_side), false), sizes + 1) - 1) AS high_place,
        sizes + 1 - list_position(list_transform(list_reverse(rises), lambda rise: rise < 0), true) AS last_place
    FROM directed_sweeps
)

SELECT
    {axes}, axis, metric, phase, unit, better,
    is_better_above, axis_sizes[last_place]
        * pow(axis_sizes[last_place + 1] / axis_sizes[last_place], -rises[last_place] / (rises[last_place + 1] - rises[last_place]))
        AS crossover,
    axis_sizes[low_place] AS low, axis_sizes[high_place] AS high, sizes
FROM bounded_sweeps
