"""The pytest plugin: off it changes nothing; on it records, and fails a test only on evidence of runs."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

import bench
import pytest
from bench.warehouse.console.numbers import duration

from .builders import stored
from .exhaustive import exhaustive

pytest_plugins = ["pytester"]

TESTS = """
import asyncio, os, time
import pytest

CALLS = []

def noted(n):
    CALLS.append(n)
    return n

@pytest.mark.parametrize("n", [1, 2])
def test_plain(bench, n):
    assert bench(noted, n=n) == n

async def answer(): return 42

def some(n): yield from range(n)

def test_awaited(bench):
    assert bench(answer) == 42

def test_run_through(bench):
    assert bench(some, 2) == [0, 1]

def test_other():
    assert CALLS.count(1) == int(os.environ.get("ONCE", CALLS.count(1)))
"""
SLOW = """
import time

def test_slow(bench):
    bench(time.sleep, 0.001)
"""


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, pytester: pytest.Pytester) -> None:
    """Sessions of their own, with a store beside their tests."""
    monkeypatch.setenv("BENCH_STORE", str(pytester.path / "store"))


def session(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return pytester.runpytest("-p", "no:cacheprovider", "--bench-budget", "0.03", *arguments)


def record(*times: Sequence[int]) -> None:
    """Earlier runs of test_slow: the times of each, in ns."""
    for run_times in times:
        with bench.run(suite="pytest", source="measure") as run:
            case = run.case("test_a.py::test_slow", suite="pytest")
            for duration_ns in run_times:
                case.timing(duration_ns)
            case.outcome("ok")


def test_without_the_option_the_call_is_made_once(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing is recorded."""
    monkeypatch.setenv("ONCE", "1")
    pytester.makepyfile(test_a=TESTS)

    session(pytester).assert_outcomes(passed=5)
    assert not Path(os.environ["BENCH_STORE"]).exists()


def test_what_is_not_used_is_not_imported(pytester: pytest.Pytester) -> None:
    """A session that measures nothing imports the plugin, and of bench what any import of it does."""
    known = "{'bench', 'bench._exports', 'bench._version', 'bench.pytest_plugin'}"
    pytester.makepyfile(
        f"import sys\ndef test_it(bench): assert {{m for m in sys.modules if m.startswith('bench')}} == {known}"
    )

    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_calls_are_recorded(pytester: pytest.Pytester) -> None:
    """As cases of a run, with their parameters; plain values as they are."""
    pytester.makepyfile(test_a=TESTS)
    done = session(pytester, "--bench", "--bench-config", "mine")

    done.assert_outcomes(passed=5)
    done.stdout.fnmatch_lines(["bench: measuring into *store", "test_a.py::test_plain?1?  *ns*", "recorded as run *"])
    # not all, where a machine is busy
    assert re.search(r"^test_a.py::test_\S+ +\S+ ns +±\S+ %$", done.stdout.str(), re.MULTILINE)
    printed = re.findall(r"^test_a.py::test_\S+ +(\S+ \S+) +±?", done.stdout.str(), re.MULTILINE)
    known = stored("SELECT median FROM cells WHERE metric = 'latency' AND phase = 'steady'")
    assert sorted(printed) == sorted(
        str(duration(median)) for (median,) in known
    )  # as `bench show` says, of calm samples
    assert stored("SELECT config, suite, source FROM runs") == [("mine", "pytest", "measure")]
    assert stored(
        "SELECT name, parameters, kind, status FROM cases JOIN outcomes USING (run_id, case_id) ORDER BY ALL"
    ) == [
        ("test_a.py::test_awaited", None, "accuracy", "pass"),
        ("test_a.py::test_awaited", None, "performance", "ok"),
        ("test_a.py::test_plain", '{"n": 1}', "accuracy", "pass"),
        ("test_a.py::test_plain", '{"n": 1}', "performance", "ok"),
        ("test_a.py::test_plain", '{"n": 2}', "accuracy", "pass"),
        ("test_a.py::test_plain", '{"n": 2}', "performance", "ok"),
        ("test_a.py::test_run_through", None, "accuracy", "pass"),
        ("test_a.py::test_run_through", None, "performance", "ok"),
    ]
    assert {"cold", "warmup", "steady"} == {phase for (phase,) in stored("SELECT DISTINCT phase FROM timings")}


@pytest.mark.exhaustive
def test_tests_of_equal_parameters_are_one_case_and_a_line_each(pytester: pytest.Pytester) -> None:
    """None of them is left out of the summary."""
    pytester.makepyfile(
        test_a="import pytest\n@pytest.mark.parametrize('n', [pytest.param(1, id='a'), pytest.param(1, id='b')])\n"
        "def test_it(bench, n): bench(len, [n])"
    )
    done = session(pytester, "--bench")

    done.stdout.fnmatch_lines(["test_a.py::test_it?a?  *ns*", "test_a.py::test_it?b?  *ns*"])
    assert stored("SELECT count(*) FROM cases") == [(1,)]


@exhaustive
def test_only_tests_that_measure_can_be_run(pytester: pytest.Pytester) -> None:
    """The others are deselected, and counted."""
    pytester.makepyfile(test_a=TESTS)

    session(pytester, "--bench-only").assert_outcomes(passed=4, deselected=1)


@pytest.mark.exhaustive
def test_a_wrong_answer_has_no_time(pytester: pytest.Pytester) -> None:
    """A result that the test then finds wrong is fail_accuracy, and not among the results."""
    pytester.makepyfile(test_a="def test_it(bench):\n    assert bench(len, [1]) == 2")
    done = session(pytester, "--bench")

    done.assert_outcomes(failed=1)
    done.stdout.no_fnmatch_line("test_a.py::test_it  *ns*")
    assert stored("SELECT status, reason FROM outcomes WHERE kind = 'accuracy'") == [("fail_accuracy", "assert 1 == 2")]


@pytest.mark.exhaustive
def test_only_a_test_that_passed_has_passed(pytester: pytest.Pytester) -> None:
    """A failure that was expected is a wrong answer, and a test skipped after its call has none."""
    pytester.makepyfile(
        test_a="import pytest\n@pytest.mark.xfail\ndef test_known(bench):\n    assert bench(len, [1]) == 2\n"
        "def test_left(bench):\n    bench(len, [1])\n    pytest.skip('later')\n"
    )

    session(pytester, "--bench").assert_outcomes(xfailed=1, skipped=1)

    found = stored(
        "SELECT name, status FROM cases JOIN outcomes USING (run_id, case_id) WHERE kind = 'accuracy' ORDER BY ALL"
    )
    assert found == [("test_a.py::test_known", "fail_accuracy"), ("test_a.py::test_left", "skipped")]


@pytest.mark.parametrize("budget", ["nan", "0", "-1", "inf"])
def test_a_budget_that_is_never_spent_is_refused(pytester: pytest.Pytester, budget: str) -> None:
    """A session with it would not end."""
    assert pytester.runpytest("--bench", f"--bench-budget={budget}").ret == pytest.ExitCode.USAGE_ERROR


@exhaustive
def test_what_ends_a_test_ends_it_where_it_does(pytester: pytest.Pytester) -> None:
    """Not in bench, and nothing was interrupted: sys.exit and pytest.fail are no errors to Python."""
    pytester.makepyfile(test_a="import sys\ndef work(): sys.exit(3)\ndef test_it(bench): bench(work)")
    done = session(pytester, "--bench")

    done.assert_outcomes(failed=1)
    done.stdout.no_fnmatch_line("*measure_call*")
    query = "SELECT status, exception FROM outcomes WHERE case_id IS NOT NULL"
    assert stored(query) == [("fail_to_run", "SystemExit")]


def test_what_raises_is_an_outcome(pytester: pytest.Pytester) -> None:
    """The test fails as it would have, from the line that raised."""
    pytester.makepyfile(test_a="def work(): raise ValueError('no such thing')\ndef test_it(bench): bench(work)")
    done = session(pytester, "--bench")

    done.assert_outcomes(failed=1)
    done.stdout.no_fnmatch_line("*measure_call*")
    done.stdout.fnmatch_lines(["test_a.py:1: ValueError"])
    query = "SELECT status, reason, exception FROM outcomes WHERE case_id IS NOT NULL"
    assert stored(query) == [("fail_to_run", "ValueError: no such thing", "ValueError")]


def test_a_test_measures_one_call(pytester: pytest.Pytester) -> None:
    """Of two nobody could say which is the test's."""
    pytester.makepyfile("def test_it(bench):\n    bench(len, [1])\n    bench(len, [2])")
    done = session(pytester)

    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*one call a test. Write a test for each, or parametrize it."])


def test_a_test_that_became_slower_fails(pytester: pytest.Pytester) -> None:
    """Beyond what earlier runs differ by; what was recorded is kept."""
    record(*([100_000 + 500 * run + sample for sample in range(9)] for run in (0, 1, 0, 2, 1)))
    pytester.makepyfile(test_a=SLOW)
    done = session(pytester, "--bench-against", "previous", "--bench-budget", "0.3")  # others may have the processor

    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.stdout.fnmatch_lines(["SLOWER: *x slower (95 % *), before 1?? µs; *noise of a run *"])
    done.stdout.fnmatch_lines(["FAILED test_a.py::test_slow - SLOWER: *"])
    assert stored("SELECT count(*) FROM runs") == [(6,)]


@pytest.mark.exhaustive
def test_samples_alone_fail_nothing(pytester: pytest.Pytester) -> None:
    """Of one earlier run nobody knows how runs differ."""
    record([100_000 + sample for sample in range(9)])
    pytester.makepyfile(test_a=SLOW)
    done = session(pytester, "--bench-against", "previous")

    done.assert_outcomes(passed=1)
    done.stdout.fnmatch_lines(
        ["*LIKELY SLOWER: *x slower (95 % *assumes that sessions differ *", "of 1 of 1 nothing is known of the noise *"]
    )


@pytest.mark.exhaustive
def test_what_is_faster_or_first_fails_nothing(pytester: pytest.Pytester) -> None:
    """The first run says that it is, and can be named to compare with."""
    pytester.makepyfile(test_a=SLOW)
    first = session(pytester, "--bench-against", "previous", "--bench-config", "base")
    first.assert_outcomes(passed=1)
    first.stdout.fnmatch_lines(["no earlier run to compare with: this is the first of its config"])

    second = session(pytester, "--bench-against", "base", "--bench-floor", "50%")
    second.assert_outcomes(passed=1)
    second.stdout.fnmatch_lines(["test_a.py::test_slow  *: *x*(95 % *"])


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--bench-against", "nobody"], "ERROR: no run 'nobody' in *"),
        (["--bench", "--bench-floor", "many"], "ERROR: 'many' is not a share between 0 and 1. *"),
        (
            ["--bench", "--bench-store", "/proc/none"],
            "ERROR: cannot create the store *. Choose another with --bench-store.",
        ),
    ],
)
def test_options_are_read_before_anything_runs(pytester: pytest.Pytester, arguments: list[str], complaint: str) -> None:
    """As errors of the user."""
    record([100_000])
    done = session(pytester, *arguments)

    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines([complaint])


@exhaustive
def test_nothing_is_measured_beside_other_processes(pytester: pytest.Pytester) -> None:
    """xdist's workers would measure each other; the tests run all the same, and it is said where there is no header, too."""
    pytester.makepyfile(test_a=TESTS)
    done = session(pytester, "--bench", "-n", "1", "-q")

    done.assert_outcomes(passed=5)
    done.stdout.fnmatch_lines(["bench: nothing is measured beside xdist's processes. Measure with: -n 0"])
    assert not Path(os.environ["BENCH_STORE"]).exists()


SUITE_OF_PYTEST_BENCHMARK = """
import time
import pytest

ROUNDS = []

@pytest.mark.benchmark(group="sorting", min_rounds=5)
def test_plain(benchmark):
    benchmark.extra_info["size"] = 3
    benchmark.extra_info["kind"] = "tiny"
    assert benchmark(sorted, [3, 1, 2]) == [1, 2, 3]
    if benchmark.stats:
        assert 0 < benchmark.stats["min"] <= benchmark.stats.stats.mean

@pytest.mark.parametrize("n", [2])
def test_pedantic(benchmark, n):
    def setup():
        ROUNDS.append(n)
        return (list(range(n)),), {}
    assert benchmark.pedantic(sorted, setup=setup, rounds=4, warmup_rounds=1) == [0, 1]
    assert len(ROUNDS) == (1 if benchmark.disabled else 5)

def test_iterations(benchmark):
    assert benchmark.pedantic(lambda x: x + 1, args=(1,), iterations=10, rounds=3) == 2
"""


@pytest.mark.parametrize("options", [(), ("--bench",)])
def test_a_suite_of_pytest_benchmark_runs_unchanged(pytester: pytest.Pytester, options: tuple[str, ...]) -> None:
    """Without that plugin, whose fixture, marker and names are there."""
    pytester.makepyfile(test_a=SUITE_OF_PYTEST_BENCHMARK)

    session(pytester, "-p", "no:benchmark", "--strict-markers", *options).assert_outcomes(passed=3)


@exhaustive
def test_what_a_test_of_pytest_benchmark_says_is_recorded(pytester: pytest.Pytester) -> None:
    """Rounds and iterations as it says, the group as a parameter, numbers beside the time as metrics."""
    pytester.makepyfile(test_a=SUITE_OF_PYTEST_BENCHMARK)
    session(pytester, "-p", "no:benchmark", "--bench")

    timed = stored("SELECT split_part(name, '::', 2), phase, count(*), min(loops) FROM timings JOIN case_axes USING (case_id)"
                   " WHERE name LIKE '%pedantic' OR name LIKE '%iterations' GROUP BY ALL ORDER BY ALL")  # fmt: skip
    assert timed == [
        ("test_iterations", "steady", 3, 10),
        ("test_pedantic", "steady", 4, 1),
        ("test_pedantic", "warmup", 1, 1),
    ]
    assert stored("SELECT metric, value, original_value FROM metrics WHERE metric IN ('size', 'kind') ORDER BY 1") == [
        ("kind", None, "tiny"), ("size", 3.0, None),
    ]  # fmt: skip
    assert stored("SELECT parameters ->> 'group' FROM case_axes WHERE name LIKE '%plain'") == [("sorting",)]
