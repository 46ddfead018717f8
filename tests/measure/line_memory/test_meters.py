"""The meters of a line trace: the host's for real, and what stands in where the kernel does not help."""

from pathlib import Path

import pytest
from bench.measure.line_memory.ledger import Read
from bench.measure.line_memory.meters import gpus, host
from bench.measure.system.host_memory import error_bound_bytes

from ..conftest import spike

MB = 1 << 20


def look(read: Read) -> tuple[int, int]:
    """The peak since the last look, and memory now, whatever it was then."""
    reading = read(-1)
    assert reading is not None
    return reading


def test_a_spike_between_two_looks_is_their_peak() -> None:
    """Exactly, though nothing of it is left; the next look knows nothing of it."""
    source, read = host()
    if source.source != "rss":
        pytest.skip("the kernel does not let this process reset its high-water mark")
    look(read)
    _, before = look(read)
    spike(64 * MB)
    peak, after = look(read)
    later, _ = look(read)

    in_kernel_units = error_bound_bytes() // source.unit_bytes
    assert abs(peak - before - 64 * MB // source.unit_bytes) <= in_kernel_units + MB // source.unit_bytes
    assert after - before < 8 * MB // source.unit_bytes
    assert later - after < 8 * MB // source.unit_bytes


def test_without_the_kernels_help_the_source_says_so(tmp_path: Path) -> None:
    """Memory at the end of a line is all one knows: another name, and no bound."""
    source, read = host(str(tmp_path / "no" / "clear_refs"))
    held = bytearray(16 * MB)
    peak, now = look(read)

    assert (source.source, source.error_bound_bytes) == ("rss_sampled", None)
    assert peak == now
    assert now * source.unit_bytes > len(held)


def test_memory_that_has_not_moved_is_none(tmp_path: Path) -> None:
    """As on most lines: told so in a word."""
    _, read = host(str(tmp_path / "no" / "clear_refs"))
    _, now = look(read)

    assert read(now) is None
    assert read(now - 1) == (now, now)


def test_torch_without_a_gpu_has_no_gpu_meters() -> None:
    """And is not made to look for one; what a meter asks of it is there by that name."""
    torch = pytest.importorskip("torch")
    before = torch.cuda.is_initialized()

    assert before or gpus(()) == []
    assert torch.cuda.is_initialized() == before
    assert callable(torch.cuda.memory_stats_as_nested_dict)
    assert callable(torch.cuda.reset_peak_memory_stats)


def test_a_real_gpus_spike_is_its_peak() -> None:
    """By the allocator's own count, to the byte, though nothing of it is left."""
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch sees no GPU")
    held = torch.zeros(MB, dtype=torch.uint8, device="cuda:0")
    index, source, read = next(meter for meter in gpus(()) if meter[0] == 0)
    _, before = look(read)
    del held
    torch.zeros(64 * MB, dtype=torch.uint8, device="cuda:0")
    peak, after = look(read)

    assert (index, source.source, source.unit_bytes) == (0, "cuda_allocated", 1)
    assert (peak, after) == (before - MB + 64 * MB, before - MB)
    assert read(after) is None
