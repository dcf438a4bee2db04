"""A library of cassettes, of which one is chosen when a program is started.

A library is a directory of cassettes, and maybe a ``library.yaml``. The first
rule that holds is used. Without rules, a cassette is chosen if it was recorded with the
same program name and the same arguments. A secret among the arguments must be the recorded one
if the recording has its digest and ``secrets`` is ``same``. If the choice is ambiguous or nothing
matches, the error names the candidates and why each was rejected.
"""

from __future__ import annotations

import fnmatch
import os
import re
import shlex
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from ptycassette.cassette.io.reader import open_cassette
from ptycassette.cassette.timeline.match import (
    SecretsPolicy,
    order_named,
    read_secrets,
    strategy_named,
)
from ptycassette.errors import CassetteError, NotFoundError, UnsafeFileError, UsageError
from ptycassette.model.re2_engine import FilePatterns, file_pattern
from ptycassette.model.records import NOT_JSON, native_text, storable_text
from ptycassette.model.resolved_types import resolved
from ptycassette.model.visible_text import visible
from ptycassette.replaying.scenario.evaluation import MAX_YAML_BYTES, parse_yaml
from ptycassette.scrub.io.conceal import concealed_words
from ptycassette.system.files.locks import try_lock
from ptycassette.system.files.whole_file import read_plain

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
        """``args`` without their secrets, as a manifest holds them."""
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
        raise UsageError(f"not rules of a library: {exc}", where=str(path)) from exc
    return rules


def why_not(rule: LibraryRule, start: ProgramStart) -> str | None:  # noqa: PLR0911 - one per condition
    """Why a rule does not match; None if it does."""
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


# How often each rule or command of a library was used, kept in a file between processes.


STARTS_FILE = "starts.json"
_MAX_COUNTS = 1 << 20


class StartCounts:
    """Counts in a directory of state; one per test."""

    def __init__(self, state: Path) -> None:
        self._path = state / STARTS_FILE

    def count(self, key: str) -> int:
        """Count ``key`` once more; returns the count before. Safe between processes.

        Raises:
            UsageError: the file cannot be written there, or is not a file of counts.
        """
        key = storable_text(key)
        try:
            with _open_counts(self._path) as file:
                try_lock(file.fileno(), wait=True)
                counts = msgspec.json.decode(
                    file.read(_MAX_COUNTS) or b"{}", type=resolved(dict[str, int])
                )
                before = counts.get(key, 0)
                counts[key] = before + 1
                file.seek(0)
                file.truncate()
                file.write(msgspec.json.encode(counts))
        except (*NOT_JSON, OSError) as exc:
            raise UsageError(
                f"the number of the next session cannot be kept here: {visible(str(exc))}",
                where=str(self._path),
                hint="remove the file, or name another directory (ptycassette shim --state)",
            ) from exc
        return before


def forget_starts(state: Path) -> None:
    """Reset the counts: the next start of each rule is its first."""
    (state / STARTS_FILE).unlink(missing_ok=True)


def _open_counts(path: Path) -> BinaryIO:
    """Open or create the file of counts. Never follows a link, and never blocks."""
    path.parent.mkdir(parents=True, exist_ok=True)
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    fd = os.open(path, flags, 0o600)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError("not a regular file")
    return os.fdopen(fd, "r+b")


MAX_CANDIDATES = 20


class ChosenCassette(msgspec.Struct, frozen=True, kw_only=True):
    """The cassette chosen for a start. ``exists`` is false if it is yet to be recorded."""

    path: Path
    match: str | None = None
    order: str | None = None
    exists: bool = True


class Library:
    """Cassettes in a directory.

    Args:
        place: the directory.
        state: the directory of the counts of how often each rule was used; one per test.
        pending: the directory of recordings that are not yet in the library. They count as
            part of it, and new ones are written there.
        secrets: ``any`` accepts another secret in the arguments.
        each: without rules, each start with the same arguments has its own cassette, in the order
            of the starts.

    Raises:
        UsageError: ``library.yaml`` is wrong.
    """

    def __init__(
        self,
        place: Path,
        *,
        state: Path,
        pending: Path | None = None,
        secrets: SecretsPolicy = "same",
        each: bool = False,
    ) -> None:
        self.place = place
        self._each = each
        self._secrets = secrets
        self.pending = pending
        self._starts = StartCounts(state)
        self.rules = read_rules(place)

    def choose(self, start: ProgramStart, *, record: bool = False) -> ChosenCassette:
        """Choose the cassette for ``start``.

        Args:
            start: how the program was started.
            record: the program is about to be recorded, so the cassette may be missing.

        Raises:
            NotFoundError: none matches; the message names the candidates.
            UsageError: several match.
        """
        if self.rules:
            return self._by_rule(start, record=record)
        return self._by_argv(start, record=record)

    # -- by rules --------------------------------------------------------------------

    def _by_rule(self, start: ProgramStart, *, record: bool) -> ChosenCassette:
        reasons = []
        for number, rule in enumerate(self.rules, 1):
            reason = why_not(rule, start) or self._refused(rule, start)
            if reason is None:
                return self._next_of(number, rule, start, record=record)
            reasons.append(f"rule {number} ({', '.join(rule.cassettes)}): {reason}")
        raise NotFoundError(
            f"no rule holds for {_shown(start)}\n" + "\n".join(reasons[:MAX_CANDIDATES]),
            where=str(self.place / RULES_FILE),
            hint="add a rule, or start the recorded program",
        )

    def _next_of(
        self, number: int, rule: LibraryRule, start: ProgramStart, *, record: bool
    ) -> ChosenCassette:
        used = self._starts.count(f"rule-{number}")
        if used >= len(rule.cassettes) and not rule.repeat:
            raise NotFoundError(
                f"rule {number} has {len(rule.cassettes)} sessions "
                f"({', '.join(rule.cassettes)}), and this is start {used + 1} of {_shown(start)}",
                where=str(self.place / RULES_FILE),
                hint="name more cassettes in the rule, or write 'repeat: true'",
            )
        name = rule.cassettes[used % len(rule.cassettes)]
        path = self._current(self._named(name))
        if not path.exists() and not record:
            raise NotFoundError(
                f"rule {number} names cassette {name!r}, which is not there",
                where=str(self.place),
                hint="record it, in mode auto or record",
            )
        return ChosenCassette(path=path, match=rule.match, order=rule.order, exists=path.exists())

    def _refused(self, rule: LibraryRule, start: ProgramStart) -> str | None:
        """Why the rule's predicate file refuses the start; None if it accepts or is not given."""
        if rule.predicate is None:
            return None
        path = self.place / self._inside(rule.predicate)
        if path.resolve() != self.place.resolve() / rule.predicate:
            raise UnsafeFileError(
                "a predicate that is a link, or behind one, is not run", where=str(path),
                hint="put the file itself into the library",
            )  # fmt: skip
        source = read_plain(path, max_bytes=MAX_YAML_BYTES, follow_links=False)
        names: dict[str, Any] = {"__name__": "ptycassette_predicate", "__file__": str(path)}
        try:
            exec(compile(source, str(path), "exec"), names)  # noqa: S102 - the library's own file, named by its rules
            said = names["holds"](start.program, start.args, start.cwd, dict(start.env))
        except Exception as exc:
            raise UsageError(
                f"the predicate fails: {type(exc).__name__}: {exc}", where=str(path),
                hint="it has a function holds(program, args, cwd, env) that returns a truth value",
            ) from exc  # fmt: skip
        return None if said else f"predicate {rule.predicate} says no"

    def _current(self, path: Path) -> Path:
        if self.pending is None:
            return path
        pending = self.pending / path.relative_to(self.place)
        return pending if pending.exists() or not path.exists() else path

    def to_record(self, path: Path) -> Path:
        """The path for a recording of that cassette."""
        if self.pending is None or path.is_relative_to(self.pending):
            return path
        return self.pending / path.relative_to(self.place)

    def _inside(self, name: str) -> Path:
        """A path within the library.

        Raises:
            UsageError: the path leaves the library.
        """
        parts = Path(name).parts
        if not parts or ".." in parts or Path(name).is_absolute():
            raise UsageError(f"{name!r} is not inside of the library", where=str(self.place))
        return Path(name)

    def _named(self, name: str) -> Path:
        """The path of a cassette. A name may omit ``.cassette``, and must stay in the library."""
        path = self.place / self._inside(name)
        if path.exists() or path.name.endswith(".cassette"):
            return path
        return path.with_name(f"{path.name}.cassette")

    # -- by the recorded arguments ---------------------------------------------------

    def _by_argv(self, start: ProgramStart, *, record: bool) -> ChosenCassette:
        meant, others = [], []
        for path in self._cassettes():
            reason = self._other_argv(path, start)
            if reason is None:
                meant.append(path)
            else:
                others.append(f"{path.name}: {reason}")
        if self._each:
            return self._next_start(start, meant, others, record=record)
        if len(meant) == 1:
            return ChosenCassette(path=meant[0])
        if meant:
            raise UsageError(
                f"{_shown(start)} was recorded {len(meant)} times: "
                + ", ".join(path.name for path in meant),
                where=str(self.place),
                hint=f"choose one, or their order, in {RULES_FILE}",
            )
        return self._missing(start, others, record=record)

    def _next_start(
        self, start: ProgramStart, meant: list[Path], others: list[str], *, record: bool
    ) -> ChosenCassette:
        """The cassette for this start, among those with the same arguments."""
        used = self._starts.count(f"start {_shown(start)}")
        meant = sorted(meant, key=lambda path: (len(path.name), path.name))
        if used < len(meant):
            return ChosenCassette(path=meant[used])
        only = meant[0] if len(meant) == 1 else None
        if only is not None and (self.pending is None or not only.is_relative_to(self.pending)):
            return ChosenCassette(path=only)  # recorded once, for every start
        if meant and not record:
            raise NotFoundError(
                f"{_shown(start)} was recorded {len(meant)} times, and this is start {used + 1}",
                where=str(self.place),
                hint="record again (mode rewrite), if one more start is meant",
            )
        return self._missing(start, others, record=record)

    def _missing(self, start: ProgramStart, others: list[str], *, record: bool) -> ChosenCassette:
        """The place of a recording to be made.

        Raises:
            NotFoundError: nothing is recorded in this mode.
        """
        if record:
            return ChosenCassette(path=self._new_path(start), exists=False)
        listed = "\n".join(others[:MAX_CANDIDATES]) or "the library is empty"
        raise NotFoundError(
            f"no cassette was recorded as {_shown(start)}\n{listed}",
            where=str(self.place),
            hint=f"record it (mode auto), or write rules ({RULES_FILE})",
        )

    def _other_argv(self, path: Path, start: ProgramStart) -> str | None:
        """Why a cassette was not recorded with the arguments of ``start``; None when it was."""
        try:
            with open_cassette(path, check="manifest", allow_unscrubbed=True) as cassette:
                argv = tuple(map(native_text, cassette.manifest.command.argv or ()))
                secrets = read_secrets(cassette.manifest, where=str(path))
        except CassetteError as exc:
            return f"cannot be opened: {exc.message}"
        named = bool(argv) and Path(argv[0]).name == start.program
        if named and start.has_args(argv[1:], concealed=False):
            return None
        if not (named and start.has_args(argv[1:], concealed=True)):
            return f"recorded as {visible(shlex.join(argv)) or 'nothing known'}"
        if self._secrets == "same" and secrets and not secrets.in_argv((argv[0], *start.args)):
            return "differs only in its secret (PTYCASSETTE_SECRETS=any takes it all the same)"
        return None

    def _cassettes(self) -> list[Path]:
        found = {path.parent.name: path.parent for path in self.place.glob("*/manifest.json")}
        if self.pending is not None:
            found.update((p.parent.name, p.parent) for p in self.pending.glob("*/manifest.json"))
        return [found[name] for name in sorted(found)]

    def _new_path(self, start: ProgramStart) -> Path:
        """A name for a new recording, made from the program and its arguments."""
        words = re.sub(r"[^\w.-]+", "-", "-".join([start.program, *start.shown])).strip("-.")
        stem = words[:60].strip("-.") or "session"
        path = self._current(self.place / f"{stem}.cassette")
        number = 2
        while path.exists() or (self._each and self._starts.count(f"name {path.name}")):
            path = self._current(self.place / f"{stem}-{number}.cassette")
            number += 1
        return path


def _shown(start: ProgramStart) -> str:
    return " ".join([start.program, *start.shown])
