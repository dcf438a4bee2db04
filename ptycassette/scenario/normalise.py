"""Rewrites of volatile but harmless text, for comparison only; evidence stays as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ptycassette.model.bounded_regex import bounded_sub
from ptycassette.scenario.model import Normaliser

__all__ = ["BUILT_IN", "normaliser_of"]

# Braille, circle and star frames anywhere; the ASCII ones only where they stand alone.
_SPINNER = (
    r"[\u2800-\u28ff\u25d0-\u25d3\u25f4-\u25f7\u2722\u2733\u2736\u273b\u273d]"
    r"|(?<=\s)[|/\\-](?=\s)"
)
BUILT_IN: dict[str, tuple[str, str]] = {
    "clock": (r"\b\d{1,2}:\d{2}(?::\d{2})?(?:\.\d+)?(?:\s?[AaPp][Mm])?\b", "<clock>"),
    "date": (r"\b\d{4}-\d{2}-\d{2}\b", "<date>"),
    "duration": (r"\b\d+(?:\.\d+)?\s?(?:ms|s|m|h|d)\b(?:\s\d+(?:\.\d+)?\s?(?:ms|s|m)\b)*",
                 "<duration>"),
    "pid": (r"(?i)\b(pid[ :=#]*)\d+\b", r"\1<pid>"),
    "uuid": (r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b", "<uuid>"),
    "hex": (r"\b[0-9a-f]{7,64}\b", "<hex>"),
    "number": (r"\b\d+(?:[.,]\d+)*\b", "<number>"),
    "spinner": (_SPINNER, "<spinner>"),
    "space": (r"[ \t]+", " "),
    "path": (r"(?<![\w./~-])(?:~|/)[\w.@+-]*(?:/[\w.@+-]+)+/?", "<path>"),
    "tokens": (r"\b\d+(?:\.\d+)?[kKmM]?\s(?=tokens?\b)", "<number> "),
    "cost": (r"\$\d+(?:\.\d+)?", "<cost>"),
}  # fmt: skip
"""Name to pattern and replacement."""


def normaliser_of(
    names: Iterable[str], defined: Mapping[str, Normaliser] | None = None
) -> Callable[[str], str]:
    """A function that applies the named normalisers, in order.

    Raises:
        KeyError: a name that is neither built in nor defined.
    """
    steps = []
    for name in names:
        own = (defined or {}).get(name)
        pattern, replacement = (own.pattern, own.replace) if own else BUILT_IN[name]
        steps.append((pattern, replacement))

    def normalise(text: str) -> str:
        for pattern, replacement in steps:
            text = bounded_sub(pattern, replacement, text)
        return text

    return normalise
