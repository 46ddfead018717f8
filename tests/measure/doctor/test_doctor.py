"""The doctor: what it finds in the files of a made-up machine, and what it records."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from bench.cli import cli
from bench.measure.doctor import checks, noise_floor
from bench.measure.doctor.checks import OK, UNKNOWN, WARNING, Finding, Machine
from bench.measure.system.devices import Cuda
from bench.measure.system.nvml import Nvml
from bench.query.resolve import resolve_run
from bench.warehouse import recorder
from bench.warehouse.database import Warehouse
from bench.warehouse.store import Store
from click.testing import CliRunner

from ...builders import stored
from ...exhaustive import exhaustive
from ..system.fake_gpu import FakeCuda, Library, not_supported

CPU = "sys/devices/system/cpu"
THP = "sys/kernel/mm/transparent_hugepage/enabled"


@pytest.mark.parametrize(
    ("check", "files", "status", "found"),
    [
        (checks.governor, {}, UNKNOWN, "none"),
        (checks.governor, {f"{CPU}/cpu0/cpufreq/scaling_governor": "performance"}, OK, "performance"),
        (checks.governor, {f"{CPU}/cpu1/cpufreq/scaling_governor": "powersave"}, WARNING, "powersave"),
        (checks.turbo, {}, UNKNOWN, ""),
        (checks.turbo, {f"{CPU}/intel_pstate/no_turbo": "1"}, OK, "off"),
        (checks.turbo, {f"{CPU}/intel_pstate/no_turbo": "0"}, WARNING, "on"),
        (checks.turbo, {f"{CPU}/cpufreq/boost": "1"}, WARNING, "on"),
        (checks.siblings, {}, UNKNOWN, ""),
        (checks.siblings, {f"{CPU}/cpu{n}/topology/thread_siblings_list": str(n) for n in (0, 1)}, OK, "2 processors"),
        (checks.siblings, {f"{CPU}/cpu{n}/topology/thread_siblings_list": "0-1" for n in (0, 1)}, WARNING, "1 core"),
        (checks.huge_pages, {}, UNKNOWN, ""),
        (checks.huge_pages, {THP: "always [madvise] never"}, OK, "madvise"),
        (checks.huge_pages, {THP: "[always] madvise never"}, WARNING, "2 MiB"),
        (checks.quota, {}, OK, "none"),
        (checks.quota, {"proc/self/cgroup": "0::/pod/a", "sys/fs/cgroup/pod/a/cpu.max": "max 100000"}, OK, "none"),
        (checks.quota, {"proc/self/cgroup": "0::/pod/a", "sys/fs/cgroup/pod/cpu.max": "150000 100000",
                        "sys/fs/cgroup/pod/cpu.stat": "usage_usec 1\nnr_throttled 7"}, WARNING, "most; stopped 7"),
        (checks.quota, {"proc/self/cgroup": "3:cpu:/\n2:cpuset:/", "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1"}, OK, "none"),
        (checks.quota, {"proc/self/cgroup": "1:cpu,cpuacct:/x", "sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us": "50000",
                        "sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us": "100000"}, WARNING, "0.5 processors"),
        (checks.load, {"proc/loadavg": "0.01 0.5 0.5 1/100 5"}, OK, "0 %"),
        (checks.load, {"proc/loadavg": f"{os.cpu_count()} 0.5 0.5 1/100 5"}, WARNING, "100 %"),
        (checks.exact_memory, {}, WARNING, "sampled"),
    ],
)  # fmt: skip
def test_a_check_says_what_it_finds(
    tmp_path: Path, check: Callable[[Machine], Finding], files: dict[str, str], status: str, found: str
) -> None:
    """Whatever would disturb comes with a cure; what the kernel does not show is no warning."""
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text + "\n")

    finding = check(Machine(tmp_path, (0, 1)))

    assert finding.status == status
    assert found in finding.found
    assert bool(finding.cure) == (status == WARNING)


def test_the_cure_for_siblings_leaves_one_of_each(tmp_path: Path) -> None:
    """To paste."""
    for cpu, siblings in ((0, "0,2"), (1, "1,3"), (2, "0,2"), (3, "1,3")):
        file = tmp_path / CPU / f"cpu{cpu}/topology/thread_siblings_list"
        file.parent.mkdir(parents=True)
        file.write_text(siblings)

    assert "taskset -c 0,1 bench" in checks.siblings(Machine(tmp_path, (0, 1, 2, 3))).cure


def test_other_processes_on_a_gpu_are_named(tmp_path: Path) -> None:
    """Ours is none of them; a number that no process has here, since NVML counts outside of a container, accuses nobody."""

    class Gpus:
        def others(self, pids: list[int]) -> list[tuple[int, int]]:
            return [(1, 4711)] if pids == [os.getpid()] else []

    look: Any = Gpus
    (tmp_path / "proc" / "4711").mkdir(parents=True)
    unseen = checks.gpus(Machine(tmp_path), look)
    (tmp_path / "proc" / "4711" / "comm").write_text("train")
    seen = checks.gpus(Machine(tmp_path), look)

    assert (seen.status, seen.found) == (WARNING, "4711 on GPU 1, by NVML's numbers")
    assert (unseen.status, "outside of a container" in unseen.found) == (UNKNOWN, True)
    assert checks.gpus(Machine(), lambda: None).status == OK


@pytest.mark.parametrize(
    ("reasons", "status", "found"),
    [(0x1, WARNING, "not locked"), (0x2, OK, "locked"), (None, UNKNOWN, "NVML does not tell")],
)
def test_the_clocks_of_a_gpu_are_locked_by_a_command_that_also_gives_them_back(
    reasons: int | None, status: str, found: str
) -> None:
    """At its default clock, by its UUID, which is the same for everybody."""
    library = Library()
    library.reasons = reasons or 0
    if reasons is None:
        library.nvmlDeviceGetCurrentClocksThrottleReasons = not_supported  # type: ignore[method-assign, assignment]

    finding = checks.gpu_clocks(Machine(), lambda: Nvml(library))

    assert (finding.status, finding.found.startswith(found)) == (status, True)
    assert (finding.cure == (
        "sudo nvidia-smi -i GPU-1234 --lock-gpu-clocks=1410,1410; bench measure …; "
        "sudo nvidia-smi -i GPU-1234 --reset-gpu-clocks"
    )) == (status == WARNING)  # fmt: skip
    assert checks.gpu_clocks(Machine(), lambda: None).status == OK


@exhaustive
def test_the_noise_floor_of_a_gpu_is_that_of_a_kernel_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Both sides in long samples, by both clocks; nothing where NVML knows no GPU, and torch is not even imported."""
    torch = pytest.importorskip("torch")
    cuda = FakeCuda()
    fake = SimpleNamespace(cuda=cuda)
    monkeypatch.setattr(noise_floor, "device", lambda name: Cuda(fake))
    monkeypatch.setattr(torch, "ones", lambda size, device: SimpleNamespace(mul_=lambda factor: cuda.call()))
    monkeypatch.setitem(sys.modules, "pynvml", Library())

    with recorder.run("doctor", store=tmp_path, source="doctor") as run:
        monkeypatch.setattr(noise_floor, "nvml", lambda: None)
        nothing = noise_floor.gpu_noise(run, 0.05)
        monkeypatch.setattr(noise_floor, "nvml", object)
        (finding,) = noise_floor.gpu_noise(run, 0.05)

    assert nothing == []
    assert (finding.check, list(finding.values) in ([], ["gpu_noise_floor"])) == ("gpu noise floor", True)
    rows = stored(
        "SELECT DISTINCT device, device_ns / loops FROM timings JOIN cases USING (case_id) WHERE phase = 'steady'",
        tmp_path,
    )
    assert rows == [("cuda", 2e6)]


def test_a_slow_clock_is_found() -> None:
    """As where it is a call to the hypervisor."""
    ticks = iter(range(0, 10**9, 1500))

    finding = checks.clock(Machine(), lambda: next(ticks))

    assert finding.status == WARNING
    assert finding.values == {"clock_overhead": (1500.0, "ns"), "clock_resolution": (1500.0, "ns")}


@pytest.fixture(scope="module")
def examined(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A store with a run and, after it, the doctor's."""
    store = Store(tmp_path_factory.mktemp("store"))
    with recorder.run("main", store=store, source="measure") as run:
        pass
    arguments = ["doctor", "--budget", "1", "--lock", "off", "--format", "json", "--store", str(store.root)]
    done = CliRunner().invoke(cli, arguments, standalone_mode=False)
    assert done.exception is None, done.output
    with Warehouse.open(store) as warehouse:
        yield run, done, warehouse


def test_every_finding_is_a_row_and_recorded(examined: Any) -> None:
    """A case of its own with its status; a cure only where there is something to cure; the exit code says so."""
    _, done, warehouse = examined
    found = {row["check"]: row for row in json.loads(done.stdout)}

    assert {"governor", "turbo", "siblings", "huge pages", "quota", "load", "gpu processes", "gpu clocks", "clock", "fonts",
            "exact memory", "noise floor"} <= found.keys()  # fmt: skip
    recorded = dict(
        warehouse.rows(
            "SELECT cases.name, reason FROM case_outcomes JOIN cases USING (run_id, case_id)"
            " WHERE cases.suite = 'doctor' AND cases.backend IS NULL"
        )
    )
    assert recorded == {name: row["found"] for name, row in found.items()}
    warned = [row for row in found.values() if row["status"] == "warning"]
    assert all(row["cure"] for row in warned)
    assert done.return_value == (1 if warned else 0)


def test_the_noise_floor_can_be_cited(examined: Any) -> None:
    """By host and environment, with what was measured: both sides in blocks."""
    _, _, warehouse = examined

    ((floor, load),) = warehouse.rows("SELECT noise_floor, load FROM noise_floors JOIN runs USING (host, environment_id)"
                                      " WHERE config = 'main'")  # fmt: skip
    sides = warehouse.rows("SELECT backend, count(*) FROM samples WHERE name = 'identical' GROUP BY 1 ORDER BY 1")

    assert floor > 0
    assert load >= 0
    assert [backend for backend, _ in sides] == ["another", "one"]
    assert sides[0][1] == sides[1][1]


def test_the_doctor_is_not_the_latest_run(examined: Any) -> None:
    """Or nobody could ask it between two measurements that are to be compared."""
    run, _, warehouse = examined

    assert resolve_run(warehouse, "latest") == run.run_id
    assert resolve_run(warehouse, "doctor") != run.run_id
