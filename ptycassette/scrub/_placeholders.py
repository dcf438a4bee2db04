"""Single texts: records, in which placeholders replace secrets, and rows, which are masked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from ptycassette.model.journal import Finished, HeadSecret, Noted, Probed, TapeMoment
from ptycassette.model.lazy_regex import lazy_pattern
from ptycassette.model.resolved_types import resolved
from ptycassette.scrub._mask import TEXT, mask
from ptycassette.scrub._patches import Patches
from ptycassette.scrub.match import canonical, plain
from ptycassette.scrub.tally import Tally

from .search._searcher import Match, Searcher
from .views._joined_lines import joined_lines
from .views._lines import line_of_text, panes
from .views._screen import view_of
from .views._structured import Names, members_of, rewrite, strings_of
from .views._view import View

# What continues the last name of a path; a full stop before a blank ends a sentence.
_SAME_NAME = lazy_pattern(r"\.?[A-Za-z0-9_\x80-\xff-]")
_OF_FINISHED = (
    *("metadata", "usage", "routing_actual", "session_log_path", "final_text", "failure"),
)


class Placeholders:
    """Rewrites records.

    Args:
        searcher: rules and known values.
        tally: counts what is replaced.

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
        """What would be replaced in the strings of a JSON value, in their order."""
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

        What spans several events is masked by ``patches``, whose offsets count the characters of
        all strings; the rest gets placeholders.
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
        """A payload with patches and placeholders."""
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
    """A stretch of a text: how it is shown, what it was, and the rule that replaced it, if any."""

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
