"""cargo bench as text: libtest and Criterion.rs."""

import pytest
from bench.warehouse.events import Metric

from .reading import Read, read

LIBTEST = """
running 3 tests
test sum ... bench:       1,234 ns/iter (+/- 56) = 810 MB/s
test with spaces ... bench:          12.50 ns/iter (+/- 0.25)
test broken ... FAILED
test unit ... ignored

test result: FAILED. 0 passed; 1 failed; 1 ignored; 2 measured
"""
CRITERION = """
Benchmarking fib 20: Collecting 100 samples in estimated 5.1 s
fib 20                  time:   [26.029 µs 26.251 µs 26.505 µs]
                        thrpt:  [3.7 MiB/s 3.8 MiB/s 3.9 MiB/s]
                        change: [-1.2% +0.3% +1.1%] (p = 0.5 > 0.05)
a_very_long_name_that_stands_alone
                        time:   [1.0 ms 2.0 ms 3.0 ms]
Found 5 outliers among 100 measurements (5.00%)
"""


def load(text: str) -> Read:
    """Read an output."""
    return read("rust-text", text, name="bench.txt")


def test_libtest() -> None:
    """A median with its range, thousands separated; FAILED is an outcome."""
    got = load(LIBTEST)

    assert got.names == ["sum", "with spaces", "broken"]
    estimates = [m.value for m in got.of(Metric) if (m.metric, m.statistic) == ("latency", "estimate")]
    assert estimates == [1234.0, 12.5]
    assert got.outcomes() == [("ok", None), ("ok", None), ("fail_to_run", "cargo says FAILED")]
    assert got.metrics()["throughput_estimate"] == (810e6, "bytes/s")
    assert (got.metrics()["latency_estimate"], got.metrics()["latency_range"]) == ((12.5, "ns"), (0.25, "ns"))


def test_criterion() -> None:
    """Three numbers: the estimate between the ends of its interval; long names stand on the line above."""
    got = load(CRITERION)

    assert got.names == ["fib 20", "a_very_long_name_that_stands_alone"]
    assert got.metrics()["throughput_low"] == (3.7 * 2**20, "bytes/s")
    assert (got.metrics()["latency_low"], got.metrics()["latency_estimate"]) == ((1e6, "ns"), (2e6, "ns"))
    assert got.accounting == (3, 3, 0)
    assert got.tally.notes == ["bench.txt: 4 lines are not results"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("test x ... bench:  fast ns/iter (+/- 4)", "a result that cannot be read"),
        ("fib time:   [1 µs 2 µs]", "a result that cannot be read"),
    ],
)
def test_a_broken_result_is_a_reject(line: str, reason: str) -> None:
    """With its line."""
    assert load(LIBTEST + line + "\n").rejects() == [(9, reason)]


def test_hostile_lines_take_linear_time() -> None:
    """A megabyte of blanks where a name should be."""
    hostile = "test " + " " * (1 << 20) + "\n" + " " * (1 << 20) + "time:   [\n"

    assert load(LIBTEST + hostile).tally.rejected == 1
