"""Image models of timm, each of another family: random weights, nothing is downloaded."""

from typing import Any

from ..engine.workload import Workload
from .model import Model, imported, without
from .pytorch_lists import ACCURACY_BATCH_SIZES, exceptions_of

BATCH_SIZE = 8
NAMES = (
    "beit_base_patch16_224", "convnext_tiny", "deit_tiny_patch16_224", "densenet121", "efficientnet_b0", "ghostnet_100",
    "inception_v3", "mixer_b16_224", "mobilenetv2_100", "mobilenetv3_large_100", "mobilevit_s", "nfnet_l0", "regnety_002",
    "repvgg_a2", "resnet18", "resnet50", "resnext50_32x4d", "swin_tiny_patch4_window7_224", "tf_efficientnet_b0",
    "vgg16", "visformer_small", "vit_tiny_patch16_224",
)  # fmt: skip


def models() -> dict[str, Model]:
    """The models by timm's names, on images of the size each was made for."""
    missing = without("timm", "pip install timm")
    accuracy = ACCURACY_BATCH_SIZES["timm"]
    return {
        name: Model(
            f"{__name__}:build:{name}",
            BATCH_SIZE,
            None,
            missing,
            exceptions=exceptions_of("timm", name),
            accuracy_batch_size=accuracy,
            packages=("timm",),
        )
        for name in NAMES
    }


def build(name: str, workload: Workload) -> tuple[Any, tuple[Any, ...]]:
    """A model of timm, any of them, and random images; without dropout, since random numbers differ by backend."""
    import torch

    module = imported("timm").create_model(name, pretrained=False, drop_rate=0.0)
    return module, (torch.randn(workload.batch_size, *module.default_cfg["input_size"]),)
