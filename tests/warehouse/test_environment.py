"""What is said of the machine, where it takes hardware that is not here."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from bench.warehouse import environment

from ..builders import Builder, run


class Mute(Exception):
    """What NVML raises."""


def test_gpus_are_described_with_memory_and_power_limit() -> None:
    """A GPU that does not tell its limit has none; the rest is said all the same."""

    def limit(gpu: int) -> int:
        if gpu == 1:
            raise Mute
        return 700_000

    nvml: Any = SimpleNamespace(
        NVMLError=Mute, nvmlInit=lambda: None, nvmlDeviceGetCount=lambda: 2, nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetName=lambda gpu: f"GPU {gpu}", nvmlSystemGetDriverVersion=lambda: "580.1",
        nvmlDeviceGetMemoryInfo=lambda gpu: SimpleNamespace(total=80 << 30), nvmlDeviceGetPowerManagementLimit=limit,
    )  # fmt: skip

    assert environment.described(nvml) == (
        ["GPU 0", "GPU 1"], "580.1", {"gpu_ram_bytes": [80 << 30] * 2, "gpu_power_limit_mw": [700_000, None]},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("devices", "gpus"), [(("{there}",), ["GPU 0"]), (("/dev/none", "{there}"), ["GPU 0"]), ((), None)]
)
def test_nvml_is_asked_where_there_is_a_device_of_a_driver(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, devices: tuple[str, ...], gpus: list[str] | None
) -> None:
    """Under WSL it has another name. Without any, pynvml is not even imported."""
    monkeypatch.setattr(environment, "GPU_DEVICES", [path.format(there=tmp_path) for path in devices])
    monkeypatch.setitem(sys.modules, "pynvml", object())
    monkeypatch.setattr(environment, "described", lambda nvml: (["GPU 0"], "580.1", {}))

    assert environment._gpus()[0] == gpus


def test_what_torchrun_says_of_one_start_is_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two starts of the same are repeats of each other; what changes speed is."""
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "one of many")
    monkeypatch.setenv("TORCH_NCCL_BLOCKING_WAIT", "1")

    said = str(environment.capture.__wrapped__().variables)

    assert "TORCHELASTIC" not in said
    assert "TORCH_NCCL_BLOCKING_WAIT" in said


def test_an_upgrade_of_a_package_is_another_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The version is that which Python would import, and the first that is found; `bench env-diff` shows it as software."""
    monkeypatch.setattr("sys.path", [str(tmp_path / "first"), str(tmp_path / "nowhere"), str(tmp_path / "second")])
    for folder, version in (("first", "5.1"), ("second", "4.0")):
        metadata = tmp_path / folder / f"Transformers-{version}.dist-info" / "METADATA"
        metadata.parent.mkdir(parents=True)
        metadata.write_text(f"Metadata-Version: 2.1\nName: transformers\nVersion: {version}\n")
    old = environment.capture.__wrapped__()
    (tmp_path / "first" / "Transformers-5.1.dist-info" / "METADATA").write_text("Version: 5.2\n")
    new = environment.capture.__wrapped__()
    store = Builder().add(old, new, *(
        run(name, config=name, environment_id=its.environment_id) for name, its in (("old", old), ("new", new))
    ))  # fmt: skip

    assert (old.torch, old.packages, new.packages) == (None, '{"transformers": "5.1"}', '{"transformers": "5.2"}')
    query = "SELECT kind, field, base_values, candidate_values FROM environment_differences(['old'], ['new']) WHERE NOT same"
    assert ("software", "transformers", ["5.1"], ["5.2"]) in store.rows(query)


def test_a_package_that_a_suite_declares_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the name that pip knows, however its folder spells it."""
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    monkeypatch.setattr(environment, "_declared", set())
    metadata = tmp_path / "my_models-2.1.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Version: 2.1\n")

    before = environment.capture.__wrapped__().packages
    environment.declare(["My-Models"])

    assert (before, environment.capture.__wrapped__().packages) == (None, '{"my_models": "2.1"}')
    environment.capture.cache_clear()
