"""Single texts: records, in which placeholders replace secrets, and rows, which are masked."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from json import JSONDecoder
from typing import Any, NamedTuple

import msgspec

from ptycassette.model.re2_engine import lazy_pattern
from ptycassette.model.records import Finished, HeadSecret, Noted, Probed, ScrubReport, TapeMoment
from ptycassette.model.resolved_types import resolved
from ptycassette.scrub.mask import TEXT, mask
from ptycassette.scrub.match import canonical, plain
from ptycassette.scrub.search.known import Match, Searcher
from ptycassette.scrub.views.structured import (
    Blocks,
    Messages,
    Names,
    members_of,
    rewrite,
    strings_of,
)
from ptycassette.scrub.views.view import View, joined_lines, line_of_text, panes, view_of

# Bytes to write over a channel: collected from many views, applied as the channel streams by.


_PAGE = 1 << 12
_CONTROLS = frozenset([*range(0x20), 0x7F])
_PATCH = re.compile(rb"[^\0]+")


class Patches:
    """The bytes to write at given offsets of one channel. Lengths and controls never change.

    Attributes:
        lowest: the lowest offset that was added since somebody set this to None.
        names: of the texts that hold patches, where a channel is made of several and they have one.
    """

    def __init__(self) -> None:
        self._pages: dict[int, bytearray] = {}  # 0 where nothing is to be written
        self.lowest: int | None = None
        self.names: set[str] = set()

    def __len__(self) -> int:
        return len(self._pages)

    def cover(self, patches: Iterable[tuple[int, bytes]]) -> bool:
        """Add bytes at offsets; earlier patches stay. False when nothing was new."""
        new = False
        for offset, data in patches:
            for number, at, part in _parts(offset, data):
                page = self._pages.get(number) or self._pages.setdefault(number, bytearray(_PAGE))
                for place, byte in enumerate(part, at):
                    if not page[place] and byte not in _CONTROLS:
                        page[place] = byte
                        new = True
                        first = number * _PAGE + place
                        if self.lowest is None or first < self.lowest:
                            self.lowest = first
        return new

    def touch(self, start: int, end: int) -> bool:
        """Whether a patch covers bytes between two offsets."""
        for number in range(start // _PAGE, end // _PAGE + 1) if self._pages else ():
            page = self._pages.get(number)
            if page is not None:
                base = number * _PAGE
                first, last = max(start - base, 0), min(end - base, _PAGE)
                if page.count(0, first, last) < last - first:
                    return True
        return False

    def apply(self, data: bytes, offset: int) -> bytes:
        """``data``, which starts at ``offset`` of the channel, with all patches applied.

        A control stays, and no byte becomes one.
        """
        if not self.touch(offset, offset + len(data)):
            return data
        out = []
        for number, at, part in _parts(offset, data):
            page = self._pages.get(number)
            out.append(part if page is None else _written(part, page, at))
        return b"".join(out)


def _written(data: bytes, page: bytearray, at: int) -> bytes:
    """``data`` with the patches of a page from ``at`` on."""
    changed = bytearray(data)
    for patch in _PATCH.finditer(page, at, at + len(data)):
        for place, byte in enumerate(patch.group(), patch.start() - at):
            if changed[place] not in _CONTROLS:
                changed[place] = byte
    return bytes(changed)


def _parts(offset: int, data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Split ``data`` at an offset into (page, offset in the page, bytes)."""
    done = 0
    while done < len(data):
        page, at = divmod(offset + done, _PAGE)
        part = data[done : done + _PAGE - at]
        yield page, at, part
        done += len(part)


# Counts the replacements by channel and rule, and makes the scrub report.


_MOST_EXPLAINED = 5000


class Replacement(msgspec.Struct, frozen=True):
    """One replacement: place, rule, form and length. Never the value.

    ``offset`` counts bytes of the channel; it is None where a channel has no bytes.
    """

    channel: str
    rule: str
    form: str
    offset: int | None
    length: int | None


class Tally:
    """The replacements in one session."""

    def __init__(self) -> None:
        self.channels: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.replacements: list[Replacement] = []

    @property
    def explains(self) -> bool:
        """Whether the next replacement can still be listed."""
        return len(self.replacements) < _MOST_EXPLAINED

    def count(
        self,
        channel: str,
        rule: str,
        *,
        form: str = "text",
        offset: int | None = None,
        length: int | None = None,
    ) -> None:
        """Count one replacement."""
        if self.explains:
            self.replacements.append(Replacement(channel, rule, form, offset, length))
        self.channels[channel][rule] += 1

    def report(
        self,
        *,
        rules: Iterable[str],
        env_allowlist: tuple[str, ...] = (),
        preserved: tuple[str, ...] = (),
    ) -> ScrubReport:
        """The report; ``clean`` when nothing was replaced."""
        totals: Counter[str] = Counter()
        for hits in self.channels.values():
            totals.update(hits)
        channels = {
            name: dict(sorted(hits.items())) for name, hits in sorted(self.channels.items())
        }
        return ScrubReport(
            status="redacted" if totals else "clean",
            rules=tuple(sorted(set(rules))),
            hit_counts=dict(sorted(totals.items())),
            env_allowlist=env_allowlist or msgspec.UNSET,
            intentionally_preserved=preserved or msgspec.UNSET,
            channels=channels or msgspec.UNSET,
        )


# What continues the last name of a path; a full stop before a blank ends a sentence.
_SAME_NAME = lazy_pattern(r"\.?[A-Za-z0-9_\x80-\xff-]")
_OF_FINISHED = (
    *("metadata", "usage", "routing_actual", "session_log_path", "final_text", "failure"),
)


class Placeholders:
    """Rewrites records.

    Args:
        searcher: rules and known values.
        tally: counts replacements.

    Attributes:
        counts: whether replacements are counted.
    """

    def __init__(self, searcher: Searcher, tally: Tally) -> None:
        self._searcher = searcher
        self._tally = tally
        self.counts = True

    def text(self, value: str, *, channel: str, names: Names | None = None) -> str:
        """One string; ``names`` are those around it in an object."""
        text = canonical(value)
        matches = list(self._searcher.each([value]))
        if names is not None:
            matches += self._searcher.search_member(names, value)
        if not matches:
            return value
        pieces = _spliced(text, matches)
        for piece in pieces if self.counts else ():
            if piece.rule:
                self._tally.count(channel, piece.rule)
        return plain("".join(piece.shown for piece in pieces))

    def head(self, head: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[HeadSecret, ...]]:
        """The head of a question, and the secrets in its target and in its headers.

        Only the first header of a name is looked at for these; the others are masked as well.
        """
        masked: dict[str, Any] = self.value(head, channel="tape")
        if masked is head:  # nothing in it is secret
            return masked, ()
        secrets: dict[str, tuple[HeadSecret, ...]] = {}
        for where, text in (("target", head.get("target")), *head.get("headers", ())):
            if isinstance(text, str) and where not in secrets:
                secrets[where] = self._secrets(where, text)
        return masked, tuple(one for found in secrets.values() for one in found)

    def _secrets(self, where: str, text: str) -> tuple[HeadSecret, ...]:
        raw = canonical(text)
        found: list[HeadSecret] = []
        at = 0
        for piece in _spliced(raw, list(self._searcher.search(raw))):
            if piece.rule:
                value = piece.was.encode("latin-1")
                found.append(HeadSecret(where, at, len(piece.shown), value))
            at += len(piece.shown)
        return tuple(found)

    def value(self, value: Any, *, channel: str) -> Any:
        """Every string in a JSON value, keys included, and numbers whose name is a secret's."""
        if self._is_clean(value, strings_of(value)):
            return value

        def member(names: Names, item: str | int) -> str | int:
            if isinstance(item, str):
                return self.text(item, channel=channel, names=names)
            return self._number(names, item, channel=channel)

        return rewrite(value, lambda text: self.text(text, channel=channel), member)

    def secrets(self, value: Any) -> list[str]:
        """The secrets in the strings of a JSON value that would be replaced, in their order."""
        found: list[str] = []

        def look(text: str, names: Names | None = None) -> str:
            raw = canonical(text)
            matches = list(self._searcher.search(raw))
            matches += self._searcher.search_member(names, text) if names is not None else ()
            found.extend(plain(piece.was) for piece in _spliced(raw, matches) if piece.rule)
            return text

        def member(names: Names, item: str | int) -> str | int:
            return look(item, names) if isinstance(item, str) else item

        rewrite(value, look, member)
        return found

    def _number(self, names: Names, value: int, *, channel: str) -> int:
        matches = list(self._searcher.search_member(names, value))
        for match in matches if self.counts else ():
            self._tally.count(channel, match.rule)
        return int("8" * len(str(abs(value)))) if matches else value

    def _is_clean(self, value: Any, strings: Iterable[tuple[str, str]]) -> bool:
        return next(self._searcher.each(text for _, text in strings), None) is None and not any(
            next(self._searcher.search_member(names, item), None)
            for names, item in members_of(value)
        )

    def noted(self, event: Noted, patches: Patches, offset: int) -> tuple[Noted, int]:
        """A service event with placeholders, and the offset after it.

        Secrets that span several events are masked by ``patches``, whose offsets count the
        characters of all strings; the rest gets placeholders.
        """
        strings = strings_of(event.payload)
        end = offset + sum(len(canonical(text)) for _, text in strings)
        payload = event.payload
        if patches.touch(offset, end) or not self._is_clean(payload, strings):
            payload = self._patched(payload, patches, offset)
        if isinstance(event, TapeMoment):
            head, secrets = self.head(event.head)
            if event.moment != "question":
                secrets = ()
            event = msgspec.structs.replace(
                event, payload=payload, head=head, dropped=(), secrets=secrets
            )
        elif payload is not event.payload:
            event = msgspec.structs.replace(event, payload=payload)
        return event, end

    def _patched(self, payload: Any, patches: Patches, offset: int) -> Any:
        at = offset

        def change(text: str, names: Names | None = None) -> str:
            nonlocal at
            raw = canonical(text)
            patched = patches.apply(raw.encode("latin-1"), at).decode("latin-1")
            at += len(raw)
            shown = plain(patched) if patched != raw else text
            return self.text(shown, channel="service-events", names=names)

        def member(names: Names, item: str | int) -> str | int:
            if isinstance(item, str):
                return change(item, names)
            return self._number(names, item, channel="service-events")

        return rewrite(payload, change, member)

    def probed(self, event: Probed) -> Probed:
        """The result of a probe with placeholders."""
        records: dict[str, Any] = {
            name: msgspec.convert(
                self.value(msgspec.to_builtins(record), channel=name), resolved(type(record))
            )
            for name, record in (("quota", event.quota), ("discovery", event.discovery))
            if record is not None
        }
        return Probed(event.t_us, **records)

    def finished(self, event: Finished) -> Finished:
        """The final record with placeholders."""
        changes = {
            name: self.value(getattr(event, name), channel="final")
            for name in _OF_FINISHED
            if getattr(event, name) is not None
        }
        return msgspec.structs.replace(event, **changes)

    def rows(self, rows: tuple[str, ...]) -> tuple[str, ...]:
        """The rows of a frame that another emulator made, masked cell for cell."""
        lines = []
        offset = 0
        for row in rows:
            text = canonical(row)
            lines.append(line_of_text(text, offset))
            offset += len(text) + 1
        view: View = view_of([pieces] for pieces in panes(lines))
        found = [(view, match) for match in self._searcher.search(view.text, shown=True)]
        joined = joined_lines(view, max(map(len, rows), default=0))
        if joined is not None:
            found += [(joined, match) for match in self._searcher.search_joined(joined)]
        patches = Patches()
        for where, match in found:
            patches.cover(where.masks(match.stretches, match.form))
            self._tally.count("frames", match.rule)
        masked = patches.apply(canonical("\n".join(rows)).encode("latin-1"), 0).decode("latin-1")
        return tuple(plain(masked).split("\n")) if found else rows


class _Piece(NamedTuple):
    """A stretch of a text: its shown form, its original, and the rule that replaced it, if any."""

    shown: str
    was: str
    rule: str = ""


def _spliced(text: str, matches: list[Match]) -> list[_Piece]:
    """The pieces of ``text``, with placeholders for plain secrets and masks for encoded ones.

    Secrets that overlap get the placeholder of the longest.
    A folder is named (``$PWD``) only where its path ends; what is beside it is masked.
    """
    spans = sorted(
        (*stretch, number, at)
        for at, match in enumerate(matches)
        for number, stretch in enumerate(match.stretches)
    )
    pieces: list[_Piece] = []
    at = 0
    while spans:
        start, end = spans[0][:2]
        group: list[tuple[int, int, int, int]] = []
        while spans and (not group or spans[0][0] < end):
            group.append(spans.pop(0))
            end = max(end, group[-1][1])
        *_, number, which = max(group, key=lambda span: span[1] - span[0])
        longest = matches[which]
        named = longest.placeholder if longest.form == TEXT and not number else ""
        if named.startswith("$") and _SAME_NAME.match(text, end):
            named = ""  # /x/work.py is beside /x/work: $PWD.py would be another file elsewhere
        was = text[start:end]
        pieces += [
            _Piece(text[at:start], text[at:start]),
            _Piece(named or mask(was, longest.form), was, longest.rule),
        ]
        at = end
    return [*pieces, _Piece(text[at:], text[at:])]


# Traffic with a provider, scrubbed as bytes: as many chunks, each as long as it was.


_PROVIDER = "provider"
_BLOCK = 1 << 20
_OVERLAP = 1 << 16
_DECODER = JSONDecoder(strict=False)
_BEGINS = lazy_pattern(r"[{\[\"]")
_TOKEN = lazy_pattern(
    r'"(?P<body>[^"\\]*+(?:\\[\s\S][^"\\]*+)*)"'
    r"|(?P<number>-?\d++(?:\.\d++)?)(?:[eE][+-]?\d++)?"
)
_ESCAPE = lazy_pattern(r"\\(?:u[0-9A-Fa-f]{4}|[\s\S])")
# JSON in a string of JSON: quotes are escaped, and the backslashes of escapes are doubled.
_ESCAPE_WITHIN = lazy_pattern(r"\\{1,2}u[0-9A-Fa-f]{4}|\\\\[bfnrt/]|\\[\s\S]")
_QUOTE_WITHIN = '\\"'
_DIGIT = lazy_pattern(r"\d")
_X = "u0078"


def scrubbed_traffic(searcher: Searcher, tally: Tally, chunks: Sequence[bytes]) -> list[bytes]:
    """``chunks`` with their secrets masked; JSON stays JSON."""
    patches = Patches()
    for again in (False, True):
        for view in traffic_views(chunks):
            matches = (
                searcher.search_again(view.text)
                if again
                else searcher.search(view.text, borders=view.borders)
            )
            for match in matches:
                if patches.cover(view.masks(match.stretches, match.form)):
                    tally.count(_PROVIDER, match.rule, form=match.form)
            searcher.adopt()
    if not len(patches):
        return list(chunks)
    whole = b"".join(chunks)
    masked = patches.apply(whole, 0).decode("latin-1")
    scrubbed = whole_json(whole.decode("latin-1"), masked).encode("latin-1")
    ends = [*accumulate(map(len, chunks), initial=0)]
    return [scrubbed[start:end] for start, end in pairwise(ends)]


def traffic_views(chunks: Sequence[bytes]) -> Iterator[View]:
    """The texts to search in one direction of traffic, or in one log: bytes, and their messages."""
    readers = (Blocks(lambda raw, base: (View(raw, base=base),), _BLOCK, _OVERLAP), Messages())
    for chunk in chunks:
        for reader in readers:
            yield from reader.feed(chunk)
    for reader in readers:
        yield from reader.rest()


def whole_json(raw: str, masked: str) -> str:
    """``masked``, with the JSON of ``raw`` repaired. Both are canonical text."""
    parts = []
    at = 0
    for start, end in _documents(raw):
        if raw[start:end] != masked[start:end]:
            parts += [masked[at:start], *_mended(raw, masked, start, end)]
            at = end
    return "".join([*parts, masked[at:]])


def _documents(raw: str) -> Iterator[tuple[int, int]]:
    """The JSON in ``raw``: all of it, or in each line the part from the first bracket on."""
    if _ends(raw, 0) == len(raw.rstrip()):
        yield 0, len(raw)
        return
    at = 0
    for line in raw.splitlines(keepends=True):
        begins = _BEGINS.search(line)
        if begins is not None:
            end = _ends(line, begins.start())
            if end is not None:
                yield at + begins.start(), at + end
        at += len(line)


def _ends(text: str, start: int) -> int | None:
    """The end of the value that begins at ``start``; None if no value begins there."""
    try:
        return _DECODER.raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        return None


def _mended(raw: str, masked: str, start: int, end: int) -> Iterator[str]:
    """The parts of one document: masked strings and numbers, the rest as in the original."""
    at = start
    for token in _TOKEN.finditer(raw, start, end):
        first, last = token.span("number" if token["body"] is None else "body")
        yield raw[at:first]
        if token["body"] is not None:
            yield from _string(raw, masked, first, last)
        elif raw[first:last] == masked[first:last]:
            yield raw[first:last]
        else:
            yield _DIGIT.sub("8", raw[first:last])
        at = last
    yield raw[at:end]


def _string(raw: str, masked: str, start: int, end: int) -> Iterator[str]:
    at = start
    escapes = _ESCAPE_WITHIN if raw.find(_QUOTE_WITHIN, start, end) >= 0 else _ESCAPE
    for escape in escapes.finditer(raw, start, end):
        first, last = escape.span()
        yield masked[at:first]
        was = escape.group()
        changed = was != masked[first:last]
        yield was[: -len(_X)] + _X if changed and len(was) > len(_X) else was
        at = last
    yield masked[at:end]
