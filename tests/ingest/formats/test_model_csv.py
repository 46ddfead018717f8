"""Model results of transformers, and the file beside them that says what they ran on."""

import json
from pathlib import Path

import pytest
from bench.warehouse.load import rebuild
from bench.warehouse.store import Store

from ..conftest import Load, Rows
from .reading import lay, read

KIND = "model-csv"
HEAD = "model,batch_size,sequence_length,result\n"
MACHINE = (
    "transformers_version,4.14.0\r\nframework,PyTorch\r\nframework_version,1.10.0+cu111\r\npython_version,3.7.12\r\nsystem,Linux\r\n"
    "cpu,x86_64\r\narchitecture,64bit\r\ndate,2021-12-11\r\ntime,17:44:16.293820\r\nfp16,False\r\ncpu_ram_mb,12991\r\nnum_gpus,2\r\n"
    "gpu,Tesla K80\r\n"
)


def test_the_machine_is_an_environment() -> None:
    """A fact with a column goes there, MB being 2^20; the rest is extra; the time is the run's."""
    found = read(KIND, MACHINE, "env.csv")

    machine = found.environment
    assert (machine.cpu, machine.architecture, machine.os) == ("x86_64", "64bit", "Linux")
    assert (machine.python, machine.torch, machine.ram_bytes) == ("3.7.12", "1.10.0+cu111", 12991 << 20)
    assert machine.gpus == ["Tesla K80", "Tesla K80"]
    assert json.loads(machine.extra or "") == {
        "transformers_version": "4.14.0", "framework": "PyTorch", "fp16": "False", "num_gpus": "2",
    }  # fmt: skip
    assert found.runs[0].started_at == 1639244656293820
    assert found.accounting == (13, 13, 0)


def test_it_is_joined_to_the_results_of_its_folder(load: Load, rows: Rows, tmp_path: Path) -> None:
    """One run, wherever the file stands among the others."""
    lay(
        tmp_path / "k80",
        {"a_time.csv": f"{HEAD}bert,8,32,0.5\n", "z_memory.csv": f"{HEAD}bert,8,32,5\n", "m_env.csv": MACHINE},
    )
    load(tmp_path / "k80")
    found = rows("""
        SELECT metric, value, torch FROM metrics JOIN runs USING (run_id) JOIN environments USING (environment_id) ORDER BY 1
    """)  # fmt: skip

    assert found == [("latency", 5e8, "1.10.0+cu111"), ("memory", 5 << 20, "1.10.0+cu111")]


@pytest.mark.exhaustive
def test_it_may_come_later(load: Load, rows: Rows, store: Store, tmp_path: Path) -> None:
    """In a further command, or after the results in the same: the run has its machine and its time, in one row, and keeps
    them when the warehouse is derived anew; another machine is said."""
    lay(tmp_path / "k80", {"a_time.csv": f"{HEAD}bert,8,32,0.5\n"})
    load(tmp_path / "k80", tags={"gpu": "k80"})
    assert rows("SELECT torch FROM run_details") == [(None,)]

    lay(tmp_path / "k80", {"zz.csv": MACHINE})
    report = load(tmp_path / "k80")

    described = """
        SELECT count(*), min(started_at::DATE::VARCHAR), min(torch), min(tags ->> 'gpu')
        FROM runs JOIN environments USING (environment_id)
    """
    assert [(line.path.name, line.loaded, line.known) for line in report.lines] == [
        ("a_time.csv", 0, 1),
        ("zz.csv", 13, 0),
    ]
    assert rows(described) == [(1, "2021-12-11", "1.10.0+cu111", "k80")]
    lay(tmp_path / "k80", {"env2.csv": MACHINE.replace("1.10.0", "2.0")})
    assert any("says another environment" in note for note in load(tmp_path / "k80").notes)
    rebuild(store)
    assert rows(described) == [(1, "2021-12-11", "1.10.0+cu111", "k80")]
    assert rows("SELECT count(*) FROM metrics") == [(1,)]


def test_another_framework_is_no_torch() -> None:
    """Its version stays beside its name."""
    found = read(KIND, MACHINE.replace("PyTorch", "Tensorflow"), "env.csv")

    assert found.environment.torch is None
    assert json.loads(found.environment.extra or "")["framework_version"] == "1.10.0+cu111"


def test_broken_lines() -> None:
    """Each is a reject; the others count."""
    found = read(KIND, f"{MACHINE}cpu,arm\n\n,x\nalone\ncpu_count,a,b\n", "env.csv")

    assert found.rejects() == [
        (14, "repeats the key 'cpu'"), (15, "blank line"), (16, "no key,value"), (17, "no key,value"), (18, "no key,value"),
    ]  # fmt: skip


def test_odd_values() -> None:
    """Stay as they are where they fit no column."""
    found = read(
        KIND,
        MACHINE.replace("12991", "lots").replace("num_gpus,2", "num_gpus,x").replace("2021-12-11", "then"),
        "env.csv",
    )

    assert found.environment.ram_bytes is None
    assert json.loads(found.environment.extra or "")["cpu_ram_mb"] == "lots"
    assert found.environment.gpus == ["Tesla K80"]
    assert found.runs[0].started_at is None
