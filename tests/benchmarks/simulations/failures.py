"""Failed calls and requests of two sides that fail equally often, and of sides where one fails more: what is called changed.

Every case is judged alone, as in a comparison of one case: numbers of calls from ten to ten thousand, sides of unequal numbers, and shares
from one in a thousand to one half. Chance is all that differs between equal sides.
"""

import numpy as np
from bench.warehouse.database import Warehouse

from ...builders import Builder
from ..figures import Figures

PAIRS = 4_000
CALLS = ((10, 10), (10, 100), (1_000, 1_000), (10_000, 1_000))
SHARES = (0.001, 0.01, 0.1, 0.5)
Z = 1.96  # of the interval by which a comparison of one case judges
FALSE = 5.0  # %
MISSED = 5.0  # %, of 10 of 10 calls against none, and of 5 % of 1,000 requests against 1 %


def measure(figures: Figures) -> None:
    """Of equal shares the most that are called changed, of unequal ones those that are missed."""
    with Builder() as warehouse:
        equal = {(calls, share): _called(warehouse, calls, (share, share)) for calls in CALLS for share in SHARES}
        worst = max(equal, key=lambda world: equal[world])
        figures.add(
            f"equal shares, the worst of {len(equal)} worlds: pairs called changed", equal[worst], "%", most=FALSE
        )
        figures.add(
            "equal shares, all worlds: pairs called changed", float(np.mean([*equal.values()])), "%", most=FALSE
        )
        for name, calls, shares in (
            ("all of 10 calls against none", (10, 10), (0.0, 1.0)), ("5 % of 1,000 requests against 1 %", (1_000, 1_000), (0.01, 0.05)),
        ):  # fmt: skip
            figures.add(f"{name}: missed", 100 - _called(warehouse, calls, shares), "%", most=MISSED)


def _called(warehouse: Warehouse, calls: tuple[int, int], shares: tuple[float, float]) -> float:
    """The share of pairs that differ by more than 1.96 standard errors, in percent."""
    rng = np.random.default_rng(0)
    before, after = (rng.binomial(count, share, PAIRS) for count, share in zip(calls, shares, strict=True))
    pairs = ", ".join(f"({a}, {b})" for a, b in zip(before, after, strict=True))
    query = f"SELECT 100.0 * count(*) FILTER (_share_difference(a, ?, b, ?) > ?) / count(*) FROM (VALUES {pairs}) AS t(a, b)"
    return float(warehouse.rows(query, [*calls, Z])[0][0])
