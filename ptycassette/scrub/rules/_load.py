"""Reads rules from the TOML files beside this module.

A file holds up to four kinds of entries::

    [fragments]               # pieces of patterns: {{uuid}} in a pattern is replaced by one
    tokens                    # a text, a line for each shape: name prefixes alphabet count whole
    ambiguous-tokens          # the same, for prefixes that names in code begin with too
    [[rule]]                  # everything else: the fields of ``Rule``, and test vectors

A line of tokens is a name, any number of prefixes, and what follows them: the name of an alphabet
(``[alphabets]``) and a count (``24+``, ``24-32``, ``40``), or a regular expression without
blanks. ``whole``, behind a count, is how many characters providers hand out today, where that is
always the same: the row below does not continue such a token. ``accept`` names a judge
(``_judges``). ``finds`` and ``stands`` are texts of which the rule finds exactly what is between
``«`` and ``»``, or nothing; ``{alnum:36}`` is generated when the tests run, so that no file holds
anything that looks like a credential.

Where the shapes come from: what providers publish about their tokens (GitHub "Behind GitHub's
new authentication token formats"; GitLab "Token overview"; AWS IAM "Understanding unique ID
prefixes"; Slack "Token types"; Stripe "API keys"; npm "About access tokens"; PyPI "What is a PyPI
token"; Microsoft "Common annotated security keys"; RFC 7519 for JWT), and key pages of model
providers. Counts are lower bounds, well below what is handed out: providers change lengths
without notice, and a token that a row cut off is a secret as well. Checksums are not verified:
a mistyped token on a screen is still nobody's business.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Annotated

import msgspec

from ptycassette._tables import package_table, package_text, table_of
from ptycassette.model.resolved_types import resolved
from ptycassette.scrub.rules._judges import JUDGES
from ptycassette.scrub.rules._names import SECRET_NAMES
from ptycassette.scrub.rules._rule_set import Kind, Rule, RuleFields

_COUNT = re.compile(r"(?P<least>\d+)(?:(?P<more>\+)|-(?P<most>\d+))?\Z")
_WHOLE = re.compile(r"\d\+ +\d+ *\Z")
_AT_LEAST = re.compile(r"(?P<class>\[[^]]+\])\{(?P<least>\d+),\d*\}\Z")
_FRAGMENT = re.compile(r"\{\{([a-z-]+)\}\}")
_REACH_OF_TOKENS = 2048
_SHORTEST_WITH_DOTS = 10
_SHORT_PREFIX = 4


class Entry(RuleFields, frozen=True, kw_only=True):
    """One ``[[rule]]``: the fields of a rule, and its test vectors."""

    pattern: str | tuple[str, ...]  # type: ignore[assignment]
    finds: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    stands: tuple[str, ...] = ()
    kind: Kind | None = None  # type: ignore[assignment]
    public: int = 0
    after: str = ""
    until: str = ""
    then: str = ""
    unless: str = ""
    accept: str = ""


class RuleFile(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"
):
    """One file of rules. ``kind`` applies to all of them."""

    kind: Kind = "secret"
    fragments: dict[str, str | tuple[str, ...]] = {}
    alphabets: dict[str, str] = {}
    tokens: str = ""
    ambiguous_tokens: str = ""
    rule: tuple[Entry, ...] = ()


def read_file(text: str, *, where: str) -> RuleFile:
    """Parse a file.

    Raises:
        ValueError: it is not TOML, or an entry has a wrong field; the message names the entry.
    """
    try:
        document = table_of(text)
    except msgspec.DecodeError as exc:
        raise ValueError(f"{where}: not TOML: {exc}") from exc
    try:
        return msgspec.convert(document, resolved(RuleFile))
    except msgspec.ValidationError as exc:
        for number, entry in enumerate(document.get("rule", ()), 1):
            try:
                msgspec.convert(entry, resolved(Entry))
            except msgspec.ValidationError as wrong:
                name = entry.get("name", f"number {number}") if isinstance(entry, dict) else number
                raise ValueError(f"{where}: rule {name}: {wrong}") from wrong
        raise ValueError(f"{where}: {exc}") from exc


def read_rules(text: str, *, where: str) -> tuple[Rule, ...]:
    """The rules of a file, in the order in which they are tried.

    Raises:
        ValueError: as ``read_file``; or a judge, an alphabet or a fragment is unknown, a prefix
            is there twice, or a line of tokens has no prefix. The message names the entry.
    """
    file = read_file(text, where=where)
    tokens = list(_tokens(file, file.tokens, where))
    ambiguous = list(_tokens(file, file.ambiguous_tokens, where))
    return (
        *(_token(*token) for token in tokens),
        *(_token(*token, accept=JUDGES["generated-tail"]) for token in ambiguous),
        *(rule for token in tokens for rule in _with_dots(*token)),
        *(_rule(file, entry, where) for entry in file.rule),
    )


def _tokens(file: RuleFile, lines: str, where: str) -> Iterator[tuple[str, str, str, int]]:
    """Name, prefix, pattern of the rest and whole length, for each prefix of each line."""
    owners: dict[str, str] = {}
    for line in lines.splitlines():
        if not line or line.startswith("#"):
            continue
        name, *prefixes = line.split()
        whole = int(prefixes.pop()) if _WHOLE.search(line) else 0
        body = prefixes.pop() if prefixes else ""
        count = _COUNT.match(body)
        if count is not None and prefixes:
            alphabet = prefixes.pop()
            if alphabet not in file.alphabets:
                raise ValueError(
                    f"{where}: {name}: there is no alphabet {alphabet!r} in {line!r};"
                    " a line is: name, prefixes, alphabet, length (24+, or 24-40), whole length"
                )
            most = "," + (count["most"] or "") if count["more"] or count["most"] else ""
            body = f"[{file.alphabets[alphabet]}]{{{count['least']}{most}}}"
        if not prefixes:
            raise ValueError(f"{where}: {name}: no prefix in {line!r}")
        for prefix in prefixes:
            if prefix in owners:
                raise ValueError(
                    f"{where}: {name}: the prefix {prefix!r} is in {owners[prefix]} already"
                )
            owners[prefix] = name
            yield name, prefix, body, len(prefix) + whole if whole else 0


def _token(
    name: str, prefix: str, body: str, whole: int, *, accept: Callable[[str], bool] | None = None
) -> Rule:
    return Rule(
        name=name,
        pattern=re.escape(prefix) + body,
        anchors=(prefix.lower(),),
        placeholder=f"<{name}>",
        public=0 if "(?P<s>" in body else len(prefix),
        # No ordinary word ends with a long prefix: anything may stand before it.
        edge=len(prefix) <= _SHORT_PREFIX or prefix.isalpha(),
        reach=_REACH_OF_TOKENS,
        accept=accept,
        whole=whole,
    )


def _with_dots(name: str, prefix: str, body: str, whole: int) -> Iterator[Rule]:
    """A rule for the start of a token that is abbreviated with dots."""
    least = _AT_LEAST.match(body)
    if least and int(least["least"]) > _SHORTEST_WITH_DOTS:
        short = f"{least['class']}{{{_SHORTEST_WITH_DOTS},{int(least['least']) - 1}}}"
        body = f"{short}(?=\xe2\x80\xa6|\\.\\.)"
        yield _token(name, prefix, body, whole, accept=JUDGES["random-with-digits"])


def _rule(file: RuleFile, entry: Entry, where: str) -> Rule:
    def expanded(text: str | tuple[str, ...]) -> str:
        return _FRAGMENT.sub(fragment, text if isinstance(text, str) else "".join(text))

    def fragment(match: re.Match[str]) -> str:
        if match[1] == "secret-names":
            return SECRET_NAMES
        if match[1] not in file.fragments:
            raise ValueError(f"{where}: rule {entry.name}: there is no fragment {match[1]!r}")
        return expanded(file.fragments[match[1]])

    if entry.accept and entry.accept not in JUDGES:
        raise ValueError(f"{where}: rule {entry.name}: there is no judge {entry.accept!r}")
    fields = msgspec.structs.asdict(entry)
    del fields["finds"], fields["stands"]
    return Rule(
        **{
            **fields,
            "pattern": expanded(entry.pattern),
            "anchors": tuple(anchor.lower() for anchor in entry.anchors),
            "kind": entry.kind or file.kind,
            "after": expanded(entry.after),
            "until": expanded(entry.until),
            "then": expanded(entry.then),
            "unless": expanded(entry.unless),
            "accept": JUDGES.get(entry.accept),
        }
    )


@lru_cache
def _rules_of(name: str) -> tuple[Rule, ...]:
    return read_rules(package_text(__package__, f"{name}.toml"), where=f"{name}.toml")


def provider_rules() -> tuple[Rule, ...]:
    """The rules on tokens that providers hand out."""
    return _rules_of("provider")


def secret_rules() -> tuple[Rule, ...]:
    """The built-in rules on secrets, without those on identities."""
    return (*provider_rules(), *_rules_of("context"), *_rules_of("keys"))


def default_rules(*, volatile: bool = False) -> tuple[Rule, ...]:
    """The built-in rules; with ``volatile`` also those on clocks, counters and the like."""
    rules = (*secret_rules(), *_rules_of("identity"))
    return (*rules, *_rules_of("volatile")) if volatile else rules


def credential_files() -> dict[str, list[str]]:
    """Files of tools that may hold secrets, below the ``home`` and in the work folder (``cwd``)."""
    return package_table(__package__, "files.toml")
