"""Classes of machine: what a run ran on, whatever the host is called, and which runs are compared for it."""

import json
from pathlib import Path
from typing import Any

import pytest
from bench.cli import cli
from bench.warehouse.events import Environment, Json
from bench.warehouse.store import Store
from click.testing import CliRunner

from ...builders import Builder, case, metric, run, stored


def _machine(name: str, cpu: str | None = None, **facts: Any) -> Environment:
    return Environment(environment_id=name, cpu=cpu, **facts)


def _caches(l3_bytes: int) -> Json:
    return Json(json.dumps({"caches": [{"type": "Unified", "level": 3, "size": l3_bytes, "num_sharing": 4}]}))


def test_machine_facts(warehouse: Builder) -> None:
    """Columns and what other tools write give them; an architecture is no processor, and a host stands for what is unknown."""
    warehouse.add(
        _machine("one", "AMD EPYC(TM) 7763 64-Core Processor", logical_cores=4, extra=_caches(2**25)),
        _machine("two", "x86_64", logical_cores=4), _machine("three", gpus=["A100", "A100"], driver="535.86.10"),
        _machine("four", "Intel(R) Xeon(R) CPU @ 2.20GHz", extra=Json('{"cpu": {"l3_cache_size": 1048576}, "cpu_limit": 2.0}')),
    )  # fmt: skip
    for name in ("one", "two", "three", "four", None):
        warehouse.add(run(name or "none", environment_id=name, host="h" if name == "two" else None))
    query = """SELECT run_id, cpu, l3_bytes, gpus, driver, cpu_limit, machine_id IS NULL, facts_id IS NULL FROM _machine_facts
        ORDER BY run_id"""

    assert warehouse.rows(query) == [
        ("four", "Xeon @ 2.20GHz", 2**20, None, None, 2.0, False, False), ("none", *[None] * 5, True, True),
        ("one", "EPYC 7763", 2**25, None, None, None, False, False),
        ("three", None, None, "A100, A100", "535", None, False, False),
        ("two", None, None, None, None, None, False, True),
    ]  # fmt: skip


def test_machine_classes(warehouse: Builder) -> None:
    """A description that knows less belongs to the only one that it does not contradict; GPUs and limits must be equal."""
    environments = {
        "less": {}, "full": {"logical_cores": 4, "extra": _caches(2**25)}, "gpu": {"gpus": ["A100"], "logical_cores": 4},
    }  # fmt: skip
    for name, facts in environments.items():
        warehouse.add(_machine(name, "EPYC 7763", **facts), run(name, environment_id=name))
    query = (
        "SELECT run_id, machine, class_id FROM _machine_facts JOIN _machine_classes USING (facts_id)"
        " WHERE is_known ORDER BY run_id"
    )

    full, gpu, less = warehouse.rows(query)
    assert (full[1], gpu[1]) == ("EPYC 7763, 4 cores, L3 32 MiB", "EPYC 7763, 4 cores, A100")
    assert less[1:] == full[1:] and gpu[2] != full[2]
    warehouse.add(
        _machine("other", "EPYC 7763", logical_cores=4, extra=_caches(2**24)), run("other", environment_id="other")
    )
    assert {"EPYC 7763"} == {machine for run_id, machine, _ in warehouse.rows(query) if run_id == "less"}


def test_machine_names(warehouse: Builder) -> None:
    """A store has no names of its own; whoever opens it gives them, and a name merges the classes that it stands for."""
    for name, size in (("a", 2**24), ("b", 2**25)):
        warehouse.add(_machine(name, "EPYC 7763", extra=_caches(size)), run(name, environment_id=name))
    assert warehouse.rows("FROM _machine_names") == []
    warehouse.connection.execute("CREATE TEMP TABLE _machine_names AS SELECT 'pool' AS name, '^epyc.*$' AS pattern")
    assert warehouse.rows("SELECT DISTINCT machine, class_id FROM machines") == [("pool", "pool")]


@pytest.mark.parametrize(
    "pattern",
    [
        "^xeon platinum 8370c$", "^xeon platinum 8370c @ 2.80ghz$", "^xeon platinum 8370c @ 2.80ghz, 4 cores$",
        r"^intel\(r\) xeon\(r\) platinum 8370c cpu .*$",
    ],
)  # fmt: skip
def test_a_processor_is_named_with_or_without_its_clock(warehouse: Builder, pattern: str) -> None:
    """A name without * fits the model as people write it, as the class begins, and the whole class; or as tools write it."""
    warehouse.add(
        _machine("a", "Intel(R) Xeon(R) Platinum 8370C CPU @ 2.80GHz", logical_cores=4), run("a", environment_id="a")
    )
    warehouse.connection.execute("CREATE TEMP TABLE _machine_names AS SELECT 'pool' AS name, ? AS pattern", [pattern])
    assert warehouse.rows("SELECT machine FROM machines") == [("pool",)]


def test_a_class_that_the_user_named_is_known(warehouse: Builder) -> None:
    """All cases 60 % slower may be another machine where no processor is known, but not where the settings name it."""
    for night in range(8):
        warehouse.add(
            Environment(environment_id=f"e{night == 7}", logical_cores=4, extra=_caches(2**25 * (1 + (night == 7)))),
            run(f"n{night}", "c", environment_id=f"e{night == 7}", started_at=night * 86_400_000_000, source="jmh"),
        )
        for name in "abc":
            it = case(name, run=f"n{night}")
            warehouse.add(
                it, metric(it, "latency", (160 if night == 7 else 100) + night % 3 / 10, unit="ns", better="lower")
            )
    verdicts = "SELECT DISTINCT verdict FROM regressions(['n7'])"

    assert warehouse.rows(verdicts) == [("UNSURE",)]
    names = "CREATE TEMP TABLE _machine_names (name VARCHAR, pattern VARCHAR)"
    warehouse.connection.execute(names)
    warehouse.connection.execute("INSERT INTO _machine_names VALUES ('pool', '^.*l3 .*$')")
    assert warehouse.rows("SELECT DISTINCT machine, is_known FROM machines") == [("pool", True)]
    assert warehouse.rows(verdicts) == [("SLOWER",)]


def test_a_class_without_three_runs_has_no_base(warehouse: Builder) -> None:
    """Runs are compared within their class whatever their hosts are called; the third run before is the first that counts."""
    for number, name in enumerate("aabbaba"):
        warehouse.add(
            _machine(name, f"cpu {name}"),
            run(f"r{number}", "c", environment_id=name, host=f"h{number}", started_at=number),
        )
    query = "SELECT run_id FROM _comparison_sides(NULL, [?], 20) WHERE side = 'base' ORDER BY run_id"

    assert warehouse.rows(query, ["r5"]) == []
    assert warehouse.rows(query, ["r6"]) == [("r0",), ("r1",), ("r4",)]


def test_sides_of_other_machines_are_told(warehouse: Builder) -> None:
    """Only where every class is known and none is on both sides; it is open where a processor is not, and the hosts differ."""
    for name in "abc":
        warehouse.add(_machine(name, f"cpu {name}"), run(name, environment_id=name, host=name))
    warehouse.add(run("n"), *(run(name, host=name[0]) for name in ("x", "xx", "y", "z", "u", "v", "w")))
    query = "SELECT DISTINCT is_other_machine FROM _comparison_sides(?, ?, 20)"
    known = (("a", "b", True), ("ab", "b", False), ("ab", "c", True), ("a", "n", False))
    unknown = (("a", "x", None), ("x", "y", None), ("xy", "y", False), ("uvw", "xy", None), ("uvw", "xyz", False))

    assert warehouse.rows(query, [["x"], ["xx"]]) == [(False,)]
    for base, candidate, other in (*known, *unknown):
        assert warehouse.rows(query, [list(base), list(candidate)]) == [(other,)]


@pytest.mark.exhaustive
def test_settings_of_the_project_name_and_merge_classes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By patterns of the readable name, in any case of letters."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bench.toml").write_text('machines = { pool = "Unknown processor, 4 cores, l3 *" }\n')
    for size in (1, 2):
        context = {
            "date": "2026-01-01T00:00:00Z", "num_cpus": 4, "executable": "b",
            "caches": [{"type": "Unified", "level": 3, "size": 2**20 * size}],
        }  # fmt: skip
        entry = {"name": "BM", "iterations": 1, "real_time": size, "cpu_time": size, "time_unit": "ms"}
        (tmp_path / f"{size}.json").write_text(json.dumps({"context": context, "benchmarks": [entry]}))
    found = CliRunner().invoke(cli, ["ingest", "--store", "s", "c:1.json", "c:2.json"])
    assert found.exit_code == 0, found.output

    assert stored("SELECT DISTINCT machine, class_id FROM machines", Store(tmp_path / "s")) == [("pool", "pool")]
