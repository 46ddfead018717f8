"""The measurements of a pytest session: a run of suite `pytest`, judged at its end."""

import contextlib
import math
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import pytest

from ...warehouse.console.numbers import change_of, duration, percent, share
from ...warehouse.console.options import store_words
from ...warehouse.errors import BenchError
from ...warehouse.store import Store
from ..recorded_options import options_of_words

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse
    from ...warehouse.recorder import Case, Run
    from .in_process import CallMeasurement

SUITE = "pytest"
PREVIOUS = "previous"
_CELLS = """
SELECT case_id, median, median_low, median_high
FROM cells
WHERE run_id = ? AND metric = 'latency' AND phase = 'steady'
"""


@contextlib.contextmanager
def _told_by_pytest() -> Iterator[None]:
    """An error of the user is one of pytest's, without a traceback."""
    try:
        yield
    except BenchError as error:
        raise pytest.UsageError(str(error).replace("--store", "--bench-store")) from None


class Measurements:
    """The measurements of one session. The run begins with the first of them."""

    def __init__(self, config: pytest.Config) -> None:
        """Read the options, find the run to compare with, and make the store.

        Raises:
            pytest.UsageError: One of them is none, no run answers to the name, or there can be no store.
        """
        self._options = config.option
        self._words = [str(word) for word in config.invocation_params.args]
        self._run: Run | None = None
        self._cases: dict[
            str, tuple[pytest.Item, Case, CallMeasurement]
        ] = {}  # by node id, those that were measured whole
        self._judged: dict[str, tuple[bool, str]] = {}  # by case id: whether it became slower, and what to say
        self._sentences: list[str] = []
        with _told_by_pytest():
            self.store = Store.find(self._options.bench_store)
            self._precision = share(self._options.bench_precision)
            self._floor = share(self._options.bench_floor) if self._options.bench_floor else None
            against = self._options.bench_against
            self._base = self._base_named(against) if against not in (None, PREVIOUS) else None
            self.store.create()

    def _base_named(self, name: str) -> str:
        """The newest run of the suite that answers to a name."""
        from ...query.resolve import resolve_runs

        with self._warehouse() as warehouse:
            ours = {run_id for (run_id,) in warehouse.rows("SELECT run_id FROM runs WHERE suite = ?", [SUITE])}
            for run_id in resolve_runs(warehouse, name):
                if run_id in ours:
                    return run_id
        raise BenchError(f"no run of pytest --bench answers to {name!r}. List all with: bench list runs")

    def _warehouse(self) -> "Warehouse":
        from ...warehouse.database import Warehouse

        return Warehouse.open(self.store)

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Leave out tests without the fixture, if those were not asked for."""
        if self._options.bench_only:
            others = [item for item in items if not {"bench", "benchmark"} & {*getattr(item, "fixturenames", ())}]
            items[:] = [item for item in items if item not in others]
            config.hook.pytest_deselected(items=others)

    def measure(
        self, item: pytest.Item, group: str | None, function: Callable[..., Any], args: tuple[Any, ...],
        kwargs: dict[str, Any], **rounds: Any,
    ) -> "CallMeasurement":  # fmt: skip
        """Measure the call of a test; `rounds` are what `measure_rounds` takes, where the test says how often."""
        from ...warehouse import recorder
        from .in_process import measure_call, measure_rounds

        if sys.gettrace() is not None and not self._sentences:
            self._sentences.append(
                "measured under a tracer, such as coverage or a debugger: times are longer than without it"
            )
        self._run = self._run or recorder.run(
            self._options.bench_config,
            suite=SUITE,
            store=self.store,
            source="measure",
            options=options_of_words("pytest", self._words),
        )
        name, parameters = _case_of(item)
        if group is not None:
            parameters = {**(parameters or {}), "group": group}
        case = self._run.case(name, suite=SUITE, parameters=parameters)
        if rounds:
            measured = measure_rounds(case, function, args, kwargs, **rounds)
        else:
            limits = {"precision": self._precision, "budget_s": self._options.bench_budget}
            measured = measure_call(case, function, args, kwargs, **limits)
        self._cases[item.nodeid] = item, case, measured
        return measured

    def note(self, item: pytest.Item, extra: Mapping[str, Any]) -> None:
        """Record what a test notes beside its time: numbers as metrics, all else as text."""
        if item.nodeid not in self._cases:
            return
        _, case, _ = self._cases[item.nodeid]
        for name, value in extra.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                case.metric(str(name), value)
            else:
                case.metric(str(name), None, text=str(value))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
        """Discard the time of a test that failed, even as expected, or was skipped."""
        report = yield
        if call.when == "call" and item.nodeid in self._cases:
            _, case, _ = self._cases[item.nodeid]
            if report.passed:
                case.outcome("pass", kind="accuracy", reason="the test passed")
            else:
                skipped = report.skipped and not hasattr(report, "wasxfail")
                reason = str(call.excinfo.value).partition("\n")[0] if call.excinfo else "the test failed"
                case.outcome("skipped" if skipped else "fail_accuracy", kind="accuracy", reason=reason)
                del self._cases[item.nodeid]
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, Any, Any]:
        """End the run when all tests have run, and fail those that are slower than they were."""
        try:
            result = yield
        except BaseException as error:
            if self._run:
                self._run.close("interrupted", type(error).__name__)
            raise
        if self._run:
            self._run.close()
            if self._options.bench_against:
                with _told_by_pytest():
                    self._judge(self._run)
                for item, case, _ in self._cases.values():
                    slower, text = self._judged.get(case.case_id, (False, ""))
                    if slower:
                        session.config.hook.pytest_runtest_logreport(report=_failed(item, text))
        return result

    def _judge(self, run: "Run") -> None:
        """Compare with the base, case by case; the run is the unit of evidence, not the sample."""
        from ...query.comparison.compare import compare
        from ...query.comparison.sides import find_sides

        with self._warehouse() as warehouse:
            base = self._base or self._previous(warehouse, run)
            if base is None:
                self._sentences.append("no earlier run to compare with: this is the first of its config")
                return
            sides = find_sides(warehouse, base, run.run_id)
            where = {"suite": [SUITE], "metric": ["latency"]}
            rows = compare(warehouse, *sides, floor=self._floor, where=where).rows
        measured = {case.case_id for _, case, _ in self._cases.values()}
        rows = [row for row in rows if row["case_id"] in measured and row["ratio"] is not None]
        known = [row for row in rows if row["noise"] is not None]
        for row in rows:
            text = f"{row['verdict']}: {change_of(row)}, before {duration(row['base_value'])}"
            self._judged[row["case_id"]] = row["verdict"] == "SLOWER", f"{text}; {row['reason']}"
        if unknown := len(rows) - len(known):
            self._sentences.append(
                f"of {unknown} of {len(rows)} nothing is known of the noise from run to run: they cannot fail. "
                "Run this again a few times"
            )

    def _previous(self, warehouse: "Warehouse", run: "Run") -> str | None:
        query = """
            SELECT run_id
            FROM runs
            WHERE (config, suite) IN (SELECT (config, suite) FROM runs WHERE run_id = $run) AND run_id <> $run
            ORDER BY started_at DESC LIMIT 1
        """
        return next((run_id for (run_id,) in warehouse.rows(query, {"run": run.run_id})), None)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Write a line for each measurement, and notes."""
        if self._run is None:
            return
        terminalreporter.section("bench")
        width = max(map(len, self._cases), default=0)
        cells: dict[str, Sequence[float | None]] = {}
        try:
            with self._warehouse() as warehouse:
                cells = {case_id: cell for case_id, *cell in warehouse.rows(_CELLS, [self._run.run_id])}
        except BenchError as error:  # what was measured is kept
            self._sentences.append(str(error))
        for name, (_, case, _) in self._cases.items():
            median, low, high = cells.get(case.case_id) or (None, None, None)
            precise = f"±{percent(math.sqrt(high / low) - 1, 1)}" if low and high else ""
            line = f"{name:{width}}  {duration(median) or '–':>8}  {precise:>8}"
            if case.case_id in self._judged:
                line += f"  {self._judged[case.case_id][1]}"
            terminalreporter.write_line(line)
        for sentence in self._sentences:
            terminalreporter.write_line(sentence)
        terminalreporter.write_line(f"recorded as run {self._run.run_id} in {self.store}. Every sample of it:")
        query = f"FROM samples WHERE run_id = '{self._run.run_id}'"
        terminalreporter.write_line(f'  bench sql "{query}"{store_words(self.store)}')


def _failed(item: pytest.Item, text: str) -> pytest.TestReport:
    keywords: dict[str, Literal[1]] = dict.fromkeys(item.keywords, 1)
    return pytest.TestReport(item.nodeid, item.location, keywords, "failed", text, "call")


def _case_of(item: pytest.Item) -> tuple[str, dict[str, Any] | None]:
    """Name and parameters: plain values as they are, others by their pytest id."""
    callspec = getattr(item, "callspec", None)
    if callspec is None:
        return item.nodeid, None
    plain = {name: value for name, value in callspec.params.items() if isinstance(value, str | int | float | None)}
    parameters = plain if len(plain) == len(callspec.params) else {**plain, "id": callspec.id}
    return item.nodeid.removesuffix(f"[{callspec.id}]"), parameters
