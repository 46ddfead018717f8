"""A CUDA graph of a module: its kernels are recorded once and replayed at every call, without the cost of launching each."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..backend import Example

WARM_UPS = 3  # calls before the capture, in which libraries choose their algorithms and allocate


class GraphReplay:
    """A replacement of the module: inputs are copied to where the graph reads them, and outputs lie where it writes."""

    def __init__(self, module: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Capture one call.

        Raises:
            Exception: What the module does cannot be captured, such as a copy to the CPU; the text is CUDA's.
        """
        import torch
        from torch.utils._pytree import tree_map_only

        self._args, self._kwargs = tree_map_only(torch.Tensor, torch.clone, (args, dict(kwargs)))
        side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM_UPS):
                module(*self._args, **self._kwargs)
        torch.cuda.current_stream().wait_stream(side)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self._output = module(*self._args, **self._kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Replay it for these inputs, of the same shapes."""
        import torch
        from torch.utils._pytree import tree_leaves

        for place, given in zip(tree_leaves((self._args, self._kwargs)), tree_leaves((args, kwargs)), strict=True):
            if isinstance(place, torch.Tensor):
                place.copy_(given)
        self._graph.replay()
        return self._output


def captured(module: Any, example: "Example") -> Callable[..., Any]:
    """The module as a CUDA graph."""
    return GraphReplay(module, example.args, example.kwargs or {})
