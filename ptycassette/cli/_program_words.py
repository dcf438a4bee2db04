"""A command whose words behind ``--`` are another program's."""

from __future__ import annotations

import click

_PROGRAM = f"{__name__}.argv"


class CommandWithProgram(click.Command):
    """A command that keeps those words apart; ``program_words`` has them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep those words in ``ctx.meta``."""
        at = args.index("--") if "--" in args else len(args)
        ctx.meta[_PROGRAM] = tuple(args[at + 1 :])
        return super().parse_args(ctx, args[:at])


def program_words() -> tuple[str, ...]:
    """The words behind ``--`` of the command that runs."""
    words: tuple[str, ...] = click.get_current_context().meta[_PROGRAM]
    return words
