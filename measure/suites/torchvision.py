"""Image models of torchvision, each of another family: random weights, nothing is downloaded."""

from typing import Any

from ..engine.workload import Workload
from .model import Model, imported, without

BATCH_SIZE = 8
SIDE = 224  # of an image, in pixels
NAMES = (
    "alexnet", "convnext_tiny", "densenet121", "efficientnet_b0", "maxvit_t", "mnasnet1_0", "mobilenet_v2", "mobilenet_v3_large",
    "regnet_y_400mf", "resnet18", "resnet50", "resnext50_32x4d", "shufflenet_v2_x1_0", "squeezenet1_1", "swin_t", "vgg16",
    "vit_b_16", "wide_resnet50_2",
)  # fmt: skip
NO_DROPOUT = 1e-30  # which stays in the graph, while all backends compute the same


def models() -> dict[str, Model]:
    """The models by torchvision's names."""
    missing = without("torchvision", "pip install torchvision")
    return {
        name: Model(f"{__name__}:build:{name}", BATCH_SIZE, None, missing, packages=("torchvision",)) for name in NAMES
    }


def build(name: str, workload: Workload) -> tuple[Any, tuple[Any, ...]]:
    """A model of torchvision, any of them, and random images; dropout and stochastic depth let everything through."""
    import torch

    torchvision = imported("torchvision")
    module = torchvision.models.get_model(name, weights=None)
    for part in module.modules():
        if isinstance(part, torch.nn.Dropout | torchvision.ops.StochasticDepth):
            part.p = NO_DROPOUT
    return module, (torch.randn(workload.batch_size, 3, SIDE, SIDE),)
