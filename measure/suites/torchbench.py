"""Models of pytorch/benchmark ("torchbench"), if it is installed.

Its package, torchbenchmark, holds a folder for each model; which of them run depends on what its own installer
brought in. The list is read from the folders, so that nothing is imported. Where not to run a model is as in
PyTorch's own benchmark (benchmarks/dynamo/torchbench.yaml).
"""

import importlib
import importlib.util
from pathlib import Path
from typing import Any

from ...warehouse.errors import BenchError
from ..engine.workload import Workload
from .model import Model

INSTALL = "git clone https://github.com/pytorch/benchmark && cd benchmark && python install.py && pip install -e ."

_ONLY_CUDA = {"cpu": "it needs a GPU"}
_NO_TRAINING = {"training": "it is not made for training"}
_ONLY_TRAINING = {"inference": "it supports training only"}
SKIPS: dict[str, dict[str, str]] = {
    "cm3leon_generate": {**_ONLY_CUDA, "training": "it has no training batch size"},
    "demucs": _ONLY_TRAINING,
    "detectron2_maskrcnn": {"": "it runs out of memory on 40 GB"},
    "doctr_det_predictor": _NO_TRAINING,
    "doctr_reco_predictor": _NO_TRAINING,
    "hf_clip": {"": "it fails in eager mode"},
    "llama": _NO_TRAINING,
    "llama_v2_7b_16h": {**_ONLY_CUDA, **_NO_TRAINING},
    "maml": _NO_TRAINING,
    "modded_nanogpt": {"": "it has never worked in PyTorch's own benchmark"},
    "moondream": _NO_TRAINING,
    "phi_1_5": {"training": "it does not fit into memory"},
    "pyhpc_equation_of_state": _NO_TRAINING,
    "pyhpc_isoneutral_mixing": _NO_TRAINING,
    "pyhpc_turbulent_kinetic_energy": _NO_TRAINING,
    "pytorch_CycleGAN_and_pix2pix": {"": "it fails in eager mode"},
    "pytorch_struct": _ONLY_TRAINING,
    "sam_fast": {**_ONLY_CUDA, **_NO_TRAINING},
    "simple_gpt": {**_ONLY_CUDA, **_NO_TRAINING},
    "simple_gpt_tp_manual": {"": "it needs several GPUs"},
    "tacotron2": {"": "it takes longer than any timeout, see pytorch issue 98467"},
    "torchrec_dlrm": _ONLY_CUDA,
    "tts_angular": _ONLY_TRAINING,
    "yolov3": _ONLY_TRAINING,
}


def models() -> dict[str, Model]:
    """The models whose folders are there, each at its own batch size.

    Raises:
        BenchError: torchbenchmark is not installed.
    """
    spec = importlib.util.find_spec("torchbenchmark")
    if spec is None or not spec.submodule_search_locations:
        raise BenchError(f"torchbenchmark is not installed. Install it with: {INSTALL}")
    folders = sorted(
        path.parent for place in spec.submodule_search_locations for path in Path(place).glob("models/*/__init__.py")
    )
    return {
        folder.name: Model(f"{__name__}:build:{folder.name}", 0, None, SKIPS.get(folder.name, {})) for folder in folders
    }


def build(name: str, workload: Workload) -> tuple[Any, Any]:
    """A model and the inputs it comes with."""
    model = importlib.import_module(f"torchbenchmark.models.{name}").Model
    test = "train" if workload.mode == "training" else "eval"
    module, inputs = model(test=test, device=workload.device, batch_size=workload.batch_size or None).get_module()
    return module, inputs
