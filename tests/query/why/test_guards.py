"""Guards that failed, in the words of torch 2.13."""

import pytest
from bench.query.why.guards import failed_guard

SIZE = "tensor 'x' size mismatch at index 0. expected 8, actual 9"
COUNTER = "self.calls == 2".ljust(60)
HINT = " (HINT: torch.compile considers integer attributes of the nn.Module to be static.)"


@pytest.mark.parametrize(
    ("reason", "guard", "place"),
    [
        (f"0/1: {SIZE}\n0/0: other", SIZE, "/w/net.py:12 in forward"),
        (f"0/0: {COUNTER}  # n += 1  # count  # mp/w/net.py:14 in step{HINT}", f"self.calls == 2{HINT}", "/w/net.py:14 in step"),
        (f"{COUNTER}  # y = x + n  # mp/w/lib.py:3 in add", "self.calls == 2", "mp/w/lib.py:3 in add"),
        (f"{COUNTER}  # _dynamo/output_graph.py:500 in init", "self.calls == 2", "/w/net.py:12 in forward"),
        (f"{COUNTER}  # <unknown>", f"{COUNTER}  # <unknown>", "/w/net.py:12 in forward"),
        ("", "", "/w/net.py:12 in forward"),
    ],
)  # fmt: skip
def test_a_guard_stands_at_the_line_that_made_it(reason: str, guard: str, place: str) -> None:
    """The text of the line is no part of it: it has the place; without one it stands where its function begins."""
    assert failed_guard(reason, "/w/net.py", 12, "forward") == (guard, place)
