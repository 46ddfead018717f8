"""Floating-point operations of a training step, and the most that a device can do in a second."""

import contextlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

# Dense peaks of matrix products in 10¹² operations a second, as the data sheets say, by a pattern of the device's name.
PEAKS: tuple[tuple[str, dict[str, float]], ...] = (
    (r"B200", {"bfloat16": 2250, "float16": 2250, "tf32": 1100, "float32": 75}),
    (r"H100 PCIe", {"bfloat16": 756, "float16": 756, "tf32": 378, "float32": 51.2}),
    (r"H[12]00 NVL", {"bfloat16": 835, "float16": 835, "tf32": 418, "float32": 60}),
    (r"H[12]00", {"bfloat16": 989.4, "float16": 989.4, "tf32": 494.7, "float32": 66.9}),
    (r"A100\b", {"bfloat16": 312, "float16": 312, "tf32": 156, "float32": 19.5}),
    (r"A10\b", {"bfloat16": 125, "float16": 125, "tf32": 62.5, "float32": 31.2}),
    (r"L40S", {"bfloat16": 362, "float16": 362, "tf32": 183, "float32": 91.6}),
    (r"L4\b", {"bfloat16": 121, "float16": 121, "tf32": 60, "float32": 30.3}),
    (r"T4\b", {"float16": 65, "float32": 8.1}),
    (r"V100-SXM", {"float16": 125, "float32": 15.7}),
    (r"MI300X", {"bfloat16": 1307, "float16": 1307, "tf32": 654, "float32": 163}),
)
FLASH = "_scaled_dot_product_flash_attention"


@dataclass(slots=True)
class CountedFlops:
    """Operations of a step by the kind of number they are done in."""

    by_dtype: Counter[str] = field(default_factory=Counter)

    @property
    def flops(self) -> int:
        """All of them: products, convolutions and attention, forward and backward, a multiplication and an addition each one."""
        return self.by_dtype.total()

    def peak(self, torch: Any) -> tuple[float, str] | None:
        """The most a second that the GPU can do of the usual kind, with its name; None where that is not known."""
        if not self.by_dtype or not torch.cuda.is_initialized():
            return None
        ((dtype, _),) = self.by_dtype.most_common(1)
        if dtype == "float32" and torch.get_float32_matmul_precision() != "highest":
            dtype = "tf32"
        name = torch.cuda.get_device_name()
        return known_peak(name, dtype)


def known_peak(device: str, dtype: str) -> tuple[float, str] | None:
    """The peak of a device for a type of number, in operations a second, and what it is of."""
    for pattern, peaks in PEAKS:
        if re.search(pattern, device):
            return (peaks[dtype] * 1e12, f"{device}, {dtype}") if dtype in peaks else None
    return None


@contextlib.contextmanager
def counting(torch: Any) -> Iterator[CountedFlops]:
    """Count the operations of a `with` block. What is compiled runs uncompiled meanwhile, so that they can be seen."""
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils.flop_counter import flop_registry

    formulas = dict(flop_registry)
    for suffix in ("", "_backward"):  # torch has formulas for a GPU's
        names = FLASH + suffix, f"{FLASH}_for_cpu{suffix}"
        known, other = (getattr(torch.ops.aten, name, None) for name in names)
        if known in formulas and other is not None:
            formulas.setdefault(other, formulas[known])
    found = CountedFlops()

    class Count(TorchDispatchMode):  # type: ignore[no-untyped-call]
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            formula = formulas.get(getattr(function, "_overloadpacket", None))
            if formula is None and function is not torch.ops.prim.device.default:
                with self:  # in inference mode a layer comes as a whole
                    result = function.decompose(*args, **(kwargs or {}))
                if result is not NotImplemented:
                    return result
            result = function(*args, **(kwargs or {}))
            if formula is not None:
                with contextlib.suppress(Exception):  # an input of a kind that the formula does not know
                    first = result[0] if isinstance(result, tuple | list) else result
                    dtype = str(first.dtype).removeprefix("torch.")
                    found.by_dtype[dtype] += int(formula(*args, **(kwargs or {}), out_val=result))
            return result

    with Count():  # type: ignore[no-untyped-call]
        yield found
