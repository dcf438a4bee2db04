"""Builds a scrubber from the built-in rules, plug-ins, the configuration and files."""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ptycassette.errors import CassetteError, NotFoundError, UsageError
from ptycassette.model.re2_engine import lazy_pattern
from ptycassette.model.toml_text import MAX_TOML_BYTES
from ptycassette.model.visible_text import visible
from ptycassette.profiles.io import credentials_of_clis
from ptycassette.scrub._finding import document_values, environment_values
from ptycassette.scrub.rules.rule_set import (
    Rule,
    RuleSet,
    ScrubConfig,
    config_of,
    credential_files,
    parse_config,
    secret_rules,
)
from ptycassette.scrub.rules.values import is_plain_data, secret_name
from ptycassette.scrub.search.known import SHORTEST_KNOWN, KnownValue
from ptycassette.scrub.session import SessionScrubber, default_scrubber
from ptycassette.system.files.project_file import find_project
from ptycassette.system.files.state_dirs import current_dir, home_dir
from ptycassette.system.files.whole_file import read_plain

# Whether any installed package announces entry points of a group, without importlib.metadata.
#
# Loading importlib.metadata costs 20 ms of processor time in every recording, and nearly always it
# finds none. Where it might find more than we can (packages in archives, import hooks of others)
# the answer is yes: then ask it.


_METADATA = (".dist-info", ".egg-info")


def announced(group: str, path: Iterable[str] | None = None) -> bool:
    """Whether ``importlib.metadata.entry_points(group=group)`` may find something.

    Args:
        group: the group's name.
        path: where packages lie; ``sys.path`` when None.
    """
    heading = f"[{group}]".encode()
    if path is None and any(_may_know_more(finder) for finder in sys.meta_path):
        return True
    return any(_announced_in(Path(place or "."), heading) for place in path or sys.path)


def _may_know_more(finder: object) -> bool:
    """Whether a finder may find packages other than by their directories on the path."""
    module = getattr(finder, "__module__", type(finder).__module__)
    return hasattr(finder, "find_distributions") and not module.startswith("_frozen_importlib")


def _announced_in(place: Path, heading: bytes) -> bool:
    if place.is_file():
        return True  # an archive
    try:
        with os.scandir(place) as entries:
            found = [entry.path for entry in entries if entry.name.endswith(_METADATA)]
    except OSError:
        return False
    for folder in found:
        try:
            if heading in Path(folder, "entry_points.txt").read_bytes():
                return True
        except OSError:
            continue
    return False


# Secrets in files: credentials of agent CLIs and of the tools that they call.


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

    Known files are those of common tools and those that profiles name, including the user's own
    profiles (``env`` gives their place; below ``home`` when None).

    Raises:
        UsageError, UnreadableError, UnsafeFileError, LimitError: one of the user's own profiles is
            wrong or cannot be read; it may name files with secrets.
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
    """A value without its quotes, and without the comment after it."""
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


CONFIG_VARIABLE = "PTYCASSETTE_SCRUB_CONFIG"
PLUGIN_GROUP = "ptycassette.scrub_rules"
"""Entry points that name a ``Rule``, several, or a function that returns several."""


def load_config(path: Path | None = None, *, cwd: Path | None = None) -> ScrubConfig:
    """The configuration: ``path``, else ``$PTYCASSETTE_SCRUB_CONFIG``, else the project file.

    Raises:
        NotFoundError: a file that was named is not there.
        UnreadableError, UnsafeFileError, LimitError: it cannot be read.
        UsageError: it has an unknown key, a wrong type or a wrong pattern.
    """
    named = path or (Path(found) if (found := os.environ.get(CONFIG_VARIABLE)) else None)
    if named is None:
        project = find_project(cwd)
        if project.scrub is None:
            return ScrubConfig()
        return config_of(project.scrub, where=visible(str(project.where)))
    try:
        text = read_plain(named, max_bytes=MAX_TOML_BYTES).decode("utf-8")
    except UnicodeDecodeError as exc:
        raise UsageError("not UTF-8", where=visible(str(named))) from exc
    return parse_config(text, where=visible(str(named)))


def plugin_rules() -> Iterator[Rule]:
    """Rules of installed packages, through the entry points ``ptycassette.scrub_rules``.

    Raises:
        UsageError: a plug-in cannot be loaded, or gives a wrong pattern or no rules; scrubbing
            without the rules that somebody installed would be worse than not scrubbing.
    """
    if not announced(PLUGIN_GROUP):
        return
    from importlib.metadata import entry_points  # noqa: PLC0415 - it costs 20 ms of each recording

    for entry in sorted(entry_points(group=PLUGIN_GROUP), key=lambda entry: entry.name):
        try:
            loaded = entry.load()
            given = loaded() if callable(loaded) and not isinstance(loaded, Rule) else loaded
            rules = (given,) if isinstance(given, Rule) else tuple(given)
            for rule in rules:
                rule.check()
        except Exception as exc:
            raise UsageError(
                f"the scrub plug-in {visible(entry.name)} failed: {visible(str(exc))}"
            ) from exc
        yield from rules


def known_lines(path: Path) -> tuple[str, ...]:
    """The lines of a file that was declared secret; none when it is not there.

    Raises:
        UnreadableError, UnsafeFileError, LimitError: it is there and cannot be read; without it
            what is secret would be published.
    """
    try:
        read_plain(path, max_bytes=MAX_FILE_BYTES)
    except NotFoundError:
        return ()
    except CassetteError as exc:
        exc.hint = exc.hint or "it was declared secret: known_files, --known-file"
        raise
    return file_lines(path)


def session_scrubber(
    *,
    known: Iterable[str] = (),
    typed: Iterable[KnownValue] = (),
    volatile: bool = False,
    config: ScrubConfig | None = None,
    environment: Mapping[str, str] | None = None,
    home: Path | None = None,
    cwd: Path | None = None,
) -> SessionScrubber:
    """A scrubber for one session that knows the secrets of this machine.

    Args:
        known: values declared secret.
        typed: the secrets that were typed in the session.
        volatile: also scrub clocks, PIDs and the like.
        config: the result of ``load_config``; loaded when None.
        environment: the variables in which ``known_env`` is looked up; this process's when None.
        home: the directory of credential files and, unless XDG_CONFIG_HOME is set, of the user's
            own profiles; the user's home when None.
        cwd: the directory of ``.env`` files; the current directory when None.

    Raises:
        UsageError: the configuration, a plug-in or one of the user's own profiles is wrong.
        UnreadableError, UnsafeFileError, LimitError: as ``known_lines``.
    """
    here = cwd or current_dir()
    configured = load_config(cwd=here) if config is None else config
    variables = os.environ if environment is None else environment
    declared = [
        *known,
        *(
            variables[name]
            for name in configured.known_env
            if len(variables.get(name, "")) >= SHORTEST_KNOWN
        ),
        *(line for name in configured.known_files for line in known_lines(Path(name).expanduser())),
    ]
    house = home or _home()
    env = {**os.environ, "HOME": str(house)}
    values = [*typed, *credential_values(house, here, env=env)]
    return default_scrubber(
        known=declared,
        volatile=volatile or configured.volatile,
        values=values,
        rules=(*configured.rules, *plugin_rules()),
        preserved=configured.preserve,
        without=configured.without,
    )


def _home() -> Path:
    return home_dir() or Path(os.devnull)  # where nothing can be
