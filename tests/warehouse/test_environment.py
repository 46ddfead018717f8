"""What is said of the machine, where it takes hardware that is not here."""

from types import SimpleNamespace
from typing import Any

import pytest
from bench.warehouse import environment


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


def test_what_torchrun_says_of_one_start_is_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two starts of the same are repeats of each other; what changes speed is."""
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "one of many")
    monkeypatch.setenv("TORCH_NCCL_BLOCKING_WAIT", "1")

    said = str(environment.capture.__wrapped__().variables)

    assert "TORCHELASTIC" not in said
    assert "TORCH_NCCL_BLOCKING_WAIT" in said
