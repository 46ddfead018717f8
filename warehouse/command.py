"""`bench settings`: what holds in this folder, and why."""

import click

from .console.fitting import wide_option, write_fitted
from .console.options import Command, format_option, notify
from .settings import SETTINGS, FloorRule, find_setting, project_file


@click.command(cls=Command)
@wide_option
@format_option
def settings(fmt: str) -> None:
    """List the project's settings: what holds for each, and why.

    They stand in bench.toml, or below [tool.bench] in pyproject.toml, of this folder or the nearest above it. An option
    of a command counts before the environment, the environment before the file, the file before the default.

    \b
        bench settings
    """
    file = project_file()
    rows = [(key, _shown(find_setting(key)[0]), find_setting(key)[1], SETTINGS[key].meaning) for key in SETTINGS]
    write_fitted(["setting", "value", "from", "meaning"], rows, fmt, brief="meaning")
    if file is None and fmt == "table":
        notify("no file with settings here or above: write bench.toml, or [tool.bench] in pyproject.toml")


def _shown(value: object) -> str | None:
    """A value as text; None for nothing."""
    if isinstance(value, tuple | list):
        return ", ".join(str(_shown(item)) for item in value) or None
    if isinstance(value, dict):
        return ", ".join(f"{key}={_shown(item)}" for key, item in value.items()) or None
    if isinstance(value, FloorRule):
        return f"{value.metric} of {value.case}: {value.floor:g}"
    return None if value is None else f"{value:g}" if isinstance(value, float) else str(value)
