"""`bench programs completion`: the script that makes a shell complete commands, options and their values."""

import click

from .options import Command

FILES = {"bash": "~/.bashrc", "zsh": "~/.zshrc", "fish": "~/.config/fish/completions/bench.fish"}


@click.command(cls=Command)
@click.argument("shell", type=click.Choice(tuple(FILES)))
def completion(shell: str) -> None:
    """Print a script with which a shell completes bench's commands, options and choices when you press Tab.

    \b
        bench programs completion bash >> ~/.bashrc
        bench programs completion zsh >> ~/.zshrc
        bench programs completion fish > ~/.config/fish/completions/bench.fish
    """
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    assert found is not None, "click has all three"
    click.echo(found(click.get_current_context().find_root().command, {}, "bench", "_BENCH_COMPLETE").source())
