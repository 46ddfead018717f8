"""Go: result lines, units, packages, failures."""

import json

from bench.warehouse.events import CaseRecord

from .reading import Read, read

TEXT = """\
goos: linux
goarch: amd64
pkg: example.com/a
cpu: A CPU
BenchmarkFib/n=10/kind=fast-8         \t 1000\t       250.5 ns/op\t  64.00 MB/s\t      16 B/op\t       2 allocs/op
BenchmarkFib/n=10/kind=fast-8         \t 2000\t       240 ns/op
PASS
ok  \texample.com/a\t3.6s
pkg: example.com/b
BenchmarkOther \t 5\t 100 ns/op\t 3.5 widgets
"""


def load(text: str | bytes) -> Read:
    """Read an output."""
    return read("go-test", text, name="bench.txt")


def test_a_line_is_a_timing_of_its_iterations() -> None:
    """Repeated lines (-count) are further samples of the case."""
    got = load(TEXT)

    assert got.samples() == [(250_500, 1000), (480_000, 2000), (500, 5)]
    assert got.names == ["BenchmarkFib/n=10/kind=fast-8", "BenchmarkOther"]
    assert got.tally.notes == []


def test_a_package_that_failed_is_told() -> None:
    """That one passed is not: Go prints it of each."""
    assert load(TEXT + "FAIL\nexit status 1\nFAIL\texample.com/c\t0.1s\n").tally.notes == [
        "bench.txt: 3 lines are not results"
    ]


def test_other_units_are_metrics() -> None:
    """With a direction where Go's own units have one."""
    got = load(TEXT)

    assert got.metrics() == {
        "throughput": (64e6, "bytes/s"), "allocated": (16.0, "bytes"), "allocations": (2.0, "count"),
        "widgets": (3.5, "widgets"),
    }  # fmt: skip
    assert got.better() == {"throughput": "higher", "allocated": "lower", "allocations": "lower", "widgets": None}


def test_packages_are_suites_and_pairs_parameters() -> None:
    """The number of processors at the end belongs to no parameter."""
    cases = load(TEXT).of(CaseRecord)

    assert [case.suite for case in cases] == ["example.com/a", "example.com/b"]
    assert json.loads(cases[0].parameters or "") == {"n": "10", "kind": "fast"}


def test_configuration_is_the_environment() -> None:
    """Go's format lets anybody add lines of it."""
    got = load("commit-time: 2024\n" + TEXT)

    assert (got.environment.os, got.environment.architecture, got.environment.cpu) == ("linux", "amd64", "A CPU")
    assert json.loads(got.environment.extra or "") == {"commit-time": "2024"}


def test_failures_and_skips_have_their_reason() -> None:
    """It stands on the line below."""
    got = load(
        TEXT + "--- FAIL: BenchmarkBad\n    x_test.go:7: no file\n--- SKIP: BenchmarkGpu\n    x_test.go:9: no GPU\n"
    )

    assert got.outcomes()[-2:] == [("fail_to_run", "no file"), ("skipped", "no GPU")]


def test_a_broken_result_is_a_reject() -> None:
    """A name alone is not one: Go prints it before the result when something is logged in between."""
    got = load(TEXT + "BenchmarkAlone\nBenchmarkCut-8  \t 1000\t 25 ns/op 7\nBenchmarkWord 10 x ns/op\n")

    assert [line for line, _ in got.rejects()] == [12, 13]
    assert got.accounting == (5, 3, 2)


def test_powershell_writes_utf_16() -> None:
    """`go test -bench . > out.txt` on Windows."""
    assert load(TEXT.replace("\n", "\r\n").encode("utf-16")).accounting == (3, 3, 0)
