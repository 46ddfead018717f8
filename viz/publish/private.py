"""The publishable part of a store: named columns alone, and texts without names of machines and people.

A column that is not named here stays at home, so that one that bench gains later is private until somebody allows it.
"""

import functools
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from ...warehouse.console.numbers import size

# column of `run_details` -> what `--what` says of it
RUN = {
    "run_id": "id of a run",
    "config": "its config",
    "source": "what produced it",
    "suite": "its suite",
    "status": "how it ended",
    "began_at": "when it began",
    "git_commit": "commit that was measured",
    "git_branch": "its branch",
    "git_dirty": "whether the tree differed from the commit",
    "cases": "how many cases",
    "failed": "how many failed",
    "steps": "how many scheduler steps",
    "rejected": "how many records could not be read",
    "bench_version": "version of bench",
}
ENVIRONMENT = {
    "cpu": "processor",
    "architecture": "instruction set",
    "logical_cores": "cores",
    "governor": "frequency governor",
    "ram_bytes": "main memory",
    "gpus": "GPUs",
    "driver": "GPU driver",
    "python": "Python",
    "torch": "PyTorch",
    "packages": "versions of packages",
}
# column of `case_outcomes`; its texts, which quote programs, are no part of it
ENDING = {
    "status": "how a case ended",
    "phase": "in which phase",
    "exception": "type of its exception",
    "exit_code": "exit code",
}
LOG = {
    "reason": "why in a line",
    "message": "what it said",
    "stderr_tail": "the end of what its program wrote",
}  # of `case_outcomes`, for `--with-logs`
LOG_LINES = 40  # last of a text
_WITHHELD = (
    "host names (machines are numbered), users, command lines, tags, environment variables, compiler flags, paths (shortened to"
    " their last part), what programs wrote, file names of imports"
)

_TELLING = re.compile(r"[/\\@=]")  # a text without any of these holds nothing to shorten
_PATH = re.compile(r"(?<![\w/.:-])(?:~[\w.-]*|[A-Za-z]:|\.{1,2})?(?:[/\\][^\s/\\'\"=:,;()<>|]+)+[/\\]?")
_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)*")
_URL = re.compile(r"\b[A-Za-z][A-Za-z0-9+.-]{1,15}://[^\s'\"<>]+")
_VARIABLE = re.compile(r"(?<!\S)([A-Z_][A-Z0-9_]{2,})=(\S+)")


@functools.lru_cache(1 << 16)  # cells of comparisons repeat
def shortened(text: str) -> str:
    """A text as it may be published: paths by their last part, no addresses, no values of environment variables."""
    if not _TELLING.search(text):
        return text
    text = _VARIABLE.sub(r"\1=…", _ADDRESS.sub("…", _URL.sub("…", text)))
    return _PATH.sub(_last_part, text)


def published(value: Any) -> Any:
    """A value as it may be published: texts shortened, whatever else as it stands."""
    return shortened(value) if isinstance(value, str) else value


def withheld_with(logs: bool) -> str:
    """The parts of a store that are not published."""
    return _WITHHELD.replace("what programs wrote", "what programs wrote but where they failed") if logs else _WITHHELD


def log(texts: Iterable[str | None]) -> str:
    """The last lines of what a program wrote of its end, as they may be published."""
    told = dict.fromkeys(text.strip() for text in texts if text and text.strip())
    own = [text for text in told if not any(text in other for other in told if other != text)]
    whole = "\n".join(own).splitlines()
    return "\n".join(shortened(line[:500]) for line in whole[-LOG_LINES:])


def environment(details: Mapping[str, Any]) -> dict[str, str]:
    """The facts of a run's environment, by what they are called."""
    found: dict[str, str] = {}
    for column, called in ENVIRONMENT.items():
        value = details[column]
        if column == "packages":
            found |= {shortened(str(name)): shortened(str(each)) for name, each in json.loads(value or "{}").items()}
        elif column == "ram_bytes" and value is not None:
            found[called] = size(value)
        elif value not in (None, [], ""):
            found[called] = shortened(", ".join(map(str, value)) if isinstance(value, list) else str(value))
    return found


def _last_part(match: re.Match[str]) -> str:
    if re.fullmatch(r"/[^/\\]+", match[0]):  # one part, such as the end of a tag: there is nothing to leave out
        return match[0]
    parts = [part for part in re.split(r"[/\\]", match[0]) if part and not part.startswith("~") and part[-1] != ":"]
    # a name of two parts, such as meta-llama/Llama, is no path: it does not begin with a slash
    return f"…/{parts[-1]}" if parts else "…"
