"""Rules as plain data, and the search for the matches of many rules in one text.

All anchors of all rules are searched for in one native pass (``Literals``), and a rule's
pattern is tried only around its anchors. So a rule costs next to nothing where it finds nothing:
its pattern is not even compiled before one of its anchors occurs. A rule without anchors, or by
somebody else, is searched everywhere, by RE2.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Annotated, Literal

import msgspec

from ptycassette.errors import UsageError
from ptycassette.model.re2_engine import PatternError
from ptycassette.model.resolved_types import resolved
from ptycassette.model.toml_text import package_table, package_text, parse_toml, table_of
from ptycassette.scrub.match import Literals, Pattern
from ptycassette.scrub.rules.values import JUDGES, SECRET_NAMES, is_random

Kind = Literal["secret", "identity", "volatile"]


class RuleFields(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fields of a rule that a user may set, in code or in a file.

    Attributes:
        name: its name in reports. Several rules may share a name.
        pattern: a regular expression over canonical text. Its group ``s`` is what is scrubbed,
            or all of the match if there is no such group.
        anchors: strings. Every match contains one of them, in whatever case.
        kind: ``secret`` and ``identity`` are scrubbed, ``volatile`` only on demand.
        placeholder: the text that replaces a match in structured records.
        lead: how many characters before its anchor a match may begin.
        reach: how many characters after the beginning of its anchor a match may end.
        edge: a match must not follow a letter, a digit or ``_``.
        learn: the value found is removed wherever it, or a piece of it, occurs.
    """

    name: str
    pattern: str
    anchors: tuple[str, ...] = ()
    kind: Kind = "secret"
    placeholder: str = "<secret>"
    lead: int = 0
    reach: int = 400
    edge: bool = True
    learn: bool = True


class Rule(RuleFields, frozen=True, kw_only=True):
    """One rule. Its anchors are in lower case.

    Attributes:
        public: the number of characters at the beginning of a match that are not secret.
        after: a pattern for the text before a match, at most 200 characters.
        until: a pattern; the scrubbed text ends before it. For rows that were joined.
        then: a pattern for further values after a match, any number of times, as in a list.
        unless: a pattern; a text that it matches as a whole is left alone.
        accept: judges the text to be scrubbed, without its public beginning; False leaves it.
            It must depend on its argument alone, because its answers are cached.
        whole: the length of a complete match, 0 if it varies. A match that is complete in one row
            does not continue in the next row.
        linear: RE2 searches the pattern, in time linear in the text: for patterns that
            users wrote. ``lead`` and ``reach`` then have no effect.
    """

    public: int = 0
    after: str = ""
    until: str = ""
    then: str = ""
    unless: str = ""
    accept: Callable[[str], bool] | None = None
    whole: int = 0
    linear: bool = False

    @property
    def everywhere(self) -> bool:
        """Whether it is searched in the whole text, by RE2, not around anchors."""
        return self.linear or not self.anchors

    def check(self) -> None:
        """Compile the pattern, which otherwise happens when the first anchor is found.

        Raises:
            PatternError: it is not a valid regular expression.
        """
        if self.everywhere:
            Pattern(self.pattern).check()
            return
        try:
            re.compile(self.pattern, re.ASCII)
            re.compile(self.until)
            re.compile(self.after, re.ASCII)
            re.compile(self.then, re.ASCII)
        except re.error as exc:
            raise PatternError(f"not a regular expression: {self.pattern!r}: {exc}") from exc


class Found(msgspec.Struct, frozen=True):
    """Characters ``start`` to ``end`` of a text match ``rule``."""

    start: int
    end: int
    rule: Rule


_LONG_PREFIX = 4
_MOST_FURTHER = 1000
_MOST_BEFORE = 200
_MOST_JUDGED = 8192
_LONGEST_JUDGED = 520
_GAP_BEGINS = frozenset(("\xe2\x80", "..", "**"))
_TAIL = re.compile(r"(?:\xe2\x80\xa6|\.{2,}|\*{2,})([A-Za-z0-9+/_=-]{8,256})")


class _Search:
    """The search for one rule. Its patterns are compiled when they are first needed."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.name, self.reach, self.lead = rule.name, rule.reach, rule.lead

    @cached_property
    def match(self) -> Callable[[str, int, int], re.Match[str] | None]:
        """Matches the rule between two places of a text, at the first one."""
        return self._pattern.match

    @cached_property
    def _judged(self) -> Callable[[str], int]:
        return lru_cache(maxsize=_MOST_JUDGED)(self._judge)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(self.rule.pattern, re.ASCII)

    @cached_property
    def _group(self) -> str | int:
        return "s" if "s" in self._pattern.groupindex else 0

    @cached_property
    def _until(self) -> re.Pattern[str]:
        """A value ends before ESC, where a key or a control sequence begins, and before NUL."""
        return re.compile("[\x00\x1b]" + (self.rule.until and f"|{self.rule.until}"))

    def at(self, text: str, match: re.Match[str], *, loose: bool) -> Found | None:
        """The part to scrub of a match that begins with an anchor."""
        return self._found(text, match.start(), *match.span(self._group), loose=loose)

    def around(self, text: str, anchors: Sequence[int], *, loose: bool) -> Iterator[Found | None]:
        """The matches that contain one of the anchors at these (ascending) places.

        The text around anchors that are close together is searched once.
        """
        rule = self.rule
        number = 0
        while number < len(anchors):
            last = number
            while last + 1 < len(anchors) and anchors[last + 1] - anchors[last] < rule.reach:
                last += 1
            start, end = max(0, anchors[number] - rule.lead), anchors[last] + rule.reach
            for match in self._pattern.finditer(text, start, min(len(text), end)):
                held = bisect_left(anchors, match.start(), number, last + 1)
                if held <= last and anchors[held] < match.end():
                    span = match.span(self._group)
                    yield self._found(text, match.start(), *span, loose=loose)
            number = last + 1

    def further(self, text: str, end: int) -> Iterator[Found | None]:
        """The values after a match, as far as they follow each other."""
        for _ in range(_MOST_FURTHER):
            match = self._then.match(text, end)
            if match is None:
                return
            start, stop = match.span("s")
            length = self._judge(text[start:stop])
            yield Found(start, start + length, self.rule) if length else None
            end = match.end()

    @cached_property
    def _after(self) -> re.Pattern[str]:
        return re.compile(f"(?:{self.rule.after})\\Z", re.ASCII)

    @cached_property
    def _then(self) -> re.Pattern[str]:
        return re.compile(self.rule.then, re.ASCII)

    def everywhere(self, text: str, lower: str) -> Iterator[Found | None]:
        """All matches, by RE2."""
        anchors = self.rule.anchors
        if not anchors or any(anchor in lower for anchor in anchors):
            for first, start, end in Pattern(self.rule.pattern).matches(text, group="s"):
                yield self._found(text, first, start, end)

    def _found(
        self, text: str, first: int, start: int, end: int, *, loose: bool = False
    ) -> Found | None:
        """The part of ``text[start:end]`` to be scrubbed, of a match that begins at ``first``."""
        rule = self.rule
        before = text[max(0, first - 1) : first]
        if (
            (before.isalnum() or before == "_")
            and before.isascii()
            and rule.edge
            and not (loose and rule.public >= _LONG_PREFIX)
        ):
            return None
        if rule.after and not self._after.search(text, max(0, first - _MOST_BEFORE), first):
            return None
        short = end - start <= _LONGEST_JUDGED
        length = (self._judged if short else self._judge)(text[start:end])
        return Found(start, start + length, rule) if length else None

    @cached_property
    def _unless(self) -> re.Pattern[str]:
        return re.compile(self.rule.unless)

    def _judge(self, value: str) -> int:
        """The number of characters of ``value`` to scrub.

        The results for frequent values are cached.
        """
        over = self._until.search(value)
        value = value[: over.start()] if over else value
        rule, secret = self.rule, value[self.rule.public :]
        if rule.unless and self._unless.fullmatch(secret):
            return 0
        return len(value) if not rule.accept or (value and rule.accept(secret)) else 0


def _behind_gap(text: str, hit: Found) -> Found | None:
    """The end of an abbreviated secret, which follows its start and the dots."""
    if text[hit.end : hit.end + 2] not in _GAP_BEGINS or hit.rule.kind != "secret":
        return None
    tail = _TAIL.match(text, hit.end)
    return Found(tail.start(1), tail.end(), hit.rule) if tail and is_random(tail[1]) else None


class RuleSet:
    """Many rules, applied to one text after the other.

    Args:
        rules: any number. A wrong pattern raises when its anchor is first found, so check
            rules that somebody else wrote with ``Rule.check``.
    """

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = tuple(rules)
        self._everywhere = [_Search(rule) for rule in self.rules if rule.everywhere]
        self._by_anchor: dict[str, list[_Search]] = {}
        for search in (_Search(rule) for rule in self.rules if not rule.everywhere):
            for anchor in search.rule.anchors:
                self._by_anchor.setdefault(anchor, []).append(search)
        self._finder = Literals(self._by_anchor)

    def find(self, text: str, *, loose: bool = False) -> list[Found]:
        """All matches in canonical ``text``, in order. Matches of several rules may overlap.

        With ``loose``, any character may precede a token of a known prefix. That is for decoded
        text, where the character before a token is accidental.
        """
        found: list[Found | None] = []
        ends: dict[str, int] = {}
        leading: dict[_Search, list[int]] = {}
        lower, by_anchor = text.lower(), self._by_anchor
        for at, minus_length in self._finder.find(lower):
            for search in by_anchor[lower[at : at - minus_length]]:
                if search.lead:
                    leading.setdefault(search, []).append(at)
                elif not ends or at >= ends.get(search.name, 0):  # not inside of one of that name
                    match = search.match(text, at, at + search.reach)
                    hit = None if match is None else search.at(text, match, loose=loose)
                    if hit is not None:
                        ends[search.name] = hit.end
                        found.append(hit)
                    if match is not None and search.rule.then:
                        found += search.further(text, match.end())
        for search, anchors in leading.items():
            found += search.around(text, anchors, loose=loose)
        for search in self._everywhere:
            found += search.everywhere(text, lower)
        hits = [hit for hit in found if hit is not None]
        hits += [tail for hit in hits if (tail := _behind_gap(text, hit)) is not None]
        return sorted(hits, key=lambda hit: (hit.start, -hit.end, hit.rule.name, -hit.rule.public))


# Reads rules from the TOML files beside this module.


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
        # No ordinary word ends with a long prefix: any text may come before it.
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


# The user's own rules, secrets and exceptions: the table ``[scrub]`` of ``ptycassette.toml``.


_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}\Z")


class _Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    volatile: bool = False
    preserve: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    known_env: tuple[str, ...] = ()
    known_files: tuple[str, ...] = ()


class _Table(_Settings, frozen=True, kw_only=True):
    """The table ``[scrub]``."""

    rules: tuple[RuleFields, ...] = ()


class ScrubConfig(_Settings, frozen=True, kw_only=True):
    """The user's configuration: names of variables and files, never values."""

    rules: tuple[Rule, ...] = ()


def parse_config(text: str, *, where: str) -> ScrubConfig:
    """The configuration in ``text`` (TOML); other tables than ``[scrub]`` are not looked at.

    Args:
        text: the file.
        where: its name, for errors.

    Raises:
        UsageError: not TOML, an unknown key, a wrong type, a pattern that is not a regular
            expression.
    """
    try:
        tables = parse_toml(text)
    except ValueError as exc:
        raise UsageError(f"not TOML: {exc}", where=where) from exc
    return config_of(tables.get("scrub", {}), where=where)


def config_of(scrub: object, *, where: str) -> ScrubConfig:
    """The configuration in the table ``scrub``. Raises as ``parse_config``."""
    try:
        table = msgspec.convert(scrub, resolved(_Table))
    except msgspec.ValidationError as exc:
        raise UsageError(f"[scrub]: {exc}", where=where, hint="see docs/scrubbing.md") from exc
    rules = tuple(_own_rule(rule, where) for rule in table.rules)
    return ScrubConfig(**{**msgspec.structs.asdict(table), "rules": rules})


def _own_rule(fields: RuleFields, where: str) -> Rule:
    anchors = tuple(anchor.lower() for anchor in fields.anchors)
    rule = Rule(**{**msgspec.structs.asdict(fields), "anchors": anchors, "linear": True})
    if not _NAME.match(rule.name):
        raise UsageError(
            f"a rule is named {rule.name!r}",
            where=where,
            hint="use lower-case letters, digits and hyphens",
        )
    try:
        rule.check()
    except PatternError as exc:
        raise UsageError(f"rule {rule.name}: {exc}", where=where) from exc
    if "" in anchors or rule.lead < 0 or rule.reach < 1:
        raise UsageError(
            f"rule {rule.name}: anchors must not be empty, lead not negative, reach at least 1",
            where=where,
        )
    return rule
