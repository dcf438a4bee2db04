"""``ptycassette completion SHELL``: shell completion of commands and options."""

from __future__ import annotations

import click

SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    """Print the completion script for SHELL: bash, zsh or fish.

    \b
    bash: eval "$(ptycassette completion bash)"              in ~/.bashrc
    zsh:  eval "$(ptycassette completion zsh)"               in ~/.zshrc, after compinit
    fish: ptycassette completion fish > ~/.config/fish/completions/ptycassette.fish

    Example: ptycassette completion bash
    """  # noqa: D301 - \b keeps click from wrapping the lines
    from click.shell_completion import get_completion_class

    from ptycassette.cli.entry import cli

    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"this click cannot complete in {shell}")
    click.echo(found(cli, {}, "ptycassette", "_PTYCASSETTE_COMPLETE").source())
