"""One text with placeholders for what stands plainly in it, and masks for what is encoded."""

from __future__ import annotations

import msgspec

from ptycassette.scrub.mask import TEXT, mask
from ptycassette.scrub.search import Match

__all__ = ["spliced"]


class Group(msgspec.Struct):
    """Overlapping stretches, and what stands for them: the longest one's placeholder."""

    start: int
    end: int
    longest: int
    form: str
    placeholder: str
    rule: str


def spliced(text: str, matches: list[Match]) -> tuple[str, list[str]]:
    """``text`` with placeholders for what stands plainly in it, masks for what is encoded.

    Also returns the rule of each replacement.
    """
    spans = sorted(
        (
            (start, end, number, match)
            for match in matches
            for number, (start, end) in enumerate(match.stretches)
        ),
        key=lambda span: span[:3],
    )
    groups: list[Group] = []
    for start, end, number, match in spans:
        placeholder = "" if number else match.placeholder
        if not groups or start >= groups[-1].end:
            group = Group(start, end, end - start, match.form, placeholder, match.rule)
            groups.append(group)
            continue
        group = groups[-1]
        if end - start > group.longest:
            group.longest, group.form = end - start, match.form
            group.placeholder, group.rule = placeholder, match.rule
        group.end = max(group.end, end)
    parts = []
    at = 0
    for group in groups:
        plain_there = group.form == TEXT and group.placeholder
        masked = mask(text[group.start : group.end], group.form)
        parts += [text[at : group.start], group.placeholder if plain_there else masked]
        at = group.end
    return "".join([*parts, text[at:]]), [group.rule for group in groups]
