"""The rules of a library: which start of a program they hold for.

A library is a directory of cassettes, and maybe a ``library.yaml``::

    rules:
      - program: claude            # the name it is started by; any when missing
        argv: [-p, hello]          # exactly these arguments
        cassettes: [hello]         # one for each start, in this order
      - program: claude
        argv_regex: '^--resume .+' # searched in the arguments, joined by spaces
        cwd: '*/project'           # a shell pattern
        env: {CLAUDE_MODEL: 'opus*', CI: null}   # patterns; null: not set
        predicate: choose.py       # its function holds(program, args, cwd, env) decides
        cassettes: [first, second]
        match: exact               # how input is compared
        order: loose               # exchanges may come in another order

The first rule that holds is used.

A predicate file is Python code, and is executed: a library is part of the tests that use it.
The file is in the library; no rule can refer to files outside of it.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from ptycassette.errors import NotFoundError, UsageError
from ptycassette.model.file_patterns import FilePatterns, file_pattern
from ptycassette.model.resolved_types import resolved
from ptycassette.scenario.strict_yaml import MAX_YAML_BYTES, parse_yaml
from ptycassette.scrub.io.conceal import concealed_words
from ptycassette.system.files.plain_file import read_plain
from ptycassette.timeline.match import order_named, strategy_named

RULES_FILE = "library.yaml"


class LibraryRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One rule of ``library.yaml``; see the module."""

    cassettes: tuple[str, ...]
    program: str | None = None
    argv: tuple[str, ...] | None = None
    argv_regex: str | None = None
    cwd: str | None = None
    env: dict[str, str | None] = msgspec.field(default_factory=dict)
    predicate: str | None = None
    match: str | None = None
    order: str | None = None
    repeat: bool = False


class _Rules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    rules: tuple[LibraryRule, ...]


class ProgramStart(msgspec.Struct, frozen=True, kw_only=True):
    """How a program was started. ``args`` is without the program's name."""

    program: str
    args: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]

    @property
    def shown(self) -> tuple[str, ...]:
        """``args`` without what is secret in them, as a manifest holds them."""
        return concealed_words((self.program, *self.args))[1:]

    def has_args(self, recorded: Sequence[str], *, concealed: bool) -> bool:
        """Whether these are the recorded arguments, where ``$PWD`` and ``$HOME`` name folders.

        Args:
            recorded: the arguments of a manifest.
            concealed: also accept what is the same once its secrets are removed.
        """
        if len(recorded) != len(self.args):
            return False
        folders = (("$PWD", self.cwd), ("$HOME", self.env.get("HOME", "$HOME")))
        shown = self.shown if concealed else self.args
        for word, given, other in zip(recorded, self.args, shown, strict=True):
            there = word
            for name, folder in folders:
                there = there.replace(name, folder)
            if word not in {given, other} and there != given:
                return False
        return True


def read_rules(place: Path) -> tuple[LibraryRule, ...]:
    """The rules of the library at ``place``; none without a file of rules.

    Raises:
        UsageError: the file is wrong.
    """
    path = place / RULES_FILE
    try:
        data = read_plain(path, max_bytes=MAX_YAML_BYTES)
    except NotFoundError:
        return ()
    try:
        rules = msgspec.convert(parse_yaml(data, where=str(path)), resolved(_Rules)).rules
        patterns = FilePatterns()
        for rule in rules:
            patterns.check(rule.argv_regex or "")
            strategy_named(rule.match or "prompt")
            order_named(rule.order or "strict")
            if not rule.cassettes:
                raise UsageError("a rule names no cassette", where=str(path))
    except ValueError as exc:
        raise UsageError(f"no rules of a library: {exc}", where=str(path)) from exc
    return rules


def why_not(rule: LibraryRule, start: ProgramStart) -> str | None:  # noqa: PLR0911 - one per condition
    """Why a rule does not hold; None when it does."""
    if rule.program is not None and rule.program != start.program:
        return f"program is {start.program!r}, not {rule.program!r}"
    if rule.argv is not None and rule.argv != start.args:
        return f"arguments are {list(start.shown)}, not {list(rule.argv)}"
    if rule.argv_regex is not None and not file_pattern(rule.argv_regex).found(
        " ".join(start.args)
    ):
        return f"/{rule.argv_regex}/ is not in {' '.join(start.shown)!r}"
    if rule.cwd is not None and not fnmatch.fnmatchcase(start.cwd, rule.cwd):
        return f"working directory {start.cwd!r} does not match {rule.cwd!r}"
    for name, pattern in rule.env.items():
        value = start.env.get(name)
        if pattern is None:
            if value is not None:
                return f"{name} is set"
        elif value is None:
            return f"{name} is not set"
        elif not fnmatch.fnmatchcase(value, pattern):
            return f"{name} does not match {pattern!r}"
    return None
