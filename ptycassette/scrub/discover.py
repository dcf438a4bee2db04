"""What is known to be secret before anything is searched: environment, home, declared values.

Not every variable is a secret: replacing ``xterm`` and ``en_US`` everywhere
would destroy the recording. A value is taken when the variable's name says
so, when it looks generated, or when it is a URL with a password; JSON and PEM
values are taken apart first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ptycassette.model import SessionMeta
from ptycassette.scrub.identity_rules import PUBLIC_USERS, is_ordinary
from ptycassette.scrub.known import SHORTEST, KnownValue, is_random
from ptycassette.scrub.rules import Rule, RuleSet

__all__ = [
    "declared_values",
    "document_values",
    "environment_values",
    "identity_values",
    "secret_name",
]

_SECRET_NAME = re.compile(
    r"(?:^|[_.-]|(?<=[a-z]))(?:key|apikey|token|tokens|secret|secrets|pass|passwd|password|passphrase|pwd|"
    r"auth|authorization|credential|credentials|cookie|session|pat|psk|dsn|bearer|jwt|salt|signature|"
    r"private|refresh|access)(?=$|[_.\d-]|[A-Z])",
    re.IGNORECASE,
)
_PUBLIC_NAME = re.compile(
    r"(?:PATH|_PID|_SOCK|_FILE|_DIR|_HOME|_BUS_ADDRESS|SESSION_(?:TYPE|CLASS|DESKTOP|MANAGER)|_ID_FILE|"
    r"KEYMAP|KEYBOARD.*|MONKEY|TERM_SESSION_ID|XDG_SESSION_ID|SSH_AUTH_SOCK|SECURITYSESSIONID|"
    r"token_type|key_id|auth_mode|.*_type|.*_at|.*_expires(?:_in)?|scopes?)$",
    re.IGNORECASE,
)
_MODEL_NAME = re.compile(r"(?:^|_)model(?:_?(?:id|name))?$", re.IGNORECASE)
_USER_INFO = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://(?P<user>[^\s/:@]*):(?P<password>[^\s/@]+)@")
_PATHLIKE = re.compile(r"[~.]?/|[A-Za-z]:\\|.*/.*/|.*:/")
_BASE64 = re.compile(r"[A-Za-z0-9+/]{24,}={0,2}")
_FIRST_FOLDER = re.compile(r"/?[a-z]{3,10}/")
_WORD = re.compile(r"[A-Z]?[a-z]{3,}")
_IN_WORDS = 0.55
_HOSTS = ("HOSTNAME", "HOST", "COMPUTERNAME", "NAME")
_USERS = ("USER", "LOGNAME", "USERNAME", "SUDO_USER", "GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME")
_MAILS = ("EMAIL", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL", "DEBEMAIL")
_PUBLIC_HOSTS = frozenset(
    """
    localhost localhost.localdomain ubuntu debian fedora macbook
    """.split()  # noqa: SIM905 - a list of words reads better
)
_PUBLIC_FOLDERS = frozenset(
    """
    home users root tmp var usr opt etc app src code repo repos work workspace
    workspaces project projects private mnt srv data build github folders volumes
    documents desktop downloads dev git
    """.split()  # noqa: SIM905 - a list of words reads better
)
_HOMES = frozenset({"/home", "/users", "/export/home", "/var/home", "/usr/home"})
_LEAST_DEPTH = 2
_LEAST = 6


def secret_name(name: str) -> bool:
    """Whether a variable or key of this name usually holds a secret."""
    return bool(_SECRET_NAME.search(name)) and not _PUBLIC_NAME.search(name)


def declared_values(values: Iterable[str], *, rules: RuleSet) -> Iterator[KnownValue]:
    """Values that a caller declared secret, each also line by line.

    Raises:
        ValueError: a value too short to be told apart from ordinary text.
    """
    for value in values:
        if len(value.strip()) < SHORTEST:
            raise ValueError(
                f"a value of {len(value.strip())} characters cannot be scrubbed safely"
            )
        rule = _shape(value, rules)
        if rule is not None and rule.public:
            yield KnownValue(value, "declared", rule.placeholder, rule.public, pieces=True)
        else:
            yield from _lines(value, "declared", "<secret>")


def environment_values(
    environment: Mapping[str, str], *, allowlist: Iterable[str] = (), rules: RuleSet
) -> Iterator[KnownValue]:
    """The secrets among the values of an environment. Values of allowlisted names stay."""
    allowed = set(allowlist)
    for name, value in environment.items():
        if name in allowed or len(value) < _LEAST or _PUBLIC_NAME.search(name):
            continue
        yield from _value(name, value, rules)


def _value(name: str, value: str, rules: RuleSet) -> Iterator[KnownValue]:
    """What is secret about one named value."""
    match = _USER_INFO.match(value)
    if match:
        yield KnownValue(
            match["password"], "environment", "<password>", pieces=_random(match["password"])
        )
        return
    if value[:1] in "{[" and len(value) > _LEAST:
        try:
            document = json.loads(value)
        except ValueError:
            document = None
        if document is not None:
            yield from document_values(document, rules=rules)
            return
    rule = _shape(value, rules)
    if rule is not None:
        pieces = True if rule.public else None
        yield KnownValue(value, rule.name, rule.placeholder, rule.public, pieces=pieces)
    elif secret_name(name) and not _is_path(value) and not value.isdigit():
        yield from _lines(value, "environment", "<secret>")
    elif _MODEL_NAME.search(name):
        return  # claude-sonnet-4-5 looks random, and is on every screen of the CLI that it names
    elif is_random(value) and not _is_path(value) and " " not in value and len(value) >= 16:
        yield KnownValue(value, "environment", "<secret>")


def _is_path(value: str) -> bool:
    """Whether ``value`` names a place. Base64 has slashes too, and no words between them."""
    if not _PATHLIKE.match(value):
        return False
    if not _BASE64.fullmatch(value):
        return True
    words = sum(len(word) for word in _WORD.findall(value))
    return words >= _IN_WORDS * len(value) or bool(_FIRST_FOLDER.match(value))


def _shape(value: str, rules: RuleSet) -> Rule | None:
    """The rule that knows the shape of the whole value."""
    found = rules.find(value)
    if found and found[0].end - found[0].start == len(value) and found[0].rule.kind == "secret":
        return found[0].rule
    return None


def _random(value: str) -> bool:
    return is_random(value)


def _lines(value: str, rule: str, placeholder: str) -> Iterator[KnownValue]:
    """A value, or the lines of a value of several lines."""
    lines = [line.strip() for line in value.splitlines() if len(line.strip()) >= SHORTEST]
    for line in lines if len(lines) > 1 else [value.strip()]:
        if not line.startswith("-----"):
            yield KnownValue(line, rule, placeholder)


def document_values(document: Any, *, name: str = "", rules: RuleSet) -> Iterator[KnownValue]:
    """The secrets in a parsed configuration or credential document, told by their keys."""
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
    home = meta.home.rstrip("/")
    parent, _, last = home.rpartition("/")
    if parent.lower() in _HOMES:
        users.add(last)
    for user in sorted(users):
        if len(user) >= SHORTEST and user.lower() not in PUBLIC_USERS:
            yield KnownValue(
                user, "user-name", "<user>", pieces=False, word=True, named=is_ordinary(user)
            )
    for name in _MAILS:
        if "@" in environment.get(name, ""):
            yield KnownValue(environment[name], "email", "<email>", pieces=False)
    for name in _HOSTS:
        host = environment.get(name, "")
        if len(host) > SHORTEST and host.lower() not in _PUBLIC_HOSTS:
            named = is_ordinary(host) or host.lower() in PUBLIC_USERS
            yield KnownValue(host, "host-name", "<host>", pieces=False, word=True, named=named)
    if home.count("/") >= _LEAST_DEPTH and last.lower() not in PUBLIC_USERS:
        yield KnownValue(home, "home-path", "$HOME", pieces=False)
    yield from _folders(meta.cwd, home)


def _folders(cwd: str, home: str) -> Iterator[KnownValue]:
    """The folder of the session: what of it is nobody's business."""
    inside = cwd.removeprefix(f"{home}/") if home else cwd
    private = [part for part in inside.split("/") if part and part.lower() not in _PUBLIC_FOLDERS]
    if cwd.count("/") >= 2 and private:
        yield KnownValue(cwd, "worktree-path", "$PWD", pieces=False)
