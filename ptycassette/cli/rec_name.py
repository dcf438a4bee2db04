"""Finds the cassette and the program in the arguments of ``ptycassette rec``.

The word before ``--`` names the cassette, the words after it are the program. Without a name, one
is made of the program and the time. Without ``--`` the first word is the name, so that
``rec env true`` would record ``true`` into ``env``: a first word that is a program is refused.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterator
from datetime import datetime
from itertools import count
from pathlib import Path

import click

from ptycassette.cli._options import SectionedCommand
from ptycassette.model.visible_text import visible

_LONGEST_STEM = 40


class RecCommand(SectionedCommand):
    """Options may come anywhere before ``--``; without a ``--``, only before CASSETTE."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does, but the words after ``--`` are the program, whatever precedes it."""
        words = self._spelled_out(args)
        if "--" not in words:
            ctx.allow_interspersed_args = (
                False  # the words after CASSETTE may be the program's options
            )
            left = super().parse_args(ctx, words)
            _refuse_empty_name(ctx)
            if not ctx.resilient_parsing:
                _check_name(ctx)
            return left
        at = words.index("--")
        ctx.allow_interspersed_args = True
        left = super().parse_args(ctx, words[:at])
        _refuse_empty_name(ctx)
        before, program = ctx.params["argv"], words[at + 1 :]
        if before and not ctx.resilient_parsing:
            name = ctx.params["cassette"]
            raise click.UsageError(
                f"there is more than a name before --: {_shown([name, *before])}\n"
                f"Write: ptycassette rec CASSETTE -- {_shown(program)}",
                ctx,
            )
        ctx.params["argv"] = tuple(program)
        return left

    def _spelled_out(self, args: list[str]) -> list[str]:
        """The arguments, with the flags at their beginning in long.

        click compares short ones with all options by likeness first, which loads difflib.
        """
        flags = {
            name: option.opts[-1]
            for option in self.params
            if isinstance(option, click.Option) and option.is_flag and not option.secondary_opts
            for name in option.opts
        }
        words = list(args)
        for at, word in enumerate(words):
            if word not in flags:
                break
            words[at] = flags[word]
        return words


def _refuse_empty_name(ctx: click.Context) -> None:
    if ctx.params["cassette"] == "":
        raise click.UsageError(
            "the name of the cassette is empty: give one, or write: ptycassette rec -- PROGRAM", ctx
        )


def _check_name(ctx: click.Context) -> None:
    """Refuse a command line in which the name of the cassette was left out.

    Raises:
        click.UsageError: there is no name, or the word in its place is a program.
    """
    name, argv, line = (ctx.params[key] for key in ("cassette", "argv", "line"))
    if line is not None:
        return
    if name is None:
        raise click.UsageError(
            "there is nothing to record.\nWrite: ptycassette rec -- PROGRAM, or"
            " ptycassette rec CASSETTE to record your shell.",
            ctx,
        )
    if "/" in name or shutil.which(name) is None:
        return
    program = _shown([name, *argv])
    raise click.UsageError(
        f"{_shown([name])} is in the place of the cassette's name, but it is a program.\n"
        f"To record it: ptycassette rec [OPTIONS] -- {program}\n"
        f"With a name of your own: ptycassette rec [OPTIONS] NAME.cassette -- {program}\n"
        f"To call the cassette so: ptycassette rec [OPTIONS] ./{program}",
        ctx,
    )


def _shown(words: list[str]) -> str:
    return visible(shlex.join(words), limit=200)


def generated_names(argv: tuple[str, ...], now: datetime, *, at: Path) -> Iterator[str]:
    """Names that nothing has yet: ``claude-20261123-184502.cassette``, then ``...-2.cassette``.

    Args:
        argv: the program.
        now: when it is recorded.
        at: the directory where the cassette will be.
    """
    word = re.sub(r"[^\w.-]+", "-", Path(argv[0]).name).strip("-.")[:_LONGEST_STEM]
    stem = f"{word or 'recording'}-{now:%Y%m%d-%H%M%S}"
    for number in count(1):
        name = f"{stem}.cassette" if number == 1 else f"{stem}-{number}.cassette"
        if not os.path.lexists(at / name):
            yield name
