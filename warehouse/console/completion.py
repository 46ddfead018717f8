"""Shell completion from the store: configs, runs, metrics, cases and other values, without opening it as commands do."""

import click

from ..errors import BenchError
from ..store import Store

MOST = 200  # names that are offered
_RUNS = "SELECT 'latest' UNION ALL SELECT DISTINCT config FROM runs UNION ALL SELECT run_id FROM runs"
# name of a parameter -> the query for its values
VALUES = {
    "runs": _RUNS, "run": _RUNS, "base": _RUNS, "candidate": _RUNS, "names": _RUNS, "baseline": _RUNS,
    **dict.fromkeys(("configs", "config"), "SELECT DISTINCT config FROM runs ORDER BY 1"),
    **dict.fromkeys(("metrics", "metric"), "SELECT DISTINCT metric FROM _all_cells ORDER BY 1"),
    **dict.fromkeys(("models", "case"), "SELECT DISTINCT name FROM case_axes ORDER BY 1"),
    "suites": "SELECT DISTINCT suite FROM case_axes ORDER BY 1", "backends": "SELECT DISTINCT backend FROM case_axes ORDER BY 1",
}  # fmt: skip


def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The values in the store that begin so; none where there is no store, or it cannot be read now."""
    query = VALUES.get(param.name or "")
    if query is None:
        return []
    import duckdb

    try:
        given = ctx.params.get("store")
        database = (given if isinstance(given, Store) else Store.find(given)).database
        with duckdb.connect(str(database), read_only=True) as connection:
            found = [str(value) for (value,) in connection.execute(query).fetchall() if value]
    except (BenchError, OSError, duckdb.Error):
        return []
    return [value for value in found if value.startswith(incomplete)][:MOST]
