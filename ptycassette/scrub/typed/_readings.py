"""The texts that the keys of one line may have typed.

We cannot see which keys the program obeyed. So a line is read in several ways: as typed, with
rubout and kill keys applied (``text_of_line``), with cursor keys applied (``edited_text``), and
as it was each time before a part of it was removed: a part may be rubbed out and typed again.
"""

from __future__ import annotations

from collections.abc import Iterator

from ptycassette.keys.reader import REMOVING, edited_text, typed_keys
from ptycassette.keys.reader import typed_text as typed_in_line
from ptycassette.model.re2_engine import lazy_pattern

SHORTEST_TYPED = 3
"""Characters; fewer cannot be distinguished from ordinary text at all."""

_SHORTEST_REMOVED = 4
_EDITING = lazy_pattern(rb"[\x00-\x1f\x7f]")


def readings(line: bytes) -> Iterator[str]:
    """The texts that the keys of one line may have typed, none twice, the likeliest first."""
    raw = line.decode("latin-1")
    if _EDITING.search(line):
        edited = edited_text(raw)
        texts = [
            text_of_line(line, editing=True),
            *(() if edited is None else _plain(edited.text).split("\n")),
            *_removed(raw),
            text_of_line(line, editing=False),
        ]
    else:
        texts = [_plain(raw)]
    found: dict[str, None] = {}
    for text in texts:
        for value in (text, text.strip()):
            if len(value.strip()) >= SHORTEST_TYPED and set(value) != {"*"}:
                found[value] = None
    return iter(found)


def _removed(raw: str) -> Iterator[str]:
    """The line each time before a part of it was removed."""
    chars = ""
    for at, (char, places) in enumerate(keys := [*typed_keys(raw, base=0)]):
        if not places:
            continue
        if char not in REMOVING:
            chars += char
            continue
        before = at == 0 or keys[at - 1][0] not in REMOVING
        text = _plain(chars)
        if before and len(text) >= _SHORTEST_REMOVED:
            yield text
        chars = typed_in_line(chars + char).text


def text_of_line(line: bytes, *, editing: bool) -> str:
    """The text that the keys typed; with ``editing`` rubout and kill keys are applied."""
    if not _EDITING.search(line):
        return _plain(line.decode("latin-1"))
    return _plain(typed_in_line(line.decode("latin-1"), editing=editing).text)


def _plain(canonical: str) -> str:
    """The text in bytes shown as characters, without control characters."""
    text = canonical.encode("latin-1").decode("utf-8", "surrogateescape")
    return "".join(char for char in text if (char >= " " and char != "\x7f") or char == "\n")
