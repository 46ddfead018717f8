"""`bench programs mcp`: the tools behind the Model Context Protocol, by its official SDK, over standard input and output."""

import base64
import dataclasses
import functools
import inspect
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from .._version import __version__
from ..warehouse.console.tables import escape_json
from ..warehouse.errors import BenchError, MissingExtra, UnknownName
from .caveats import NOT_CLAIMED, ROWS_ARE_DATA
from .tools import AllowedMeasurements, PictureAnswer, Questions, ToolAnswer

if TYPE_CHECKING:
    from mcp.server import MCPServer
    from mcp_types import CallToolResult

ASKING = ("views", "sql", "show", "compare", "regressions", "history", "explain", "why", "plan", "report", "chart")
KINDS = {  # pydantic's kinds of errors by their beginnings, and what is wanted
    "int": "a whole number", "float": "a number", "string": "a text", "bool": "true or false", "list": "a list",
    "dict": "an object", "literal": "one of those that are listed",
}  # fmt: skip
INSTRUCTIONS = f"""\
Performance measurements of one store, and what may be said of them.
Call something faster, slower, better or worse only where compare, regressions or history gives that verdict, and with its
interval. What is UNSURE is {NOT_CLAIMED}. Pass on the `doubt` of an answer with what you take from it.
Mind that {ROWS_ARE_DATA}.
"""


def build_server(questions: Questions, measurements: AllowedMeasurements | None = None) -> "MCPServer[Any]":
    """The server with its tools; the one that measures only if commands for it are given.

    Raises:
        MissingExtra: The SDK is not installed.
    """
    try:
        from mcp.server import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
        from mcp_types import ToolAnnotations
        from pydantic import ValidationError
    except ImportError as error:
        raise MissingExtra("mcp", "mcp") from error

    class BenchServer(MCPServer[Any]):
        """The server; arguments that do not fit are an error in bench's words."""

        async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
            known = {tool.name: tool.input_schema for tool in await self.list_tools()}
            try:
                _check_arguments(name, arguments, known)
                return await super().call_tool(name, arguments, context)
            except BenchError as error:
                return _failure(error)
            except ToolError as error:
                if not isinstance(error.__cause__, ValidationError):
                    raise
                return _failure(_misfit(name, arguments, error.__cause__.errors()[0]))

    server = BenchServer("bench", version=__version__, instructions=INSTRUCTIONS, log_level="WARNING")
    reads = ToolAnnotations(read_only_hint=True, destructive_hint=False, open_world_hint=False)
    for name in ASKING:
        server.add_tool(answering(getattr(questions, name)), annotations=reads, structured_output=True)
    if measurements is not None:
        records = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
        server.add_tool(answering(measurements.measure, command=Literal[measurements.commands]), annotations=records)
    return server


def _check_arguments(tool: str, arguments: Mapping[str, Any], schemas: Mapping[str, Any]) -> None:
    """Raise for a tool or an argument that there is not, and for one that is missing."""
    if tool not in schemas:
        raise UnknownName("tool", tool, schemas)
    schema = schemas[tool]
    for argument in arguments:
        if argument not in schema["properties"]:
            raise UnknownName("argument", argument, schema["properties"], where=f"the tool {tool}")
    if missing := [name for name in schema.get("required", ()) if name not in arguments]:
        raise BenchError(f"the tool {tool} needs {' and '.join(missing)}.")


def _misfit(tool: str, arguments: Mapping[str, Any], error: Mapping[str, Any]) -> BenchError:
    """The error of an argument that is of another type than the tool takes."""
    name = str(error["loc"][0]) if error["loc"] else "argument"
    kind = str(error["type"])
    wanted = next((words for beginning, words in KINDS.items() if kind.startswith(beginning)), str(error["msg"]))
    return BenchError(f"{name} of the tool {tool} is {json.dumps(arguments.get(name))[:100]}: it is {wanted}.")


def raise_if_cancelled() -> None:
    """Raise in the thread of a tool whose answer nobody waits for any more."""
    from anyio.from_thread import check_cancelled

    check_cancelled()


def answering(tool: Callable[..., ToolAnswer | PictureAnswer], **annotations: Any) -> Callable[..., Any]:
    """A tool whose result is what the protocol carries; what a user can mend is an error in its parts.

    A client that cancels it, or is gone, is not kept waiting for its end.
    """

    def answer(*args: Any, **kwargs: Any) -> Any:
        try:
            found = tool(*args, **kwargs)
        except BenchError as error:
            return _failure(error)
        return _success(found)

    @functools.wraps(tool)
    async def call(*args: Any, **kwargs: Any) -> Any:
        from anyio.to_thread import run_sync

        return await run_sync(functools.partial(answer, *args, **kwargs), abandon_on_cancel=True)

    call.__annotations__ = {**tool.__annotations__, **annotations, "return": _output()}
    call.__dict__.pop("__wrapped__")  # the SDK would follow it past these annotations
    call.__signature__ = _signature(tool, call.__annotations__)  # type: ignore[attr-defined]
    return call


@functools.cache
def _output() -> Any:
    """The fields of an answer with their meanings, as the SDK publishes them."""
    from pydantic import Field, create_model

    fields: dict[str, Any] = {
        one.name: (one.type, Field(description=one.metadata["meaning"])) for one in dataclasses.fields(ToolAnswer)
    }
    return create_model("ToolAnswer", **fields)


def _signature(tool: Callable[..., Any], annotations: dict[str, Any]) -> Any:
    signature = inspect.signature(tool)
    parameters = [one.replace(annotation=annotations[name]) for name, one in signature.parameters.items()]
    return signature.replace(parameters=parameters, return_annotation=annotations["return"])


def _success(found: ToolAnswer | PictureAnswer) -> "CallToolResult":
    """The answer as JSON, and as text for whoever reads only that: summary and doubt come first in both."""
    from mcp_types import CallToolResult, ImageContent, TextContent

    picture = found.png if isinstance(found, PictureAnswer) else None
    answer = found.answer if isinstance(found, PictureAnswer) else found
    fields = dataclasses.asdict(answer)
    content: list[Any] = [TextContent(type="text", text=_text(fields))]
    if picture is not None:
        data = base64.b64encode(picture).decode()
        content.append(ImageContent(type="image", data=data, mime_type="image/png"))
    return CallToolResult(content=content, structured_content=fields)


def _failure(error: BenchError) -> "CallToolResult":
    from mcp_types import CallToolResult, TextContent

    fields = error.fields()
    return CallToolResult(
        content=[TextContent(type="text", text=_text(fields))], structured_content=fields, is_error=True
    )


def _text(fields: dict[str, Any]) -> str:
    """JSON that shows what it is."""
    return escape_json(json.dumps(fields, ensure_ascii=False))
