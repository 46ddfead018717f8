"""Spark's form of DuckDB's functions and operators that sqlglot does not translate.

`_1`, `_2` … stand for the arguments. The names are DuckDB's functions, or what `translate` calls an operator:

    divide       NULL rather than an error where the divisor is 0
    get, slice   elements of a list, from 1; NULL beyond its ends
    whole        rounded before it is cast to an integer, as DuckDB does
    greater, lesser   of two, NULL only if both are
    collect, sorted, newest, or_null   lists gathered by an aggregate: with NULLs, in order, the last few, NULL if empty
    object       a JSON object as a map of texts; NULL if it is no object or has a key twice
    hash         of a list of values, NULLs among them, which Spark's own hash passes over
"""

# quantile _2 of a list, interpolated (type 7 of Hyndman and Fan); NULLs do not count
_QUANTILE = """get(transform(
    array(named_struct(
        'x', array_sort(array_compact(_1)), 'r', (array_size(array_compact(_1)) - 1) * CAST(_2 AS DOUBLE)
    )),
    its -> get(its.x, CAST(floor(its.r) AS INT))
        + (its.r - floor(its.r)) * (get(its.x, CAST(ceil(its.r) AS INT)) - get(its.x, CAST(floor(its.r) AS INT)))
), 0)"""

# variance of a sample, in one pass (Welford, Technometrics 4, 1962)
_VARIANCE = """aggregate(
    _1,
    named_struct('n', CAST(0 AS DOUBLE), 'mean', CAST(0 AS DOUBLE), 'squares', CAST(0 AS DOUBLE)),
    (of, x) -> named_struct(
        'n', of.n + 1,
        'mean', of.mean + (x - of.mean) / (of.n + 1),
        'squares', of.squares + (x - of.mean) * (x - of.mean) * of.n / (of.n + 1)
    ),
    of -> CASE WHEN of.n > 1 THEN of.squares / (of.n - 1) END
)"""

FUNCTIONS = {
    "divide": "try_divide(_1, _2)",
    "get": "get(_1, CAST(_2 - 1 AS INT))",
    "slice": "slice(_1, _2, greatest(_3 - _2 + 1, 0))",
    "whole": "bround(_1, 0)",
    "greater": "greatest(_1, _2)",
    "lesser": "least(_1, _2)",
    "collect": "collect_list(_1) RESPECT NULLS",
    "sorted": "transform(array_sort(_1), it -> it.value)",
    "newest": "slice(transform(reverse(array_sort(_1)), it -> it.value), 1, _2)",
    "or_null": "nullif(_1, array())",
    "object": "CASE WHEN try_parse_json(_1) IS NOT NULL THEN from_json(_1, 'MAP<STRING, STRING>') END",
    "json_valid": "try_parse_json(_1) IS NOT NULL",
    "len": "array_size(_1)",
    "hash": "xxhash64(to_json(_1))",
    "printf": "format_string",
    "without_zeros": r"regexp_replace(regexp_replace(_1, '(\\.[0-9]*?)0+(e|$)', '$1$2'), '\\.(e|$)', '$1')",
    "round_even": "bround(_1, _2)",
    "epoch_us": "timestampdiff(MICROSECOND, TIMESTAMP_NTZ'1970-01-01 00:00:00', _1)",
    "map_entries": "map_entries(_1)",
    "json_object": "to_json(_1)",
    "list_has_any": "arrays_overlap(_1, _2)",
    "list_position": "nullif(array_position(_1, _2), 0)",
    "list_sum": "CASE WHEN array_size(_1) > 0 THEN aggregate(_1, CAST(0 AS DECIMAL(38, 0)), (sum, x) -> sum + x) END",
    "list_avg": """aggregate(
        _1, named_struct('n', 0, 'sum', CAST(0 AS DOUBLE)),
        (of, x) -> named_struct('n', of.n + 1, 'sum', of.sum + x), of -> try_divide(of.sum, of.n)
    )""",
    "list_reduce": "aggregate(_1, _3, _2)",
    "list_var_samp": _VARIANCE,
    "list_stddev_samp": f"sqrt({_VARIANCE})",
    "quantile_cont": _QUANTILE,
    "list_median": _QUANTILE.replace("_2", "0.5"),
}  # fmt: skip
