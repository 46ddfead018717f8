"""Quantised modes of torchao: the linear layers of a module with weights of 8 or 4 bits, compiled by inductor.

All are compiled with the settings that torchao recommends, of this backend only: torchao itself would set them for the whole
process. `noquant` is compiled so, too, and not quantised: what the others are to be compared with.
"""

import importlib
from typing import Any

INSTALL = {"torchao": "pip install torchao"}
AUTOQUANT = "torchao has no autoquant since 0.17. Install an older one with: pip install 'torchao<0.17'"
OPTIONS = {
    "coordinate_descent_tuning": True, "coordinate_descent_check_all_directions": True, "force_fuse_int_mm_with_mul": True,
    "triton.unique_kernel_names": True,
}  # fmt: skip
GROUP = 32  # weights of 4 bits that share a scale


def int8weightonly(module: Any, device: str) -> Any:
    """Weights of 8 bits."""
    from torchao.quantization import Int8WeightOnlyConfig

    return _quantized(module, Int8WeightOnlyConfig())


def int8dynamic(module: Any, device: str) -> Any:
    """Weights of 8 bits, and activations of 8 bits whose scale is found at every call."""
    from torchao.quantization import Int8DynamicActivationInt8WeightConfig

    return _quantized(module, Int8DynamicActivationInt8WeightConfig())


def int4weightonly(module: Any, device: str) -> Any:
    """Weights of 4 bits: on a GPU packed for its kernel, which takes bfloat16 only; on the CPU widened before each product."""
    quantization: Any = importlib.import_module("torchao.quantization")  # versions differ
    if device.startswith("cuda"):
        return _quantized(
            module, quantization.Int4WeightOnlyConfig(GROUP, int4_packing_format="tile_packed_to_4d"), GROUP
        )
    from torchao.quantization.granularity import PerGroup

    torch: Any = importlib.import_module("torch")  # its stubs know no int4
    config = quantization.IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=PerGroup(GROUP))
    return _quantized(module, config, GROUP)


def autoquant(module: Any, device: str) -> Any:
    """Each layer in the mode that torchao finds the fastest for it, at the first calls."""
    torchao: Any = importlib.import_module("torchao")  # newer versions have none
    return torchao.autoquant(module, error_on_unseen=False, set_inductor_config=False)


def without_autoquant(device: str) -> str | None:
    """The reason for which torchao cannot choose the mode here; None if it can."""
    import torchao

    return None if callable(getattr(torchao, "autoquant", None)) else AUTOQUANT


def noquant(module: Any, device: str) -> Any:
    """The model as it is."""
    return module


def _quantized(module: Any, config: Any, divisor: int = 1) -> Any:
    """The module with its linear layers quantised, those whose rows the divisor divides."""
    import torch
    from torchao.quantization import quantize_

    if hasattr(config, "set_inductor_config"):
        config.set_inductor_config = False
    quantize_(
        module, config, filter_fn=lambda part, name: type(part) is torch.nn.Linear and not part.in_features % divisor
    )
    return module
