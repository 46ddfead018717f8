"""Models of pytorch/benchmark ("torchbench"), if it is installed.

Its package, torchbenchmark, holds a folder for each model; which of them run depends on what its own installer
brought in. The list is read from the folders, so that nothing is imported. Where not to run a model is as in
PyTorch's own benchmark (benchmarks/dynamo/torchbench.yaml).
"""

import importlib
import importlib.util
from pathlib import Path
from typing import Any

from ..engine.workload import Workload
from .model import FAST, Model, without
from .pytorch_lists import ACCURACY_BATCH_SIZES, FIXED_BATCH_SIZE, MOST_FOR_ACCURACY, SLOW, exceptions_of

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

# Models of PyTorch's dashboard of 2023-01-01: what is skipped where the package, which knows them all, is not installed.
REPORTED = (
    "BERT_pytorch", "Background_Matting", "LearningToPaint", "Super_SloMo", "alexnet",
    "attention_is_all_you_need_pytorch", "dcgan", "demucs", "densenet121", "detectron2_fcos_r_50_fpn", "dlrm", "drq",
    "fastNLP_Bert", "functorch_dp_cifar10", "hf_Albert", "hf_Bart", "hf_Bert", "hf_Bert_large", "hf_BigBird",
    "hf_DistilBert", "hf_GPT2", "hf_GPT2_large", "hf_Longformer", "hf_Reformer", "hf_T5", "hf_T5_base", "hf_T5_large",
    "lennard_jones", "mnasnet1_0", "mobilenet_v2", "mobilenet_v3_large", "moco", "nvidia_deeprecommender",
    "phlippe_densenet", "phlippe_resnet", "pytorch_CycleGAN_and_pix2pix", "pytorch_stargan", "pytorch_struct",
    "pytorch_unet", "resnet152", "resnet18", "resnet50", "resnext50_32x4d", "shufflenet_v2_x1_0", "soft_actor_critic",
    "speech_transformer", "squeezenet1_1", "tacotron2", "timm_efficientdet", "timm_efficientnet", "timm_nfnet",
    "timm_regnet", "timm_resnest", "timm_vision_transformer", "timm_vision_transformer_large", "timm_vovnet",
    "tts_angular", "vgg16", "vision_maskrcnn", "yolov3",
)  # fmt: skip


def models() -> dict[str, Model]:
    """The models whose folders are there, each at its own batch size; where it is not installed, those that are known of it."""
    if missing := without("torchbenchmark", INSTALL):
        names = sorted({*REPORTED, *SKIPS}, key=str.lower)
        return {name: _model(name, missing) for name in names}
    spec = importlib.util.find_spec("torchbenchmark")
    assert spec is not None, "it is installed"
    folders = sorted(
        path.parent
        for place in spec.submodule_search_locations or ()
        for path in Path(place).glob("models/*/__init__.py")
    )
    return {folder.name: _model(folder.name, SKIPS.get(folder.name, {})) for folder in folders}


def _model(name: str, skips: dict[str, str]) -> Model:
    slow = {FAST: f"--fast: it takes {SLOW[name]} s on a desktop's CPU"} if name in SLOW else {}
    usual = ACCURACY_BATCH_SIZES["torchbench"]
    return Model(
        f"{__name__}:build:{name}", None if name in FIXED_BATCH_SIZE else 0, None, {**skips, **slow},
        exceptions=exceptions_of("torchbench", name),
        accuracy_batch_size=min(usual, MOST_FOR_ACCURACY.get(name, usual)),
    )  # fmt: skip


def build(name: str, workload: Workload) -> tuple[Any, Any]:
    """A model and the inputs it comes with."""
    model = importlib.import_module(f"torchbenchmark.models.{name}").Model
    test = "train" if workload.mode == "training" else "eval"
    module, inputs = model(test=test, device=workload.device, batch_size=workload.batch_size or None).get_module()
    return module, inputs
