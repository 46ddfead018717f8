"""`bench why --measure`: the command that measures both sides again, and what it leaves alone."""

import json
import re
from typing import Any

import pytest
from bench.query.comparison.sides import Side
from bench.query.resolve import WHY, named_runs
from bench.query.why.turns import turns_command
from bench.warehouse.errors import BenchError
from bench.warehouse.events import Json

from ...builders import Builder, case, options, run

SIDES = (Side("main", ("base",)), Side("mine", ("candidate",)))
FUNCTION = options(
    "measure function", ("what", "", "work:score"), ("how", "--budget", "2"), ("where", "--config", "mine"),
    ("sides", "--revisions", "a", "b"),
)  # fmt: skip


def recorded(base: str, candidate: str, command: Json = FUNCTION, **fields: Any) -> Builder:
    """A run of each side, at its commit."""
    fields = {"source": "measure", "options": command, "git_dirty": False, **fields}
    return Builder().add(
        run("base", "main", git_commit=base, **fields), run("candidate", "mine", git_commit=candidate, **fields)
    )


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (FUNCTION, "function work:score --budget 2 --lines"),
        (options("measure function", ("what", "", "work:f"), ("how", "--lines")), "function work:f --lines"),
        (options("measure lines", ("what", "", "work:f"), ("how", "--arg", "n=1")), "function work:f --arg n=1 --lines"),
        (options("measure models", ("what", "", "p.toml"), ("how", "--seed", "1")), "models p.toml --seed 1 --profile"),
    ],
)  # fmt: skip
def test_what_was_measured_is_measured_again_with_the_profiler(command: Json, words: str) -> None:
    """At the commits of both sides, under a config of its own; other options stay as they were."""
    warehouse = recorded("a" * 40, "b" * 40, command)
    made, configs = turns_command(warehouse, SIDES, "Net")

    sides = ["--revisions", "a" * 12, "b" * 12]
    assert made == ["bench", "measure", *words.split(), *sides, "--config", WHY, "--store", str(warehouse.store.root)]
    assert configs == [f"why@{'a' * 12}", f"why@{'b' * 12}"]


def test_of_models_the_case_alone_is_measured_again() -> None:
    """By its axes, whatever chose it: a part of a plan may hold nothing else of it."""
    chosen = options("measure models", ("what", "", "p.toml"), ("what", "--partition", "1/4"), ("how", "--quick"))
    axes: dict[str, Any] = {"suite": "builtin", "mode": "training", "backend": "eager"}
    warehouse = recorded("a" * 40, "b" * 40, chosen).add(
        case("Net", "candidate", **axes), case("Other", "candidate", **axes)
    )

    made, _ = turns_command(warehouse, SIDES, "Net")
    assert made[3 : made.index("--revisions")] == (
        ["--suites", "builtin", "--models", "Net", "--backends", "eager", "--modes", "training", "--quick", "--profile"]
    )


def test_versions_of_a_package_are_measured_again() -> None:
    """Both sides are of one commit then."""
    warehouse = Builder()
    for name, version in (("base", "2.1"), ("candidate", "2.2")):
        warehouse.add(
            run(
                name,
                name,
                "measure",
                options=FUNCTION,
                git_commit="a" * 40,
                tags=json.dumps({"with": f"torch=={version}"}),
            )
        )

    made, configs = turns_command(warehouse, SIDES, None)
    assert " ".join(made).count("--with torch==2.1 --with torch==2.2") == 1 and configs == [
        "why@torch==2.1",
        "why@torch==2.2",
    ]


@pytest.mark.parametrize(
    ("base", "fields", "reason"),
    [
        (
            "b" * 40,
            {},
            "both sides are of commit bbbbbbbbb. Measure each side yourself, as it was, with --lines or --profile",
        ),
        ("a" * 40, {"git_dirty": True}, "main was measured with changes that were not committed; mine was"),
        (
            "a" * 40,
            {"options": None},
            "there is nothing to measure again with a profiler: run candidate keeps no options",
        ),
        (
            "a" * 40,
            {"options": options("measure command", ("what", "--", "ls"))},
            "mine was not measured by bench measure function or models",
        ),
    ],
)
def test_what_cannot_be_brought_about_again_is_said(base: str, fields: dict[str, Any], reason: str) -> None:
    """With the reason and what to do instead."""
    with pytest.raises(BenchError, match=re.escape(reason)):
        turns_command(recorded(base, "b" * 40, **fields), SIDES, None)


def test_runs_of_the_profiler_are_neither_the_latest_nor_those_of_a_commit() -> None:
    """They never change what is judged; by their config they are found."""
    warehouse = recorded("a" * 40, "b" * 40)
    warehouse.add(run("again", "why@b", git_commit="b" * 40, tags=json.dumps({WHY: "main mine"})))

    warehouse.add(run("past", "HEAD~1", source="measure"), run("head", "HEAD", source="measure"))
    assert named_runs(warehouse, "HEAD~1") == ["past"]  # of --revisions HEAD~1 HEAD
    assert "again" not in named_runs(warehouse, "latest")
    assert named_runs(warehouse, "b" * 8) == ["candidate"] and named_runs(warehouse, "why@b") == ["again"]
