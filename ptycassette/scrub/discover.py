"""What is known to be secret before anything is searched: environment, home, declared values.

Not every variable is a secret: replacing ``xterm``, ``en_US`` or a date everywhere would destroy
the recording. A value is taken when its name says so, or when it looks generated, and never when
it is ordinary data (``is_plain_data``); of a URL its password is taken. JSON and PEM values are
taken apart first.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ptycassette.model.journal import SessionMeta
from ptycassette.model.lazy_regex import lazy_pattern

from .rules._names import WORDS, is_ordinary, is_public_name, secret_name
from .rules._rule_set import Rule, RuleSet
from .rules._values import is_plain_data, is_random, looks_torn_off
from .search._known import SHORTEST_KNOWN, KnownValue

_MODEL_NAME = lazy_pattern(r"(?:^|_)model(?:_?(?:id|name))?$", re.IGNORECASE)
_USER_INFO = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]*://(?P<user>[^\s/:@]*):(?P<password>[^\s/@]+)@")
_URL = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]*://\S+\Z")
_SCHEME = lazy_pattern(r"\A(?i:bearer|basic|token) +(?=\S+\Z)")  # RFC 9110 11.1
_HOSTS = ("HOSTNAME", "HOST", "COMPUTERNAME", "NAME")
_USERS = ("USER", "LOGNAME", "USERNAME", "SUDO_USER", "GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME")
_MAILS = ("EMAIL", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL", "DEBEMAIL")
_HOMES = frozenset({"/home", "/users", "/export/home", "/var/home", "/usr/home"})
_LEAST_DEPTH = 2
_LEAST = 6
_GENERATED = 16
_SHORTEST_BEGUN = 4
_LONGEST_BEGUN = 32  # longer pieces are found by the value itself


def declared_values(values: Iterable[str], *, rules: RuleSet) -> Iterator[KnownValue]:
    """Values that a caller declared secret: each whole, and each of its lines.

    Raises:
        ValueError: a value too short to be told apart from ordinary text.
    """
    for value in values:
        if len(value.strip()) < SHORTEST_KNOWN:
            raise ValueError(
                f"a value of {len(value.strip())} characters cannot be scrubbed safely"
            )
        rule = _shape(value, rules)
        if rule is not None and rule.public:
            yield KnownValue(value, "declared", rule.placeholder, rule.public, pieces=True)
        else:
            for line in _lines(value):
                yield KnownValue(line, "declared", "<secret>")
                yield from (
                    KnownValue(text, "declared", "<secret>", pieces=False) for text in _cases(line)
                )


def begun_values(values: Iterable[str], *, rules: RuleSet) -> Iterator[KnownValue]:
    """What shows while a value is typed into a field that is painted anew with each key.

    As words, and only what reads as no word itself: the first letters of a pass phrase are one.
    """
    for value in values:
        rule = _shape(value, rules)
        shortest = _SHORTEST_BEGUN + (0 if rule is None else rule.public)
        for end in range(shortest, min(len(value), _LONGEST_BEGUN)):
            if value[end - 1] != " " and looks_torn_off(value[:end]):
                yield KnownValue(value[:end], "declared", word=True)


def _cases(value: str) -> Iterator[str]:
    """A value as programs write it in capitals and in small letters; not one of words."""
    if len(value) >= _LEAST and any(map(str.isdigit, value)):
        yield from (text for text in (value.upper(), value.lower()) if text != value)


def environment_values(
    environment: Mapping[str, str], *, allowlist: Iterable[str] = (), rules: RuleSet
) -> Iterator[KnownValue]:
    """The secrets among the values of an environment. Values of allowlisted names stay."""
    allowed = set(allowlist)
    for name, value in environment.items():
        if not (name in allowed or len(value) < _LEAST or is_public_name(name)):
            yield from _value(name, value, rules)


def _value(name: str, value: str, rules: RuleSet) -> Iterator[KnownValue]:
    """The secret parts of one named value."""
    value = _SCHEME.sub("", value)
    user = _USER_INFO.match(value)
    document = None if user or value[:1] not in "{[" else _parsed(value)
    rule = _shape(value, rules)
    if user:
        password = user["password"]
        if not is_plain_data(password, name="password"):
            yield KnownValue(password, "environment", "<password>", pieces=is_random(password))
    elif document is not None:
        yield from document_values(document, rules=rules)
    elif rule is not None:
        pieces = True if rule.public else None
        yield KnownValue(value, rule.name, rule.placeholder, rule.public, pieces=pieces)
    elif _URL.match(value):  # the secrets in its query; the rest is not secret
        for found in (found for found in rules.find(value) if found.rule.kind == "secret"):
            text = value[found.start : found.end]
            yield KnownValue(text, found.rule.name, found.rule.placeholder, found.rule.public)
    elif _MODEL_NAME.search(name):
        return  # whatever it looks like, it is on every screen of the CLI that it names
    elif secret_name(name) or (len(value) >= _GENERATED and is_random(value) and " " not in value):
        lines = _lines(value) if secret_name(name) else [value]
        for line in (line for line in lines if not is_plain_data(line, name=name)):
            yield KnownValue(line, "environment", "<secret>")
            yield from _encoded(line)


def _encoded(value: str) -> Iterator[KnownValue]:
    """The password in Base64, as Docker and npm store it, alone or behind a user's name."""
    try:
        text = b64decode(value, validate=True).decode("ascii")
    except ValueError:
        return
    password = text.partition(":")[2] or text
    if (
        text.isprintable()
        and len(password) >= _LEAST
        and not is_plain_data(password, name="password")
    ):
        yield KnownValue(password, "environment", "<password>", pieces=is_random(password))


def _parsed(value: str) -> Any:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def _shape(value: str, rules: RuleSet) -> Rule | None:
    """The rule that knows the shape of the whole value."""
    found = rules.find(value)
    if found and found[0].end - found[0].start == len(value) and found[0].rule.kind == "secret":
        return found[0].rule
    return None


def _lines(value: str) -> list[str]:
    """A value, or the lines of a value of several lines."""
    lines = [line.strip() for line in value.splitlines() if len(line.strip()) >= SHORTEST_KNOWN]
    lines = lines if len(lines) > 1 else [value.strip()]
    return [line for line in lines if not line.startswith("-----")]


def document_values(document: Any, *, name: str = "", rules: RuleSet) -> Iterator[KnownValue]:
    """The secrets in a parsed configuration or credential file, recognised by their keys."""
    if isinstance(document, Mapping):
        for key, item in document.items():
            yield from document_values(item, name=str(key), rules=rules)
    elif isinstance(document, (list, tuple)):
        for item in document:
            yield from document_values(item, name=name, rules=rules)
    elif isinstance(document, str) and len(document) >= _LEAST:
        yield from _value(name, document, rules)


def identity_values(meta: SessionMeta) -> Iterator[KnownValue]:
    """Names of the user, the host, and folders that the session ran in."""
    environment = meta.environment
    users = {environment.get(name, "") for name in _USERS}
    homes = [home.rstrip("/") for home in (meta.home, meta.user_home) if home]
    for home in homes:
        parent, _, last = home.rpartition("/")
        if parent.lower() in _HOMES:
            users.add(last)
    for user in sorted(users):
        if len(user) >= SHORTEST_KNOWN and user.lower() not in WORDS["public-users"]:
            yield KnownValue(
                user, "user-name", "<user>", pieces=False, word=True, named=is_ordinary(user)
            )
    for name in _MAILS:
        if "@" in environment.get(name, ""):
            yield KnownValue(environment[name], "email", "<email>", pieces=False)
    for name in _HOSTS:
        host = environment.get(name, "")
        if len(host) > SHORTEST_KNOWN and host.lower() not in WORDS["public-hosts"]:
            named = is_ordinary(host) or host.lower() in WORDS["public-users"]
            yield KnownValue(host, "host-name", "<host>", pieces=False, word=True, named=named)
    for home in homes:
        last = home.rpartition("/")[2]
        if home.count("/") >= _LEAST_DEPTH and last.lower() not in WORDS["public-users"]:
            yield KnownValue(home, "home-path", "$HOME", pieces=False)
    yield from _folders(meta.cwd, homes)


def _folders(cwd: str, homes: Iterable[str]) -> Iterator[KnownValue]:
    """The parts of the session's working directory that identify the user."""
    inside = cwd
    for home in homes:
        inside = inside.removeprefix(f"{home}/")
    private = [
        part for part in inside.split("/") if part and part.lower() not in WORDS["public-folders"]
    ]
    if cwd.count("/") >= 2 and private:
        yield KnownValue(cwd, "worktree-path", "$PWD", pieces=False)


class NamedFolders:
    """The folders of a session as arguments name them: ``$PWD`` and ``$HOME``.

    Elsewhere a folder that everybody may have (``/app``) is no secret and stays as it is. An
    argument is compared in a replay, which may run in another folder.

    Args:
        meta: the head of the session.
        scrub: replaces the secrets in a text, as it does in an argument before it gets here.

    Attributes:
        program: what was run; its path stays as it is.
    """

    def __init__(self, meta: SessionMeta, scrub: Callable[..., str]) -> None:
        self.program = meta.argv[0] if meta.argv else ""
        self._folders: list[tuple[str, str, str]] = []
        named = ((meta.cwd, "$PWD", "worktree-path"), (meta.home, "$HOME", "home-path"))
        for folder, name, rule in named:
            path = folder.rstrip("/") or folder
            if path.startswith("/"):
                spellings = {path, scrub(path, channel="folders")} - {name}
                self._folders += [(spelling, name, rule) for spelling in spellings]
        # The deeper one first; the sort is stable, so that a session in the home folder is in $PWD.
        self._folders.sort(key=lambda folder: -len(folder[0]))

    def named(self, word: str) -> tuple[str, list[str]]:
        """An argument with its folders named, and the rule of each."""
        rules: list[str] = []
        for path, name, rule in self._folders:
            end = r"\Z" if path == "/" else r"(?=/|[\s\"',:;]|\Z)"
            found = re.compile(rf"(\A|\A-[A-Za-z]|[=:,\s\"'@]){re.escape(path)}{end}")
            word, count = found.subn(rf"\g<1>{name}", word)
            rules += [rule] * count
        return word, rules
