"""Single texts: records, in which placeholders replace secrets, and rows, which are masked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from ptycassette.model import Finished, Noted, Probed, TapeMoment, lazy_pattern, resolved
from ptycassette.scrub._mask import TEXT, mask
from ptycassette.scrub._patches import Patches
from ptycassette.scrub.match import canonical, plain
from ptycassette.scrub.search import Match, Searcher
from ptycassette.scrub.tally import Tally
from ptycassette.scrub.views import (
    View,
    joined_lines,
    line_of_text,
    panes,
    rewrite,
    strings_of,
    view_of,
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
        tally: counts what is replaced.

    Attributes:
        counts: whether replacements are counted.
    """

    def __init__(self, searcher: Searcher, tally: Tally) -> None:
        self._searcher = searcher
        self._tally = tally
        self.counts = True

    def text(self, value: str, *, channel: str) -> str:
        """One string."""
        matches = list(self._searcher.each([value]))
        if not matches:
            return value
        text = canonical(value)
        masked, rules = _spliced(text, matches)
        for rule in rules if self.counts else ():
            self._tally.count(channel, rule)
        return plain(masked)

    def value(self, value: Any, *, channel: str) -> Any:
        """Every string in a JSON value, keys included."""
        if self._is_clean(strings_of(value)):
            return value
        return rewrite(value, lambda text: self.text(text, channel=channel))

    def _is_clean(self, strings: Iterable[tuple[str, str]]) -> bool:
        return next(self._searcher.each(text for _, text in strings), None) is None

    def noted(self, event: Noted, patches: Patches, offset: int) -> tuple[Noted, int]:
        """A service event with placeholders, and the offset after it.

        What spans several events is masked by ``patches``, whose offsets count the characters of
        all strings; the rest gets placeholders.
        """
        strings = strings_of(event.payload)
        end = offset + sum(len(canonical(text)) for _, text in strings)
        payload = event.payload
        if patches.touch(offset, end) or not self._is_clean(strings):
            payload = self._patched(payload, patches, offset)
        if isinstance(event, TapeMoment):
            head = self.value(event.head, channel="tape")
            event = msgspec.structs.replace(event, payload=payload, head=head, dropped=())
        elif payload is not event.payload:
            event = msgspec.structs.replace(event, payload=payload)
        return event, end

    def _patched(self, payload: Any, patches: Patches, offset: int) -> Any:
        """A payload with patches and placeholders."""
        at = offset

        def change(text: str) -> str:
            nonlocal at
            raw = canonical(text)
            patched = patches.apply(raw.encode("latin-1"), at).decode("latin-1")
            at += len(raw)
            return self.text(plain(patched) if patched != raw else text, channel="service-events")

        return rewrite(payload, change)

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


def _spliced(text: str, matches: list[Match]) -> tuple[str, list[str]]:
    """``text`` with placeholders for plain secrets and masks for encoded ones.

    Also returns the rule of each replacement. Overlapping ones get the placeholder of the longest.
    A folder is named (``$PWD``) only where its path ends; what is beside it is masked.
    """
    spans = sorted(
        (*stretch, number, at)
        for at, match in enumerate(matches)
        for number, stretch in enumerate(match.stretches)
    )
    parts: list[str] = []
    rules: list[str] = []
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
        parts += [text[at:start], named or mask(text[start:end], longest.form)]
        rules.append(longest.rule)
        at = end
    return "".join([*parts, text[at:]]), rules
