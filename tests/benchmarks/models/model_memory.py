"""Peak memory of models by `bench measure models`, beside plain scripts that do the same step and read VmHWM at their end.

The scripts share no code with bench. A compiled one runs twice and its second process counts, with the caches the first one
left, as a script has them that is not run for the first time.
"""

import itertools
import json
import os
import tempfile

from ..figures import BENCH, Figures, python, weigh

STEP = """
import sys
import torch
from torch import nn

def stage(before, after, stride):
    return [nn.Conv2d(before, after, 3, stride=stride, padding=1), nn.BatchNorm2d(after), nn.ReLU()]

class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(*stage(3, 32, 1), *stage(32, 64, 2), *stage(64, 64, 2))
        self.classifier = nn.Linear(64, 10)

    def forward(self, images):
        return self.classifier(self.features(images).mean((2, 3)))

model, mode = sys.argv[1:3]
batch, length = map(int, sys.argv[3:5])
training = mode == "training"

def stepper(backend):
    arguments, named = (), {}
    if model.startswith("bert"):
        from transformers import BertConfig, BertForMaskedLM
        small = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 512, "vocab_size": 1024}
        dropout = dict.fromkeys(("hidden_dropout_prob", "attention_probs_dropout_prob"), 1e-30)  # as bench's suite and PyTorch's
        config = BertConfig(**dropout, **(small if model == "bert-small" else {}))
        module = BertForMaskedLM(config)
        named = {"input_ids": torch.randint(3, config.vocab_size, (batch, length))}
        if training:
            named["labels"] = torch.randint(3, config.vocab_size, (batch, length))
    elif model == "cnn":
        module, arguments = CNN(), (torch.randn(batch, 3, 32, 32),)
    else:
        module = nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 1024), nn.GELU(), nn.Linear(1024, 256))
        arguments = (torch.randn(batch, 256),)
    called = module if backend == "eager" else torch.compile(module, backend=backend)
    module.train(training)
    torch.set_grad_enabled(training)
    optimizer = torch.optim.SGD(module.parameters(), lr=1e-3) if training else None  # which imports the compiler

    def step():
        if not training:
            return called(*arguments, **named)
        optimizer.zero_grad()
        output = called(*arguments, **named)
        (output.loss if model.startswith("bert") else output.square().mean()).backward()
        optimizer.step()

    return step
"""
PEAK = """
step = stepper(sys.argv[5])
for _ in range(5):
    step()
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(int(peak) * 1024)
"""
CASES = [*itertools.product(("mlp", "cnn", "bert"), ("inference", "training"), ("eager", "inductor"))]
NEAR = 3  # % of a plain script, and of the same case measured otherwise
MIB = 2**20

Case = tuple[str, str, str]  # model, mode, backend


def measure(figures: Figures) -> None:
    """Each case beside its script; then without accuracy's float64, and beside a third backend."""
    with tempfile.TemporaryDirectory() as folder:
        usual = _measured(folder, "--models", "mlp", "cnn", "bert", "--suites", "builtin", "huggingface")
        for case in CASES:
            plain = _plain_peak(folder, *case)
            _add(figures, f"peak of {' '.join(case)}, off a plain script", usual[case], plain, "the script, MiB")
        for how, options in (
            ("by cosine", ["--cosine"]),
            ("beside aot_eager", ["--backends", "aot_eager", "inductor"]),
        ):
            for case, size in _measured(folder, "--models", "mlp", "cnn", *options).items():
                if case in usual:
                    name = f"peak of {' '.join(case)} {how}, off the usual"
                    _add(figures, name, size, usual[case], "by float64, with inductor, MiB")


def _add(figures: Figures, name: str, size: float, reference: float, against: str) -> None:
    off = 100 * abs(size / reference - 1)
    figures.add(name, off, "%", most=NEAR, against=f"{against}: {reference / MIB:.1f}")


def _measured(folder: str, *options: str) -> dict[Case, float]:
    """The peak of the process, by case."""
    sizes = ["--batch-sizes", "1", *(["--sequence-lengths", "8"] if "bert" in options else [])]
    modes = ["--modes", "inference", "training", "--repeat", "1", "--budget", "1"]
    command = [*BENCH, "measure", "models", *options, *sizes, *modes, "--store", folder, "--format", "json"]
    rows = json.loads(weigh(command).stdout)
    return {(row["model"], row["mode"], row["backend"]): row["process_bytes"] for row in rows}


def _plain_peak(folder: str, model: str, mode: str, backend: str) -> int:
    """The high-water mark of the script after five steps, in bytes."""
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(folder, "cache")
    try:
        for _ in range(1 if backend == "eager" else 2):
            done = python(STEP + PEAK, model, mode, "1", "8", backend)
    finally:
        del os.environ["TORCHINDUCTOR_CACHE_DIR"]
    return int(done.stdout)
