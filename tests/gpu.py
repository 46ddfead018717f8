"""`python -m tests.gpu [NAME…]`: what can be trusted of measurements on a GPU, checked on the one that is here.

Each check compares what bench says with another way to know it: a kernel of known length, triton's do_bench, NVML's own
reading, a run with other backends beside. Let nothing else use the GPU meanwhile; all of them take about ten minutes.

Ends with 0 if all hold, with 1 if one does not, and with 77 if there is no GPU: then nothing was checked.
"""

import contextlib
import functools
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from .benchmarks.models.model_memory import STEP

PASSED, FAILED, NO_GPU = 0, 1, 77
REPEATS = 20
PLAIN = (("builtin", "mlp", 1024, 8), ("builtin", "cnn", 256, 8), ("huggingface", "bert", 8, 128))
ASSERTING = """
import torch

class Tripping(torch.nn.Module):
    def forward(self, x):
        torch._assert_async(x.sum() < 0)
        return x

    def get_example_inputs(self):
        return torch.ones(4)

class Good(torch.nn.Module):
    def forward(self, x):
        return x + 1

    def get_example_inputs(self):
        return torch.ones(4)
"""

ON_GPU = (
    "import torch\ntorch.set_default_device('cuda')"
    + STEP
    + """
step = stepper("eager")
torch.set_default_device(None)
for _ in range(5):
    step()
"""
)
PEAK = """
torch.cuda.reset_peak_memory_stats()
step()
print(torch.cuda.max_memory_allocated())
"""
IN_TURN = """
import json
import statistics
import time
from bench.measure.engine.workload import Settings
from bench.measure.models.product import product
from bench.measure.pytorch.program import TorchProgram
from bench.measure.suites.registry import models_of

suite, name, batch = sys.argv[5], sys.argv[6], int(sys.argv[3])
(workload,) = product(
    suite, {name: models_of(suite)[name]}, backends=["eager"], modes=[mode], devices=["cuda"], dtypes=["float32"],
    batch_sizes=[batch], sequence_lengths=[int(sys.argv[4])],
)
program = TorchProgram(workload, Settings())
own = program.prepare("eager")

def plain(loops):
    torch.cuda.synchronize()
    start = time.perf_counter_ns()
    for _ in range(loops):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter_ns() - start) / loops

program.device.time(own, 100)
loops = max(1, round(2e7 / plain(100)))
pairs = [(program.device.time(own, loops).each_ns, plain(loops)) for _ in range(40)]
print(json.dumps([statistics.median(side) for side in zip(*pairs)]))
"""


class CheckFailed(Exception):
    """A check does not hold; the text says what was found."""


def expect(holds: bool, found: str) -> str:
    """What was found, if it is as it should be.

    Raises:
        CheckFailed: It is not.
    """
    if not holds:
        raise CheckFailed(found)
    return found


def measured(
    query: str, *options: str, device: str = "cuda", exit_codes: tuple[int, ...] = (0,)
) -> list[tuple[Any, ...]]:
    """Rows of a store that `bench measure models` has filled.

    Raises:
        CheckFailed: It ended in another way than these.
    """
    from bench.warehouse.database import Warehouse
    from bench.warehouse.store import Store

    with tempfile.TemporaryDirectory(prefix="bench-gpu-") as folder:
        command = [sys.executable, "-m", "bench", "measure", "models", "--devices", device, "--store", folder, *options]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode not in exit_codes:
            raise CheckFailed(f"bench ended with {done.returncode}: {done.stdout[-2000:]}")
        with Warehouse.open(Store(Path(folder))) as warehouse:
            return warehouse.rows(query)


def repeated_tests() -> str:
    """The tests that need a real GPU, 20 times."""
    tests = ("tests/measure/system/test_gpu.py", "-k", "real_gpu", "-q", "-p", "no:cacheprovider")
    ends = [
        subprocess.run([sys.executable, "-m", "pytest", *tests], capture_output=True).returncode for _ in range(REPEATS)
    ]
    return expect(not any(ends), f"{ends.count(0)} of {REPEATS} passed")


def known_length() -> str:
    """A kernel that spins for 20 million cycles takes that many by the clock NVML tells; host and device differ by 50 µs."""
    import torch
    from bench.measure.system.devices import device

    gpu, spin = device("cuda"), functools.partial(torch.cuda._sleep, 20_000_000)
    gpu.time(spin, 1)
    reading = gpu.time(spin, 1)
    own = reading.device_ns or 0
    clock = reading.gauges["gpu_sm_clock"][0] if "gpu_sm_clock" in reading.gauges else None
    expected = 20_000_000 / clock * 1e9 if clock else 10e6
    text = f"{own / 1e6:.2f} ms, {expected / 1e6:.2f} ms expected; the host says {(reading.duration_ns - own) / 1e3:.0f} µs more"
    near = abs(own / expected - 1) < (0.05 if clock else 0.5)
    return expect(near and 0 <= reading.duration_ns - own < 50_000, text)


def short_calls() -> str:
    """An addition to 1 KB takes what do_bench says, within 1 µs; a thousand, launched one by one, what torch's Timer says."""
    import torch
    from bench.measure.system.devices import device
    from torch.utils.benchmark import Timer
    from triton.testing import do_bench

    x = torch.ones(256, device="cuda")
    reference = statistics.median(do_bench(lambda: x.add_(1), return_mode="median") for _ in range(3)) * 1e6
    flushed = per_call(device("cuda", flush_l2=True), lambda: x.add_(1), 100)
    add = functools.partial(x.add_, 1)
    timer = Timer("add()", globals={"add": add})
    launched = statistics.median(timer.timeit(5000).mean for _ in range(9)) * 1e9
    many = per_call(device("cuda"), add, 1000)
    text = (
        f"do_bench {reference:.0f} ns, flushed {flushed:.0f} ns; Timer {launched:.0f} ns, a thousand {many:.0f} ns each"
    )
    return expect(abs(flushed - reference) < 1000 and abs(many - launched) < 1000, text)


def caches() -> str:
    """A sum over half of the L2 cache takes what do_bench says, with and without its flush, within 10 %."""
    import torch
    from bench.measure.system.devices import device
    from triton.testing import do_bench, do_bench_cudagraph

    x = torch.ones(torch.cuda.get_device_properties(0).L2_cache_size // 8, device="cuda")
    references = do_bench(x.sum, return_mode="median") * 1e6, do_bench_cudagraph(x.sum, return_mode="median") * 1e6
    ours = [per_call(device("cuda", flush_l2=flush), x.sum, 100) for flush in (True, False)]
    text = f"flushed {ours[0]:.0f} ns, do_bench {references[0]:.0f}; not flushed {ours[1]:.0f} ns, do_bench {references[1]:.0f}"
    return expect(all(abs(a / b - 1) < 0.1 for a, b in zip(ours, references, strict=True)), text)


def graphs(device: str = "cuda") -> str:
    """By CUDA graphs mlp is right in both modes, none is skipped, and reduce-overhead is faster than inductor."""
    rows = measured(
        "SELECT mode, backend, coalesce(accuracy, status), speedup, coalesce(skips, 0) FROM speedups LEFT JOIN (SELECT run_id,"
        " case_id, sum(value) AS skips FROM metrics WHERE metric = 'cudagraph_skips' GROUP BY ALL) USING (run_id, case_id)"
        " ORDER BY mode, backend",
        "--models", "mlp", "--modes", "inference", "training", "--quick", "--backends", "inductor",
        "inductor-reduce-overhead", "cudagraphs", device=device,
    )  # fmt: skip
    speeds = {(mode, backend): speedup or 0.0 for mode, backend, _, speedup, _ in rows}
    right = len(rows) == 6 and all(status == "pass" and not skips for _, _, status, _, skips in rows)
    faster = all(speeds[m, "inductor-reduce-overhead"] > speeds[m, "inductor"] for m, b in speeds if b == "inductor")
    return expect(right and faster, "; ".join(f"{m} {b} {s} {x or 0:.2f}x {n:g} skips" for m, b, s, x, n in rows))


def repeatable_training(device: str = "cuda") -> str:
    """cnn and attention train in float32 and bfloat16 without eager differing from itself beyond the tolerance."""
    rows = measured(
        "SELECT name, dtype, status, reason FROM case_outcomes WHERE kind = 'accuracy' ORDER BY 1, 2",
        "--models", "cnn", "attention", "--modes", "training", "--dtypes", "float32", "bfloat16", "--backends", "eager",
        "--repeat", "5", "--no-memory", device=device,
    )  # fmt: skip
    return expect(
        len(rows) == 4 and all(row[2] == "pass" for row in rows), "; ".join(" ".join(map(str, row)) for row in rows)
    )


def failed_assertions(device: str = "cuda") -> str:
    """A model that trips an assertion on the GPU fails alone: the next one is measured."""
    with tempfile.TemporaryDirectory(prefix="bench-gpu-") as folder:
        file = Path(folder, "asserting.py")
        file.write_text(ASSERTING)
        rows = measured(
            "SELECT name, status FROM case_outcomes WHERE kind = 'performance' ORDER BY 1", "--suites", f"path:{file}",
            "--backends", "eager", "--repeat", "5", "--no-memory", device=device, exit_codes=(1,),
        )  # fmt: skip
    return expect(dict(rows).get("Good") == "ok" and dict(rows).get("Tripping") == "fail_to_run", str(dict(rows)))


def memory_alone(device: str = "cuda") -> str:
    """Training memory of eager is the same alone and beside three other backends."""
    source = "cuda_allocated" if device.startswith("cuda") else "rss_growth"
    sizes = [
        measured(
            "SELECT max(size_bytes) FROM memory_samples JOIN cases USING (run_id, case_id)"
            f" WHERE backend = 'eager' AND source = '{source}' AND phase = 'steady'",
            "--models", "mlp", "--modes", "training", "--batch-sizes", "1024", "--repeat", "5", "--backends", *backends,
            device=device,
        )[0][0]
        for backends in (["eager"], ["eager", "aot_eager", "torch:eager", "torchscript"])
    ]  # fmt: skip
    near = None not in sizes and abs(sizes[0] - sizes[1]) <= (0 if device.startswith("cuda") else 0.1 * max(sizes))
    return expect(near, f"{sizes[0]} bytes alone, {sizes[1]} beside others")


def plain_scripts() -> str:
    """Three models, both modes, eager: times are a plain loop's within 2 %, memory a plain script's within 3 %."""
    found, far = [], False
    for suite, name, batch, length in PLAIN:
        for mode in ("inference", "training"):
            sizes = str(batch), str(length)
            ours, plain = json.loads(printed(ON_GPU + IN_TURN, name, mode, *sizes, suite, name))
            script = int(printed(ON_GPU + PEAK, name, mode, *sizes))
            lengths = ("--sequence-lengths", str(length)) if name == "bert" else ()
            ((peak,),) = measured(
                "SELECT max(size_bytes) FROM memory_samples WHERE source = 'cuda_allocated' AND phase = 'steady'",
                "--suites", suite, "--models", name, "--modes", mode, "--batch-sizes", str(batch), *lengths,
                "--backends", "eager", "--repeat", "2", "--cosine",
            )  # fmt: skip
            found.append(
                f"{name} {mode} {ours / 1e3:.1f} µs of {plain / 1e3:.1f}, {peak / 2**20:.1f} MiB of {script / 2**20:.1f}"
            )
            far |= abs(ours / plain - 1) > 0.02 or abs(peak / script - 1) > 0.03
    return expect(not far, "; ".join(found))


def too_many_ranks() -> str:
    """More ranks than GPUs are refused before NCCL waits for them."""
    import torch

    count = torch.cuda.device_count() + 1
    start = time.monotonic()
    rows = measured(
        "SELECT status, reason FROM case_outcomes WHERE kind = 'performance'", "--models", "mlp", "--modes", "training",
        "--backends", "eager", "--distributed", "ddp", "--ranks", str(count), exit_codes=(1,),
    )  # fmt: skip
    seconds = time.monotonic() - start
    refused = all(f"{count} ranks need {count} GPUs" in str(reason) for _, reason in rows)
    return expect(bool(rows) and refused and seconds < 60, f"{rows[0][1] if rows else 'no row'}, after {seconds:.0f} s")


def clocks() -> str:
    """NVML answers in 100 µs, and its clock in the midst of 10 s of matrix products is that of the samples, within 2 %."""
    import torch
    from bench.measure.system.devices import Cuda, device
    from bench.measure.system.nvml import nvml

    gpu = device("cuda")
    assert isinstance(gpu, Cuda)
    own, all_gpus = gpu._gpu, nvml()
    if own is None or all_gpus is None:
        raise CheckFailed("NVML cannot be asked: pip install nvidia-ml-py")
    spent = {}
    questions: dict[str, Callable[[], Any]] = {"clocks": own.readings, "processes": lambda: all_gpus.look([0])}
    for name, read in questions.items():
        start = time.perf_counter()
        for _ in range(1000):
            read()
        spent[name] = (time.perf_counter() - start) * 1e3  # µs each
    x = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    midway: list[float] = []

    def look() -> None:
        midway.append(own.readings()["gpu_sm_clock"][0])

    watch = threading.Timer(5.0, look)
    watch.start()
    told, end = [], time.monotonic() + 10
    while time.monotonic() < end:
        told.append(gpu.time(lambda: x @ x, 10).gauges["gpu_sm_clock"][0])
    watch.join()
    clock = statistics.median(told)
    text = f"clocks in {spent['clocks']:.0f} µs, processes in {spent['processes']:.0f} µs; {clock / 1e6:.0f} MHz, midway {midway}"
    return expect(max(spent.values()) < 100 and abs(clock / midway[0] - 1) < 0.02, text)


def energy() -> str:
    """Of a GPU hot by matrix products: its power is near the limit, and the energy of a call is that of its time."""
    import torch
    from bench.measure.system.devices import device

    gpu = device("cuda")
    x = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    gpu.time(lambda: x @ x, 3000)
    found = gpu.energy(lambda: x @ x, 100)
    reading = gpu.time(lambda: x @ x, 300)
    if found.joules is None or found.watts is None:
        raise CheckFailed(str(found.reason))
    limit = reading.gauges["gpu_power_limit"][0]
    by_time = found.watts * reading.each_ns / 1e9
    text = f"{found.watts:.0f} W of {limit:.0f} W; {found.joules:.3f} J a call, {by_time:.3f} J by its time"
    return expect(0.3 * limit < found.watts < 1.05 * limit and abs(found.joules / by_time - 1) < 0.1, text)


def kernels() -> str:
    """The profiler's kernels of matrix products fill the time between two events, within 2 %."""
    import torch
    from bench.measure.pytorch.profiles import profile

    event: Any = torch.cuda.Event  # which has no types
    start, end = (event(enable_timing=True) for _ in range(2))
    x = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)

    def call() -> None:
        start.record()
        for _ in range(20):
            torch.mm(x, x)
        end.record()

    call()
    with tempfile.TemporaryDirectory() as folder:
        facts = {fact.name: fact.value for fact in profile(torch, call, Path(folder, "t.json.gz"))}
    share = (facts["kernel_time"] or 0.0) / (start.elapsed_time(end) * 1e6)
    return expect(0.98 <= share <= 1.02, f"{share:.4f}")


CHECKS: dict[str, Callable[[], str]] = {
    check.__name__: check
    for check in (
        repeated_tests, known_length, short_calls, caches, graphs, repeatable_training, failed_assertions, memory_alone,
        plain_scripts, too_many_ranks, clocks, energy, kernels,
    )
}  # fmt: skip


def printed(script: str, *arguments: str) -> str:
    """What a script prints in a process of its own.

    Raises:
        CheckFailed: It ended with an error.
    """
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True)
    if done.returncode:
        raise CheckFailed(done.stderr[-2000:])
    return done.stdout


def per_call(gpu: Any, call: Callable[[], Any], loops: int) -> float:
    """Time of one call by the device's clock, ns: the median of 50 samples, after some that count for nothing."""
    readings = [gpu.time(call, loops) for _ in range(55)]
    return float(statistics.median(reading.device_ns / reading.loops for reading in readings[5:]))


def without_gpu(torch: Any = None) -> str | None:
    """Why nothing can be checked here; None if it can."""
    if torch is None:
        with contextlib.suppress(ImportError):
            import torch
    if torch is None:
        return "torch is not installed"
    cuda = getattr(torch, "cuda", SimpleNamespace(is_available=lambda: False))
    return None if cuda.is_available() else "torch sees no CUDA device"


def main(names: list[str]) -> int:
    """Check, print a line for each, and return the exit code."""
    if unknown := [name for name in names if name not in CHECKS]:
        print(f"no check {unknown[0]!r}. There are: {', '.join(CHECKS)}", file=sys.stderr)
        return 2
    if reason := without_gpu():
        print(f"skipped: {reason}. None of the {len(CHECKS)} checks ran; exit code {NO_GPU}")
        return NO_GPU
    failed = 0
    for name in names or CHECKS:
        try:
            print(f"ok      {name}: {CHECKS[name]()}", flush=True)
        except Exception as error:
            failed += 1
            print(f"FAILED  {name}: {type(error).__name__}: {error}", flush=True)
    print(f"{len(names or CHECKS) - failed} of {len(names or CHECKS)} hold")
    return FAILED if failed else PASSED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
