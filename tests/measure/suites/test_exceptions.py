"""What is measured otherwise than asked, left out, or sized by a list: facts of PyTorch's benchmarks, applied where they hold."""

from pathlib import Path
from typing import Any

import pytest
from bench.measure.engine.workload import FOR_ACCURACY, Workload
from bench.measure.models import batch_size_file
from bench.measure.models.options import batch_size
from bench.measure.models.product import merged, product
from bench.measure.pytorch.program import TorchProgram
from bench.measure.suites import huggingface, pytorch_lists, timm, torchbench
from bench.measure.suites.model import ABSENT, Model
from bench.warehouse.errors import BenchError

AXES: dict[str, Any] = {
    "backends": ("inductor", "inductor-freezing"),
    "modes": ["training"],
    "devices": ["cpu"],
    "dtypes": ["float32"],
}


def planned(model: Model, notes: list[str] | None = None, **axes: Any) -> list[Workload]:
    """The workloads of one model."""
    said = [] if notes is None else notes
    return product("s", {"m": model}, **{**AXES, **axes}, notify=said.append)


def test_a_model_that_adam_breaks_takes_sgd() -> None:
    """Its case has no optimizer then, as any by SGD; what was asked of the others stays; the reason is said once."""
    model = Model("m:M", 4, exceptions=pytorch_lists.exceptions_of("huggingface", "AlbertForMaskedLM"))
    notes: list[str] = []

    trained, inferred = planned(
        model, notes, modes=["training", "inference"], parameters={"optimizer": "adam", "cosine": True}
    )

    assert trained.parameters == {"cosine": True}
    assert inferred.parameters == {"optimizer": "adam", "cosine": True}
    assert notes == ["m: SGD instead of Adam: with Adam, eager's results vary from run to run"]


@pytest.mark.parametrize(
    ("suite", "name", "asked", "measured"),
    [
        ("huggingface", "GoogleFnet", "bfloat16", "float32"),
        ("huggingface", "GoogleFnet", "amp", "float32"),
        ("torchbench", "Super_SloMo", "float16", "amp"),
        ("torchbench", "Super_SloMo", "float32", "float32"),
        ("torchbench", "vision_maskrcnn", "bfloat16", "float16"),
        ("torchbench", "modded_nanogpt", "amp", "amp_bfloat16"),
        ("torchbench", "alexnet", "bfloat16", "bfloat16"),
    ],
)
def test_a_type_that_a_model_does_not_support_is_replaced(suite: str, name: str, asked: str, measured: str) -> None:
    """The case says the type that was measured."""
    model = Model("m:M", 4, exceptions=pytorch_lists.exceptions_of(suite, name))

    assert [workload.dtype for workload in planned(model, dtypes=[asked])] == [measured]


def test_two_types_that_become_one_are_measured_once() -> None:
    """float16 and bfloat16 are both amp: one workload."""
    model = Model("m:M", 4, exceptions=pytorch_lists.exceptions_of("torchbench", "Super_SloMo"))

    assert [workload.dtype for workload in merged(planned(model, dtypes=["float16", "bfloat16"]))] == ["amp"]


def test_a_models_own_tolerance_is_by_backend_and_mode() -> None:
    """It is no axis of the case; one that was asked for comes before it."""
    exceptions = {
        **pytorch_lists.exceptions_of("timm", "beit_base_patch16_224"),
        "inductor-freezing": {"tolerance": 0.08},
    }
    model = Model("m:M", 4, exceptions=exceptions)

    trained, inferred = planned(model, modes=["training", "inference"])
    (asked,) = planned(model, parameters={"tolerance": 0.5})

    assert trained.tolerances == {"eager": 0.16, "inductor": 0.16, "inductor-freezing": 0.08}
    assert inferred.tolerances == {"inductor-freezing": 0.08}
    assert (trained.parameters, asked.tolerances) == ({}, {})


def test_the_program_judges_by_the_models_tolerance() -> None:
    """That of the backend prepared last; that of the command before it."""
    program = object.__new__(TorchProgram)
    program._last, program._rough = "inductor", False
    (program._workload,) = planned(Model("m:M", 4, exceptions={"training": {"tolerance": 0.04}}))
    for asked, expected in ((None, 0.04), (0.5, 0.5)):
        program._knobs = type("Knobs", (), {"tolerance": asked, "cosine": False})()

        assert program._rule().tolerance == expected


def test_fast_leaves_out_what_takes_long_and_no_skip_runs_what_is_skipped() -> None:
    """But what is not installed stays out."""
    model = Model("m:M", 4, skips={"fast": "it takes long", "training": "no gradient"})

    assert planned(model, modes=["inference"])[0].skips == {}
    assert set(planned(model, modes=["inference"], fast=True)[0].skips.values()) == {"it takes long"}
    assert planned(model, no_skip=True)[0].skips == {}
    absent = Model("m:M", 4, skips={**model.skips, ABSENT: "not installed"})
    assert set(planned(absent, no_skip=True)[0].skips.values()) == {"not installed"}


def test_accuracy_has_batch_sizes_of_its_own() -> None:
    """By suite, and for one model; the usual one where a suite has none."""
    assert batch_size("accuracy") == FOR_ACCURACY
    sizes = {name: planned(model, batch_sizes=[FOR_ACCURACY])[0].batch_size for name, model in (
        ("bert", huggingface.full()["bert"]), ("resnet18", timm.models()["resnet18"]),
        ("alexnet", torchbench.models()["alexnet"]), ("pytorch_unet", torchbench.models()["pytorch_unet"]),
        ("plain", Model("m:M", 32)),
    )}  # fmt: skip

    assert sizes == {"bert": 1, "resnet18": 8, "alexnet": 4, "pytorch_unet": 2, "plain": 32}


def test_a_size_that_does_not_fit_is_replaced_unless_one_is_asked_for() -> None:
    """Of torchbench, whose models know their own sizes."""
    dlrm = torchbench.models()["dlrm"]

    assert [planned(dlrm, batch_sizes=sizes)[0].batch_size for sizes in ((), [8])] == [1024, 8]
    assert planned(torchbench.models()["vision_maskrcnn"], batch_sizes=[8])[0].batch_size == 0


def test_a_file_of_batch_sizes(tmp_path: Path) -> None:
    """As PyTorch's benchmarks have them: with a comma or a space, comments, and -1 where none was found."""
    path = tmp_path / "sizes.txt"
    path.write_text("# models\nalexnet,64\nresnet18 32\n\nbert : 8\nbroken,-1\n")

    assert batch_size_file.read(str(path)) == {"alexnet": 64, "resnet18": 32, "bert": 8}
    both = planned(Model("m:M", 4), named_sizes={"m": 64}, batch_sizes=[1, 2])
    assert [workload.batch_size for workload in both] == [64]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("alexnet", "line 1: 'alexnet' is not a model with a batch size"),
        ("a,0", "line 1"),
        ("a,1\na,2", "line 2: a has two"),
        ("", "no batch size"),
    ],
)
def test_a_damaged_file_of_batch_sizes_says_the_line(tmp_path: Path, text: str, problem: str) -> None:
    """And what a line looks like."""
    path = tmp_path / "sizes.txt"
    path.write_text(text)

    with pytest.raises(BenchError, match=problem):
        batch_size_file.read(str(path))
