"""Resuming: what a store knows of a plan, and what is left to measure."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from bench.measure.engine.runner import Runner
from bench.measure.engine.workload import AUTO, Settings, Workload
from bench.measure.models.batch_sizes import fitted
from bench.measure.models.resume import known_cases
from bench.warehouse import environment, recorder
from bench.warehouse.events import Environment
from bench.warehouse.store import Store

from ...exhaustive import exhaustive, first_of

COMMIT = "c0ffee" * 6
SETTINGS = Settings(repeat=4, budget_s=0.3)


@pytest.fixture(autouse=True)
def commit(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A clean commit is checked out; call it for another state."""

    def check_out(commit: str | None = COMMIT, dirty: bool | None = False) -> None:
        monkeypatch.setattr(environment, "git", lambda folder=None: (commit, "main", dirty))

    check_out()
    return check_out


@pytest.fixture
def measured(tmp_path: Path) -> Any:
    """Record a run in which the backends of a workload ended so, and give its store."""

    def record(workload: Workload, settings: Settings | None = None, **statuses: str) -> Store:
        store = Store(tmp_path)
        said = (settings or Settings()).to_dict()
        with recorder.run("c", store=store, source="measure", settings=said) as run:
            for backend, status in statuses.items():
                case = run.case(**workload.axes(backend))
                if status == "fail_accuracy":
                    case.outcome(status, kind="accuracy")
                case.outcome("ok" if status == "fail_accuracy" else status)
        return store

    return record


def left(store: Store, *plan: Workload, settings: Settings | None = None, retry: str | None = None) -> list[Any]:
    """Backends to measure, of each workload that is left."""
    said: list[str] = []
    known = known_cases(store, plan, settings or Settings(), retry=retry, notify=said.append)
    return [workload.backends for workload in known.left(plan)] + said


def test_what_is_known_is_left_out(measured: Any, workload: Any) -> None:
    """Failures and skips are known, too; what was interrupted is not."""
    work = workload("eager", "a", "b", "c", "d")
    store = measured(work, eager="ok", a="ok", b="fail_to_run", c="skipped", d="interrupted")

    assert left(store, work, workload("eager", "a", name="other")) == [("eager", "d"), ("eager", "a")]
    assert left(store, workload("eager", "a", "b")) == []


@exhaustive
def test_the_batch_size_that_was_found_is_not_looked_for_again(tmp_path: Path, workload: Any) -> None:
    """Measured cases are known, others stay at that size, bounded; of several sizes the last found counts."""
    store = Store(tmp_path)
    work, other = (replace(workload("eager", "a", name=name), batch_size=AUTO) for name in ("fake", "other"))
    for fits in (256, 512):
        tries = SimpleNamespace(tried=lambda sized, fits=fits: ("ok" if sized.batch_size <= fits else "OOM", "why"))
        with recorder.run("c", store=store, source="measure", settings=Settings().to_dict()) as run:
            (found, _) = fitted([work, other], run, cast(Runner, tries), print)
            for case in (run.case(**found.axes(backend)) for backend in found.backends):
                case.outcome("ok")

    known = known_cases(store, [work, other], Settings(), notify=print)

    assert [(x.batch_size, x.bounded) for x in known.plan] == [(512, True), (512, True)]
    assert [(x.name, x.batch_size) for x in known.left(known.plan)] == [("other", 512)]
    assert known_cases(store, [work], Settings(), fleet=True, notify=print).plan == [work]


@pytest.mark.parametrize(("retry", "size"), first_of(1, [(None, 1024), ("failed", AUTO)]))
def test_a_size_that_failed_otherwise_is_found_again_with_that_failure(
    tmp_path: Path, workload: Any, retry: str | None, size: int
) -> None:
    """Nobody knows whether it fits: only who leaves the failure alone need not ask."""
    store, work = Store(tmp_path), replace(workload("eager", "a"), batch_size=AUTO)
    with recorder.run("c", store=store, source="measure", settings=Settings().to_dict()) as run:
        (found,) = fitted([work], run, cast(Runner, SimpleNamespace(tried=lambda sized: ("crashed", "why"))), print)
        for backend in found.backends:
            run.case(**found.axes(backend)).outcome("crashed")

    known = known_cases(store, [work], Settings(), retry=retry, notify=print)

    assert [x.batch_size for x in known.plan] == [size]
    assert bool(known.left(known.plan)) == (retry is not None)


@exhaustive
def test_without_its_baseline_a_workload_is_measured_whole(measured: Any, workload: Any) -> None:
    """Its speedups need both sides in one process."""
    store = measured(workload("eager", "a", "b"), eager="timeout", a="ok", b="ok")

    assert left(store, workload("eager", "a", "b"), retry="timeout") == [("eager", "a", "b")]


@pytest.mark.parametrize(
    ("retry", "again"),
    first_of(1, [
        ("failed", ("eager", "b", "c", "d")), ("timeout", ("eager", "c")), ("skipped", ("eager", "e")),
    ]),
)  # fmt: skip
def test_some_outcomes_are_measured_again_on_request(measured: Any, workload: Any, retry: str, again: Any) -> None:
    """All failures, a wrong output among them; what took too long; or what could not be run."""
    work = workload("eager", "a", "b", "c", "d", "e")
    store = measured(work, eager="ok", a="ok", b="crashed", c="timeout", d="fail_accuracy", e="skipped")

    assert left(store, work, retry=retry) == [again]


@pytest.mark.parametrize(
    ("change", "same"),
    first_of(
        2, [({"precision": 0.02}, False), ({"seed": 1}, False), ({"repeat": 30}, False), ({"timeout_s": 9.0}, True)]
    ),
)
def test_other_settings_are_another_measurement(measured: Any, workload: Any, change: Any, same: bool) -> None:
    """But for the time allowed, which changes no figure."""
    work = workload()
    store = measured(work, eager="ok", candidate="ok")

    assert left(store, work, settings=replace(Settings(), **change)) == ([] if same else [work.backends])


@exhaustive
def test_other_work_or_code_or_machines_are_not_known(
    measured: Any, workload: Any, commit: Any, monkeypatch: Any
) -> None:
    """All axes count, parameters too; and the commit; and the environment."""
    work = workload()
    store = measured(work, eager="ok", candidate="ok")

    assert left(store, replace(work, parameters={"threads": 1})) == [work.backends]
    assert left(store, replace(work, dtype="float64")) == [work.backends]
    commit("another")
    assert left(store, work) == [work.backends]
    commit()
    monkeypatch.setattr(environment, "capture", lambda: Environment(environment_id="x"))
    assert left(store, work) == [work.backends]


def test_changed_code_knows_nothing_and_says_so(measured: Any, workload: Any, commit: Any) -> None:
    """Nobody can tell what was measured then, nor what would be now."""
    work = workload()
    store = measured(work, eager="ok", candidate="ok")
    commit(dirty=True)
    assert left(store, work)[1].startswith(f"nothing is known of this plan: the code differs from commit {COMMIT[:9]}")


@pytest.mark.exhaustive
def test_outside_git_a_run_of_a_commit_is_other_code(measured: Any, workload: Any, commit: Any) -> None:
    """One outside git is the same, as far as the models of packages go."""
    work = workload()
    store = measured(work, eager="ok", candidate="ok")
    commit(None, None)
    assert left(store, work) == [work.backends]
    store = measured(work, eager="ok", candidate="ok")
    assert left(store, work) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("head", first_of(1, [None, COMMIT]))
def test_a_changed_model_file_is_measured_again(tmp_path: Path, workload: Any, commit: Any, head: str | None) -> None:
    """In git it may be untracked; back as it was, it is known again."""
    commit(head, None if head is None else False)
    file = tmp_path / "net.py"
    work = replace(workload(), target=f"{file}:Net")

    def measured(text: str) -> Store:
        file.write_text(text)
        with recorder.run("c", store=tmp_path / "store", source="measure", settings=SETTINGS.to_dict()) as run:
            Runner(run, SETTINGS, program="fake_program:FakeProgram").measure([work])
        return Store(tmp_path / "store")

    store = measured("x = 1")
    assert left(store, work, settings=SETTINGS) == []
    file.write_text("x = 3")
    assert left(store, work, settings=SETTINGS) == [work.backends]
    measured("x = 3")
    file.write_text("x = 1")
    assert left(store, work, settings=SETTINGS) == []


def test_a_new_store_knows_nothing(tmp_path: Path, workload: Any) -> None:
    """And asking makes none."""
    assert left(Store(tmp_path / "new"), workload()) == [("eager", "candidate")]
    assert not (tmp_path / "new").exists()


@exhaustive
def test_the_new_run_says_what_it_resumes(measured: Any, workload: Any) -> None:
    """By id; the newest run that knows a case counts."""
    work = workload()
    store = measured(work, eager="ok", candidate="ok")
    store = measured(work, eager="ok")
    known = known_cases(store, [work], Settings(), notify=print)

    older, newer = sorted(set(known.runs.values()))
    assert known.tags == {"resumes": f"{older} {newer}"}
    assert [known.run_of(work, name) for name in work.backends] == [newer, older]
