"""Parse the source of the outcome: ``exit``, ``text:PATTERN``, a scenario, or a command. Pure."""

from __future__ import annotations

import shlex
from typing import Literal, cast, get_args

import msgspec

from ptycassette.errors import UsageError
from ptycassette.model.visible_text import visible

OracleKind = Literal["exit", "text", "scenario", "command"]

_FORMS = "exit, text:PATTERN, scenario:FILE, or command:WORDS"


class Oracle(msgspec.Struct, frozen=True, kw_only=True):
    """The source of the outcome. ``value`` follows the colon; ``words`` are a command's."""

    kind: OracleKind
    value: str = ""
    words: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind}:{self.value}" if self.value else self.kind

    @classmethod
    def parse(cls, text: str) -> Oracle:
        """Read ``exit``, or ``text:all tests passed``.

        Raises:
            UsageError: it is not an oracle.
        """
        kind, sign, value = text.partition(":")
        if (
            kind not in get_args(OracleKind)
            or bool(value) is (kind == "exit")
            or (sign and not value)
        ):
            raise UsageError(f"{visible(text, limit=60)} is not an oracle", hint=f"one of {_FORMS}")
        words: tuple[str, ...] = ()
        if kind == "command":
            try:
                words = tuple(shlex.split(value))
            except ValueError as wrong:
                raise UsageError(f"the command of the oracle: {wrong}") from wrong
        return cls(kind=cast("OracleKind", kind), value=value, words=words)
