"""Accuracy: whether the output of a backend is as accurate as that of eager.

The rule is that of PyTorch's own benchmarks (`torch._dynamo.utils.same` without its options for single models), tensor by
tensor of two outputs of one structure; the length in 4 is stricter than theirs:

1. Shapes and types are the same, and integers and truth values are equal.
2. Enough is that the two are close: |actual − expected| ≤ tolerance + tolerance · |expected|.
3. Else rounding is given its due, where the model could be run in float64, too. With e(x) the root of the mean squared
   difference of x from that reference, e(actual) ≤ m · e(expected) + tolerance / 10: the backend may be as wrong as
   eager is, m times. m is 2; 3 for 16-bit types, fewer than 1000 numbers, kernels of 1 × 1 (four dimensions, the last two
   of size 1), and a tolerance of 2 % and more, where noise rules. And a backend whose result is all numbers within 4 % of
   the reference may be right where eager has NaN.
4. With no reference, or where `cosine` is asked for, the cosine of the two must be at least 0.99, and their lengths may
   differ by 14 %: as far as two of one length may lie apart at that cosine. A cosine alone does not see a factor.

NaN equals NaN in the small types, which overflow by nature; at float32 and float64 a NaN is a difference. Where both have NaN
at the same places and are right at all others, the status is `both_nan`: nothing says whether such a result is right.
"""

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ...warehouse.console.numbers import counted

if TYPE_CHECKING:
    import torch

COSINE = 0.99
LENGTH = math.sqrt(2 * (1 - COSINE))  # by which lengths may differ, as a fraction
LOOSE = 0.04  # of a result that is a number where eager's is none
Tensors = dict[str, "torch.Tensor"]


@dataclass(frozen=True, slots=True)
class ToleranceRule:
    """Tolerances of the comparison."""

    tolerance: float
    cosine: bool = False
    equal_nan: bool = False


@dataclass(frozen=True, slots=True)
class OutputComparison:
    """The result of comparing two outputs; errors are those of the worst tensor, NaN if there is none.

    `error` is the largest absolute difference from eager; `rmse` and `eager_rmse` the root mean squared differences of
    the two from the float64 reference, `cosine` the smallest cosine; these three None where they were not asked for.
    """

    equal: bool
    what: str
    error: float
    both_nan: bool = False  # that, and nothing else, is wrong
    rmse: float | None = None
    eager_rmse: float | None = None
    cosine: float | None = None


def rule(dtype: str, mode: str, *, tolerance: float | None = None, cosine: bool = False) -> ToleranceRule:
    """The rule for a type and a mode: 10⁻⁴ for float32 and float64, 10⁻³ for the small; ten times that for gradients."""
    wide = dtype in ("float32", "float64")
    usual = (1e-4 if wide else 1e-3) * (10 if mode == "training" else 1)
    return ToleranceRule(usual if tolerance is None else tolerance, cosine, equal_nan=not wide)


def compare(expected: Tensors, actual: Tensors, reference: Tensors | None, rule: ToleranceRule) -> OutputComparison:
    """Compare the outputs of two backends, by the rule of this module.

    Tensors stand by place; `reference` is float64's, None where there are none.
    """
    if len(expected) != len(actual):
        odd = sorted(expected.keys() ^ actual.keys())
        return OutputComparison(
            False, f"{counted(len(actual), 'tensor')} instead of {len(expected)}: {', '.join(odd[:3])}", math.nan
        )
    actual = dict(zip(expected, actual.values(), strict=True))  # what leaves Python may lose its names, not its order
    if reference is not None and reference.keys() != expected.keys():
        reference = None
    by_cosine = rule.cosine or reference is None
    found = [
        _tensor(
            place, expected[place], actual[place], None if by_cosine or reference is None else reference[place], rule
        )
        for place in expected
    ]
    wrong = sorted((one for one in found if not one.equal), key=lambda one: one.both_nan)
    return OutputComparison(
        not wrong,
        f"{wrong[0].what}{f', and {len(wrong) - 1} more' if len(wrong) > 1 else ''}" if wrong else "",
        max((one.error for one in found), default=0.0),
        bool(wrong) and wrong[0].both_nan,
        _largest(one.rmse for one in found),
        _largest(one.eager_rmse for one in found),
        min((one.cosine for one in found if one.cosine is not None), default=None),
    )


def _largest(values: Iterator[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _tensor(place: str, expected: Any, actual: Any, reference: Any | None, rule: ToleranceRule) -> OutputComparison:
    """Compare one tensor; `what` says what is wrong with it."""
    import torch

    if expected.shape != actual.shape or expected.dtype != actual.dtype:
        what = f"{place}: {_kind(actual)} instead of {_kind(expected)}"
        return OutputComparison(False, what, math.nan)
    if not expected.is_floating_point():
        equal = bool(torch.equal(expected, actual))
        error = _difference(expected.to(torch.float64), actual.to(torch.float64))
        return OutputComparison(equal, "" if equal else f"{place}: other {_kind(expected)}", error)
    x, y = expected.double(), actual.double()
    wide = None if reference is None or reference.shape != expected.shape else reference.double()
    both = x.isnan() & y.isnan()
    if rule.equal_nan or not bool(both.any()):
        return _numbers(place, x, y, wide, rule, _multiple(expected, rule))
    rest = _numbers(place, x[~both], y[~both], None if wide is None else wide[~both], rule, _multiple(expected, rule))
    if not rest.equal:
        return rest
    what = f"{place}: {int(both.sum()):,} of {both.numel():,} numbers are NaN, as eager's are"
    return replace(rest, equal=False, what=what, both_nan=True)


def _numbers(place: str, x: Any, y: Any, wide: Any | None, rule: ToleranceRule, multiple: float) -> OutputComparison:
    """Compare eager's numbers and a backend's; all are float64, and `wide` is the reference."""
    import torch

    error = _difference(x, y)
    close = torch.allclose(y, x, rtol=rule.tolerance, atol=rule.tolerance, equal_nan=rule.equal_nan)
    if wide is None:
        cosine = (
            1.0 if close else float(torch.nn.functional.cosine_similarity(x.flatten(), y.flatten(), dim=0, eps=1e-12))
        )
        length = 1.0 if close else float(y.norm() / x.norm())
        right = close or (cosine >= COSINE and abs(length - 1) <= LENGTH)
        what = _lone_nan(place, x, y) or f"{place}: cosine {cosine:.4f} with eager, {length:.3g} times as long"
        return OutputComparison(right, "" if right else what, error, cosine=cosine)
    eager_rmse, rmse = _rmse(wide, x), _rmse(wide, y)
    limit = multiple * eager_rmse + rule.tolerance / 10
    right = close or rmse <= limit or _better_than_eager(wide, x, y) or (rule.equal_nan and _both_nan(rmse, eager_rmse))
    what = _lone_nan(place, x, y) or f"{place}: RMSE {rmse:.3g} from float64, eager's is {eager_rmse:.3g}"
    return OutputComparison(right, "" if right else what, error, rmse=rmse, eager_rmse=eager_rmse)


def _lone_nan(place: str, x: Any, y: Any) -> str:
    """Say how many numbers are NaN on one side only; then no error can be computed."""
    count = int((x.isnan() ^ y.isnan()).sum())
    return f"{place}: {count:,} of {x.numel():,} numbers are NaN in eager or here, not in both" if count else ""


def _multiple(expected: Any, rule: ToleranceRule) -> float:
    """The factor by which a backend's error may exceed eager's."""
    small = expected.element_size() < 4 or expected.numel() < 1000
    kernels = expected.ndim == 4 and expected.shape[-1] == expected.shape[-2] == 1
    return 3.0 if small or kernels or rule.tolerance >= 0.02 else 2.0


def _better_than_eager(reference: Any, expected: Any, actual: Any) -> bool:
    if not bool(expected.isnan().any()) or bool(reference.isnan().any()) or bool(actual.isnan().any()):
        return False
    return bool(((actual - reference).abs() <= LOOSE + LOOSE * reference.abs()).all())


def _both_nan(*values: float) -> bool:
    return all(map(math.isnan, values))


def _rmse(reference: Any, x: Any) -> float:
    return math.sqrt(float((reference - x).square().mean())) if x.numel() else 0.0


def _difference(x: Any, y: Any) -> float:
    """The largest absolute difference; where both are NaN, or the same infinity, there is none."""
    import torch

    same = (x == y) | (x.isnan() & y.isnan())
    return float(torch.where(same, torch.zeros_like(x), (x - y).abs()).nan_to_num(math.inf).max()) if x.numel() else 0.0


def _kind(tensor: Any) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"


def tensors(value: Any, place: str = "output") -> Iterator[tuple[str, "torch.Tensor"]]:
    """The tensors of a nested value with their places, in order: `output.logits`, `output[0]`."""
    import torch

    if isinstance(value, torch.Tensor):
        value = getattr(value, "to_local", lambda: value)()  # of a tensor in shards, the one that is here
        yield place, value.to_dense() if value.is_sparse else value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from tensors(item, f"{place}.{key}")
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from tensors(item, f"{place}[{index}]")
    elif hasattr(value, "__dataclass_fields__"):
        for name in value.__dataclass_fields__:
            yield from tensors(getattr(value, name), f"{place}.{name}")


def kept(value: Any) -> Tensors:
    """A copy of the tensors of a value, on the CPU, that later steps leave alone."""
    return {place: tensor.detach().to("cpu", copy=True) for place, tensor in tensors(value)}


def digest(values: Tensors) -> str:
    """16 hexadecimal digits of the SHA-256 of all places and numbers: equal for equal outputs to the last bit."""
    import torch

    found = hashlib.sha256()
    for place, tensor in values.items():
        found.update(place.encode() + b"\0")
        found.update(tensor.contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return found.hexdigest()[:16]
