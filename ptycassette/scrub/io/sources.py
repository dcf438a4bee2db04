"""Secrets in files: credentials of agent CLIs and of the tools that they call.

Read when a session is to be scrubbed, so that a token that a CLI prints is known
by value whatever its shape. Only small regular files that belong to the user are read.
A file that cannot be read is skipped: most of them do not exist.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ptycassette.model.lazy_regex import lazy_pattern
from ptycassette.profiles.io import credentials_of_clis
from ptycassette.scrub.discover import document_values, environment_values
from ptycassette.scrub.rules._load import credential_files, secret_rules
from ptycassette.scrub.rules._names import secret_name
from ptycassette.scrub.rules._rule_set import RuleSet
from ptycassette.scrub.rules._values import is_plain_data
from ptycassette.scrub.search._known import SHORTEST_KNOWN, KnownValue

MAX_FILE_BYTES = 1 << 20

_PAIR = lazy_pattern(
    r"^\s*(?:export\s+)?[\"']?([A-Za-z0-9_.:/-]+)[\"']?\s*[:=]\s*(.+?)\s*$", re.MULTILINE
)
_PGPASS = lazy_pattern(r"[^#](?:(?:[^:\\]|\\.)*:){4}(?P<password>.+)")
_ESCAPED = lazy_pattern(r"\\(.)")


def credential_values(
    home: Path, cwd: Path, *, env: Mapping[str, str] | None = None
) -> Iterator[KnownValue]:
    """The secrets in known credential files below ``home`` and in ``.env`` files of ``cwd``.

    Known are those of tools, and what profiles name, the user's own too (``env`` says where these
    lie; below ``home`` when None).

    Raises:
        UsageError, UnreadableError, UnsafeFileError, LimitError: a profile of the user's own is
            wrong or cannot be read; it may name files that hold secrets.
    """
    clis = credentials_of_clis({"HOME": str(home)} if env is None else env)
    rules = RuleSet(secret_rules())
    tools = credential_files()
    for path in dict.fromkeys(
        (
            *(home / name for name in tools["home"]),
            *(home / name for cli in clis for name in cli.home),
            *(cwd / name for name in tools["cwd"]),
            *(cwd / name for cli in clis for name in cli.cwd),
        )
    ):
        text = _read(path)
        if text is not None:
            yield from _values(path, text, rules)


def file_lines(path: Path) -> tuple[str, ...]:
    """The lines of a file that holds nothing but secrets; empty when it cannot be read."""
    text = _read(path) or ""
    return tuple(line.strip() for line in text.splitlines() if len(line.strip()) >= SHORTEST_KNOWN)


def _read(path: Path) -> str | None:
    """A small regular file as text."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        return None
    with os.fdopen(fd, "rb") as file:
        try:
            data = file.read(MAX_FILE_BYTES + 1)
        except OSError:
            return None
    return data.decode("utf-8", "replace") if len(data) <= MAX_FILE_BYTES else None


def _values(path: Path, text: str, rules: RuleSet) -> Iterator[KnownValue]:
    """The secrets in one file."""
    passwords = _PASSWORDS.get(path.name)
    if passwords is not None:
        for password in passwords(path, text):
            if len(password) >= SHORTEST_KNOWN and not is_plain_data(password, name="password"):
                yield KnownValue(password, "credential-file", "<password>")
        return
    try:
        document: Any = json.loads(text)
    except (ValueError, RecursionError):
        document = None
    if isinstance(document, (dict, list)):
        yield from document_values(document, rules=rules)
        return
    if path.name == "token":
        yield from (KnownValue(line, "credential-file") for line in file_lines(path))
        return
    pairs = dict(_pairs(text))
    yield from environment_values(pairs, rules=rules)
    for found in rules.find(text) if text.isascii() else ():
        value = text[found.start : found.end]
        if found.rule.public or not is_plain_data(value, name="password"):
            yield KnownValue(
                value, found.rule.name, found.rule.placeholder, public=found.rule.public
            )


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    """Names and values in an INI, YAML or ``.env`` file, read line by line."""
    import configparser  # noqa: PLC0415 - most have no such file

    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
        sections: Mapping[str, Mapping[str, str]] = parser
        for section in sections.values():
            yield from section.items()
    except configparser.Error:
        pass
    for name, value in _PAIR.findall(text):
        short = name.rsplit(":", 1)[-1].lstrip("_")
        if secret_name(short):
            yield short, _unquoted(value)


def _unquoted(value: str) -> str:
    """A value without its quotes, and without the comment behind it."""
    if value[:1] in ('"', "'"):
        closed = len(value) > 1 and value[-1] == value[0]
        return value[1:-1] if closed else value[1:].partition(value[0])[0]
    return value.partition(" #")[0].rstrip()


def _netrc(path: Path, _text: str) -> Iterator[str]:
    import netrc  # noqa: PLC0415 - as above

    try:
        hosts = netrc.netrc(str(path)).hosts.values()
    except (OSError, netrc.NetrcParseError):
        return
    yield from (password or "" for _, _, password in hosts)


def _pgpass(_path: Path, text: str) -> Iterator[str]:
    """Passwords of PostgreSQL: host:port:database:user:password, with backslashes (libpq)."""
    for fields in map(_PGPASS.fullmatch, text.splitlines()):
        yield "" if fields is None else _ESCAPED.sub(r"\1", fields["password"])


_PASSWORDS = {".netrc": _netrc, ".pgpass": _pgpass}
