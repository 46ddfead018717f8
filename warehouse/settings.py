"""The settings of a project: `[tool.bench]` of pyproject.toml, or bench.toml; every key is declared here, once.

An option of a command counts before the environment, the environment before the file, and the file before the default.
The file is the nearest upward from the working directory that holds such settings.
"""

import functools
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..sql.rules import FLOOR
from .console.numbers import share
from .errors import BenchError, UnknownName

OWN_FILE, SHARED_FILE = "bench.toml", "pyproject.toml"
_TABLE = re.compile(r"""(?m)^\s*\[\[?\s*tool\s*\.\s*["']?bench["']?\s*[.\]]""")
STATISTICS = ("median", "mean", "minimum")
DEFAULT = "default"


def regular(pattern: str) -> str:
    """A pattern with * and ? as a regular expression of a whole text."""
    return "(?s)^" + "".join({"*": ".*", "?": "."}.get(sign, re.escape(sign)) for sign in pattern) + "$"


@dataclass(frozen=True, slots=True)
class FloorRule:
    """The smallest change that counts for some metrics and cases; both are patterns with * and ?."""

    metric: str
    case: str
    floor: float

    def fits(self, metric: str, case: str) -> bool:
        """True if the rule is about a metric of a case."""
        return all(re.match(regular(pattern), text) for pattern, text in ((self.metric, metric), (self.case, case)))


@dataclass(frozen=True, slots=True)
class ProjectSetting:
    """One key: what it may hold, what holds without it, and what it means."""

    key: str
    type: str
    default: Any
    meaning: str
    read: Callable[[Any], Any]  # raises ValueError for what is no such value
    variable: str | None = None  # of the environment


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError
    return value


def _share(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError
    return share(str(value), 100)


def _texts(value: Any) -> tuple[str, ...]:
    """A list of texts, in the environment separated by commas."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise ValueError
    return tuple(part.strip() for part in parts if part.strip())


def _tags(value: Any) -> dict[str, str]:
    """A table of texts, in the environment KEY=VALUE separated by commas."""
    if isinstance(value, str):
        pairs = [part.partition("=") for part in value.split(",") if part.strip()]
        if not all(key.strip() and equals for key, equals, _ in pairs):
            raise ValueError
        return {key.strip(): text for key, _, text in pairs}
    if not isinstance(value, dict) or not all(isinstance(text, str | int | float) for text in value.values()):
        raise ValueError
    return {key: str(text) for key, text in value.items()}


def _statistic(value: Any) -> str:
    if value not in STATISTICS:
        raise ValueError
    return str(value)


def _floors(value: Any) -> tuple[FloorRule, ...]:
    if not isinstance(value, list):
        raise ValueError
    rules = []
    for rule in value:
        if not isinstance(rule, dict) or "floor" not in rule:
            raise ValueError
        for key in rule:
            if key not in ("metric", "case", "floor"):
                raise UnknownName("key", key, ("metric", "case", "floor"), where="a rule of floors")
        rules.append(FloorRule(_text(rule.get("metric", "*")), _text(rule.get("case", "*")), _share(rule["floor"])))
    return tuple(rules)


def _machines(value: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, dict):
        raise ValueError
    return {name: _texts([patterns] if isinstance(patterns, str) else patterns) for name, patterns in value.items()}


SETTINGS = {
    setting.key: setting
    for setting in (
        ProjectSetting(
            "store", "folder or address", None,
            "The store; a folder is relative to this file. [default: the nearest .bench upward]", _text, "BENCH_STORE",
        ),
        ProjectSetting(
            "config", "text", None, "Config of new runs. [default: the git branch]", _text, "BENCH_CONFIG",
        ),
        ProjectSetting("floor", "share", FLOOR, "Smallest change that counts, such as 3%.", _share, "BENCH_FLOOR"),
        ProjectSetting(
            "floors", 'list of {metric, case, floor}, such as [{case = "io/*", floor = "10%"}]', (),
            "Floors of some metrics and cases, by patterns with * and ?; the last that fits counts.", _floors,
        ),
        ProjectSetting(
            "metrics", "list of texts", (), "Metrics to compare and show. [default: all headline metrics]", _texts,
            "BENCH_METRICS",
        ),
        ProjectSetting("tags", "table of texts", {}, "Tags of every new run.", _tags, "BENCH_TAGS"),
        ProjectSetting(
            "headline", " | ".join(STATISTICS), "median", "Statistic of a case's samples that `show` gives.", _statistic,
            "BENCH_HEADLINE",
        ),
        ProjectSetting(
            "machines", "table of lists of texts", {},
            "Names of machine classes: name -> classes or processors that count as one, by patterns with * and ?.",
            _machines,
        ),
        ProjectSetting(
            "mappings", "folder", None,
            "Folder of mappings: `ingest --map @NAME` reads NAME.toml there; one with `recognise` needs no `--map`. It is "
            "relative to this file.", _text,
            "BENCH_MAPPINGS",
        ),
    )
}  # fmt: skip
_OF_FOLDER = ("store", "mappings")  # values that are relative to the folder of the file


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """The file with a project's settings, read and checked."""

    path: Path
    values: Mapping[str, Any]


def project_file(start: Path | None = None) -> ProjectFile | None:
    """The nearest file with settings, from the working directory upward; bench.toml counts before pyproject.toml.

    Raises:
        BenchError: It cannot be read, is not valid TOML, or a key holds something else than it may.
        UnknownName: It has a key that is none; the message suggests the nearest one.
    """
    start = start or Path.cwd()
    for folder in (start, *start.parents):
        for name in (OWN_FILE, SHARED_FILE):
            data = _read(folder / name)
            if data is not None and (name == OWN_FILE or _TABLE.search(data.decode(errors="replace"))):
                try:
                    return _parsed(folder / name, data.decode("utf-8-sig"))
                except UnicodeDecodeError as error:
                    raise BenchError(f"{folder / name} is not UTF-8 at byte {error.start}. Save it as UTF-8.") from None
    return None


def _read(path: Path) -> bytes | None:
    """The content of a file; None if there is none, or if nothing says that a file that cannot be read has settings."""
    try:
        return path.read_bytes()
    except OSError as error:
        if path.name == OWN_FILE and path.is_file():
            raise BenchError(f"cannot read the settings in {path}: {error.strerror}. Look who may read it.") from error
        return None


@functools.lru_cache(maxsize=8)
def _parsed(path: Path, text: str) -> ProjectFile:
    import tomllib

    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BenchError(f"{path} is not valid TOML: {error}.") from None
    table = document if path.name == OWN_FILE else document["tool"]["bench"]
    if not isinstance(table, dict):
        raise BenchError(f"{path}: tool.bench is not a table. Write its keys below [tool.bench].")
    for key in table:
        if key not in SETTINGS:
            raise UnknownName("setting", key, SETTINGS, where=str(path), cure=f"Settings: {', '.join(SETTINGS)}")
    values = {key: _checked(SETTINGS[key], value, str(path)) for key, value in table.items()}
    for key in _OF_FOLDER:
        if key in values and "://" not in values[key]:
            values[key] = str(path.parent / Path(values[key]).expanduser())
    return ProjectFile(path, values)


def _checked(setting: ProjectSetting, value: Any, where: str) -> Any:
    try:
        return setting.read(value)
    except ValueError:
        raise BenchError(f"{where}: {setting.key} = {value!r}: expected {setting.type}. {setting.meaning}") from None
    except BenchError as error:
        if isinstance(error, UnknownName):
            raise
        raise BenchError(f"{where}: {setting.key}: {error}") from None


def find_setting(key: str) -> tuple[Any, str]:
    """The value of a key without an option, and its origin: `$VARIABLE`, the path of a file, or `default`.

    Raises:
        BenchError: The variable or the file holds something else than it may.
        KeyError: There is no such key.
    """
    setting = SETTINGS[key]
    if setting.variable and (text := os.environ.get(setting.variable)):
        return _checked(setting, text, f"${setting.variable}"), f"${setting.variable}"
    file = project_file()
    if file is not None and key in file.values:
        return file.values[key], str(file.path)
    return setting.default, DEFAULT


def setting(key: str) -> Any:
    """The value of a key without an option. Raises as `find_setting`."""
    return find_setting(key)[0]


def floor_of(metric: str | None, case: str, default: float = FLOOR) -> float:
    """The smallest change that counts for a metric of a case, as a fraction.

    Args:
        metric: Its name; None for a case without numbers.
        case: Name of the case.
        default: What holds where no rule of `floors` fits and the project sets no `floor`.
    """
    fitting = [rule.floor for rule in setting("floors") if rule.fits(metric or "", case)]
    usual, origin = find_setting("floor")
    return fitting[-1] if fitting else default if origin == DEFAULT else usual
