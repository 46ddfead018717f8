"""How soon 115 nights of a dashboard of compilers are a report, when the newest night differs from the rest in 10,000 numbers.

A night is what torch.compile's benchmarks write: three suites of 160 models, in inference and in training, by 4 compilers:
3,840 cases. Of each there are a speedup, a latency, a compile time, a memory ratio and two peaks, and how its run and its
accuracy ended. In the newest night two numbers in five are 1.3 to 3 times what they were or a part of it, and one case in
thirty is broken.
"""

import tempfile
from pathlib import Path

import numpy as np
from bench.warehouse.events import CaseRecord, Metric, Outcome
from bench.warehouse.load import load
from bench.warehouse.store import Store

from .figures import BENCH, Figures, weigh
from .nights import Nights

NIGHTS = 115
SUITES, MODELS = ("huggingface", "timm_models", "torchbench"), 160
COMPILERS = ("inductor", "inductor_max_autotune", "cudagraphs", "aot_eager")
MODES = ("inference", "training")
AXES = [
    {"suite": suite, "name": f"{suite}-{model}", "mode": mode, "device": "cuda", "dtype": "bfloat16", "backend": compiler,
     "batch_size": 8}
    for suite in SUITES for model in range(MODELS) for mode in MODES for compiler in COMPILERS
]  # fmt: skip
# metric: its unit, what is better, the logarithm of its middle over all cases, and how far they spread
METRICS = {
    "speedup": ("ratio", "higher", 0.3, 0.3),
    "absolute_latency": ("ns", "lower", 17.0, 1.2),
    "compile_latency": ("ns", "lower", 24.0, 0.7),
    "compression_ratio": ("ratio", "higher", 0.0, 0.15),
    "eager_peak_memory": ("bytes", "lower", 21.5, 1.0),
    "compiled_peak_memory": ("bytes", "lower", 21.4, 1.0),
}


def measure(figures: Figures) -> None:
    """Cold processes, whole commands, of a store that is loaded; Markdown as it goes into a comment, and uncut."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = Store.find(folder / "store").create()
        fill(store)
        load(store)
        size = f"{NIGHTS} nights, 10,000 changes"
        for what, words in {
            "HTML": ["-o", str(folder / "report.html")],
            "a comment": [],
            "Markdown with charts, uncut": ["-o", str(folder / "report.md"), "--limit", "0"],
        }.items():
            cost = weigh([*BENCH, "report", *words, "--store", str(store.root)])
            figures.add(f"report as {what}, {size}", cost.seconds, "s", most=6 if "uncut" in what else 5)
            figures.add(f"report as {what}, {size}: memory", cost.peak_bytes / 1e6, "MB")
        for path in (folder / "report.html", folder / "report.md"):
            figures.add(f"{path.name}, {size}", path.stat().st_size / 1e6, "MB")


def fill(store: Store) -> None:
    """Write all nights: noise of 1 % and, in the newest, what changes."""
    nights = Nights(store, NIGHTS, at_once=NIGHTS, axes=AXES, source="torch-compile")
    runs, cases = NIGHTS, len(AXES)
    newest, each = np.arange(runs)[:, None] == runs - 1, np.arange(cases)
    rng = nights.rng
    run, case = np.repeat(np.arange(runs), cases), np.tile(each, runs)
    nights.write(
        CaseRecord, "nights", run, case, work_hash=[nights.ids[i][1] for i in case],
        **{key: [AXES[i][key] for i in case] for key in AXES[0]},
    )  # fmt: skip
    broken = newest & (rng.random((runs, cases)) < 1 / 30)
    for kind, good, bad in (("performance", "ok", "fail_to_run"), ("accuracy", "pass", "fail_accuracy")):
        status = np.where(broken, bad, good).ravel()
        nights.write(Outcome, f"{kind}-nights", run, case, kind=kind, status=status)
    ran = ~broken.ravel()
    for metric, (unit, better, middle, spread) in METRICS.items():
        factor = np.exp(rng.uniform(np.log(1.3), np.log(3), cases) * rng.choice([-1, 1], cases))
        moved = np.where(newest & (rng.random(cases) < 0.4), factor, 1)
        noise = rng.lognormal(0, 0.01, (runs, cases))
        values = (rng.lognormal(middle, spread, cases) * noise * moved).ravel()
        nights.write(
            Metric, f"{metric}-nights", run[ran], case[ran], metric=metric, unit=unit, better=better, value=values[ran]
        )
