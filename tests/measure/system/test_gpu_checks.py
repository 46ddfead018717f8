"""`python -m tests.gpu`: how it ends, and that its measurements ask for what there is. Its checks need a GPU."""

from types import SimpleNamespace

import pytest

from ... import gpu
from ...exhaustive import exhaustive


def test_without_a_gpu_it_says_so_and_ends_with_77(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither success nor failure: nothing was checked."""
    monkeypatch.setattr(gpu, "without_gpu", lambda: "torch sees no CUDA device")

    assert gpu.main([]) == 77
    assert capsys.readouterr().out == ("skipped: torch sees no CUDA device. None of the 13 checks ran; exit code 77\n")


@pytest.mark.parametrize(("available", "reason"), [(True, None), (False, "torch sees no CUDA device")])
def test_a_gpu_is_what_torch_sees(available: bool, reason: str | None) -> None:
    """Not what lies in the machine."""
    assert gpu.without_gpu(SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: available))) == reason


def test_a_check_that_does_not_hold_ends_it_with_1_and_hides_no_other(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line for each, with what was found; an unknown name is a usage error."""
    checks = {"bad": lambda: gpu.expect(False, "3 of 20 passed"), "good": lambda: gpu.expect(True, "20 of 20 passed")}
    monkeypatch.setattr(gpu, "without_gpu", lambda: None)
    monkeypatch.setattr(gpu, "CHECKS", checks)

    assert [gpu.main(names) for names in ([], ["good"], ["none"])] == [1, 0, 2]
    told = capsys.readouterr()
    assert told.out.splitlines()[:3] == [
        "FAILED  bad: CheckFailed: 3 of 20 passed", "ok      good: 20 of 20 passed", "1 of 2 hold",
    ]  # fmt: skip
    assert told.err == "no check 'none'. There are: bad, good\n"


@exhaustive
def test_the_checks_that_run_bench_read_what_it_records() -> None:
    """On the CPU, where training repeats itself, and an assertion that trips raises at once."""
    pytest.importorskip("torch")

    assert "attention bfloat16 pass" in gpu.repeatable_training("cpu")
    assert gpu.failed_assertions("cpu") == "{'Good': 'ok', 'Tripping': 'fail_to_run'}"
