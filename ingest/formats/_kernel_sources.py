"""Lines of source that Inductor's kernels compute, from a structured log of torch.compile with INDUCTOR_PROVENANCE=1.

Since torch 2.9 an artifact has the stacks of each kernel. Before, one names the nodes of each, whose lines are comments of the
graph.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

STACKS = "inductor_provenance_tracking_kernel_stack_traces"
MAPPINGS, KERNEL_NODES = "inductor_provenance_tracking_node_mappings", "inductor_triton_kernel_to_post_grad_nodes"
WRITTEN, LOWERED = (
    "dynamo_output_graph",
    "inductor_post_grad_graph",
)  # graphs: of what the user wrote, and of what is compiled
COMMENT = re.compile(r"^ *# File: (.+):(\d{1,9}) in (\S+), code: (.*)")
NODE = re.compile(r"^ *(\w+)(?:: \"[^\"]*\")? = ")
FRAME = re.compile(r'^ *File "(.+)", line (\d{1,9}), in (\S+)(?:\n *(\S.*))?', re.MULTILINE)
OF_TORCH = re.compile(r"[/\\](?:site|dist)-packages[/\\]torch[/\\]")
RESUMED = re.compile(r"torch_dynamo_resume_in_(\w+)_at_\d+")  # the rest of a function behind a break
NUMBER = re.compile(r":\d+$")  # of a call of a kernel
LIBRARY = re.compile(r"(?:extern_kernels|torch\.ops\.(\w+)|aten)\.(\w+)(?:\.\w+)?")


@dataclass(frozen=True, slots=True)
class KernelLine:
    """A line of source."""

    file: str
    line: int
    function: str
    text: str


@dataclass(slots=True)
class KernelSources:
    """The lines of each kernel of a log, in the order in which it has them."""

    _by_stack: dict[tuple[str, KernelLine], None] = field(default_factory=dict)
    _by_node: dict[tuple[str, KernelLine], None] = field(default_factory=dict)
    _written: dict[str, list[KernelLine]] = field(default_factory=lambda: defaultdict(list))  # by text
    _nodes: dict[str, KernelLine] = field(default_factory=dict)  # of the last graph that was lowered

    def take(self, name: str, payload: str) -> None:
        """Take a graph or an artifact; others say nothing of kernels."""
        if name == STACKS:
            for kernel, stacks in (json.loads(payload) or {}).items():
                self._by_stack |= {(_called(kernel), line): None for stack in stacks for line in _innermost(stack)}
        elif name in (MAPPINGS, KERNEL_NODES):
            found = json.loads(payload) or {}
            for kernel, nodes in (found.get("cppCodeToPost", {}) if name == MAPPINGS else found).items():
                self._by_node |= {(_called(kernel), self._nodes[node]): None for node in nodes if node in self._nodes}
        elif name == WRITTEN:
            for _, line in _nodes_of(payload):
                self._written[line.text].append(line)
        elif name == LOWERED:
            self._nodes = dict(_nodes_of(payload))

    def rows(self) -> Iterator[dict[str, Any]]:
        """Each kernel with each of its lines, numbered from 1."""
        found: dict[str, dict[KernelLine, None]] = defaultdict(dict)
        for kernel, line in self._by_stack or self._by_node:
            found[kernel][self._as_written(line)] = None
        for kernel, lines in found.items():
            for number, line in enumerate(lines, 1):
                yield {"kernel": kernel, "number": number, **asdict(line)}

    def _as_written(self, line: KernelLine) -> KernelLine:
        """The line where it stands now: code that came from a cache has it where it stood when the cache was filled."""
        known = self._written.get(line.text, [line])
        return line if line in known else min(known, key=lambda each: abs(each.line - line.line))


def _called(kernel: str) -> str:
    """The name that a trace has for it: of a library's the operator that calls it."""
    name = NUMBER.sub("", kernel)
    library = LIBRARY.fullmatch(name)
    return f"{library[1] or 'aten'}::{library[2]}" if library else name


def _innermost(stack: str) -> Iterator[KernelLine]:
    """The innermost frame of a stack, of the user's code if there is any."""
    frames = FRAME.findall(stack)
    if frames:
        own = [frame for frame in frames if not OF_TORCH.search(frame[0])] or frames
        yield _line(*own[-1])


def _line(file: str, number: str, function: str, text: str) -> KernelLine:
    resumed = RESUMED.fullmatch(function)
    return KernelLine(file, int(number), resumed[1] if resumed else function, text.strip())


def _nodes_of(graph: str) -> Iterator[tuple[str, KernelLine]]:
    """The nodes of a graph with the line that each comes from, which is a comment above it."""
    line = None
    for text in graph.split("\n"):
        if text.lstrip().startswith("#"):
            comment = COMMENT.match(text)
            line = _line(*comment.groups()) if comment else None
        elif line and (node := NODE.match(text)):
            yield node[1], line
