"""Questions over the views: comparisons, regressions, change points, the cost model of scheduler steps.

from bench.query import compare, find_sides

base, candidate = find_sides(warehouse, "main", "my-branch")
print(compare(warehouse, base, candidate).means)
"""

from typing import TYPE_CHECKING

from .._exports import lazy

if TYPE_CHECKING:
    from .change.changepoints import change_points
    from .comparison.compare import compare
    from .comparison.sides import find_sides
    from .cost.model import fit
    from .regression.regressions import judge, judged_runs

__all__ = ["change_points", "compare", "find_sides", "fit", "judge", "judged_runs"]

__getattr__ = lazy(
    __name__,
    {
        "change_points": "change.changepoints",
        "compare": "comparison.compare",
        "find_sides": "comparison.sides",
        "fit": "cost.model",
        "judge": "regression.regressions",
        "judged_runs": "regression.regressions",
    },
)
