"""coverage_losses: what passed in the run before, and what became of it."""

from typing import Any

from bench.warehouse.events import Json

from ..builders import Builder, case, metric, outcome, run

AXES: dict[str, Any] = {"suite": "s", "mode": "inference", "device": "cpu", "dtype": "float32", "backend": "eager"}
DAY = 86_400_000_000


def record(
    warehouse: Builder,
    day: int,
    statuses: dict[str, str],
    *,
    config: str = "main",
    tags: str | None = None,
    **axes: Any,
) -> None:
    """A run a day, and how its cases ended."""
    run_id = f"r{day}"
    warehouse.add(run(run_id, config, started_at=day * DAY, tags=Json(tags) if tags else None))
    for name, status in statuses.items():
        it = case(name, run=run_id, **{**AXES, **axes})
        warehouse.add(it, outcome(it, status, reason=f"{name} {status}"))


def losses(warehouse: Builder) -> list[tuple[Any, ...]]:
    return warehouse.rows("SELECT run_id, name, status, reason, before_run_id FROM coverage_losses ORDER BY ALL")


def test_a_case_that_passed_and_does_not_now_is_lost(warehouse: Builder) -> None:
    """Failed, skipped or absent; what failed before too, and what is new, is no loss. It is lost once."""
    record(warehouse, 1, {"oom": "ok", "skip": "ok", "gone": "ok", "bad": "OOM", "fine": "ok"})
    record(warehouse, 2, {"oom": "OOM", "skip": "skipped", "bad": "OOM", "fine": "ok", "new": "OOM"})
    record(warehouse, 3, {"oom": "OOM", "fine": "ok"})

    assert losses(warehouse) == [
        ("r2", "gone", "absent", "the run did not announce it", "r1"),
        ("r2", "oom", "OOM", "oom OOM", "r1"),
        ("r2", "skip", "skipped", "skip skipped", "r1"),
    ]

    assert warehouse.rows("SELECT name FROM _coverage_losses(['r2', 'r3']) ORDER BY name") == [
        ("gone",),
        ("oom",),
        ("skip",),
    ]
    assert warehouse.rows("FROM _coverage_losses(['r1', 'r3'])") == []


def test_a_wrong_answer_and_a_missing_speedup_are_losses(warehouse: Builder) -> None:
    """Of accuracy the reason is told; a speedup that an import reports no more has none."""
    for index, speedup in enumerate((1.5, 0.0)):
        run_id = f"r{index}"
        wrong, without = (case(name, run=run_id, **{**AXES, "backend": "inductor"}) for name in ("wrong", "without"))
        accuracy = "pass" if index == 0 else "fail_accuracy"
        warehouse.add(
            run(run_id, "main", "torch-compile", started_at=index * DAY),
            wrong,
            without,
            outcome(wrong),
            outcome(without),
        )
        warehouse.add(
            outcome(wrong, accuracy, kind="accuracy", reason="off by 1"), outcome(without, "pass", kind="accuracy")
        )
        warehouse.add(metric(wrong, "speedup", 1.5), metric(without, "speedup", speedup))

    assert losses(warehouse) == [
        ("r1", "without", "no speedup", None, "r0"), ("r1", "wrong", "fail_accuracy", "off by 1", "r0"),
    ]  # fmt: skip


def test_a_backend_that_is_gone_is_missed(warehouse: Builder) -> None:
    """As long as the run had anything of the same suite, mode, device and dtype."""
    record(warehouse, 1, {"m": "ok"}, backend="inductor")
    record(warehouse, 2, {"m": "ok"})

    assert losses(warehouse) == [("r2", "m", "absent", "the run did not announce it", "r1")]


def test_runs_that_take_turns_miss_nothing_of_one_another(warehouse: Builder) -> None:
    """Another suite, dtype or config: the run before is the last that had the same."""
    record(warehouse, 1, {"m": "ok"})
    record(warehouse, 2, {"m": "ok"}, suite="other")
    record(warehouse, 3, {"m": "ok"}, dtype="bfloat16")
    record(warehouse, 4, {"x": "ok"}, config="elsewhere")
    record(warehouse, 5, {"n": "ok"})

    assert losses(warehouse) == [("r5", "m", "absent", "the run did not announce it", "r1")]


def test_a_suite_that_is_gone_is_missed(warehouse: Builder) -> None:
    """Once, if both runs before had it; not by a run of something else, nor where suites take turns."""
    for number in (1, 2, 3, 4, 5):
        if number != 4:
            record(warehouse, number, {"m": "ok"})
        if number < 3:
            record(warehouse, number, {"n": "ok", "bad": "OOM"}, suite="other")
        if number > 3:
            record(warehouse, number, {"x": "ok"}, suite="third")

    query = "SELECT run_id, suite, name, status, before_run_id FROM coverage_losses ORDER BY ALL"
    assert warehouse.rows(query) == [("r3", "other", "n", "absent", "r2")]


def test_a_confirming_run_neither_loses_nor_counts(warehouse: Builder) -> None:
    """It measures a part on purpose; the run after it is compared with the whole one before."""
    record(warehouse, 1, {"m": "ok", "n": "ok"})
    record(warehouse, 2, {"m": "ok"}, tags='{"confirms": "r1"}')
    record(warehouse, 3, {"m": "ok"}, tags='{"confirm": "the word alone does not"}')

    assert losses(warehouse) == [("r3", "n", "absent", "the run did not announce it", "r1")]
