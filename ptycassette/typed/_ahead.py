r"""Lines that were typed before the program asked for anything, and which prompt takes each.

Whoever pipes ``printf 'pass\n'`` into a recording sends the line at once. The terminal echoes it,
as the program has not switched that off yet; only then comes the prompt, and takes it. Prompts
take such lines in their order. A line that was typed at a prompt has been taken by that one.
"""

from __future__ import annotations

from collections import Counter

from ptycassette.model.lazy_regex import lazy_pattern
from ptycassette.typed._at_cursor import AtCursor
from ptycassette.typed._fields import row_asks

_MOST_LINES = 64
_OUTPUTS_LOOKED_AT = 64  # behind the last line
_PROMPT_ENDS = tuple(":?>=]›❯»$#%")  # noqa: RUF001
_LABEL = lazy_pattern(r".{0,160}?[:?>=\]›❯»：？＞](?=\s|$)")  # noqa: RUF001
"""What stands before the answer, where the program has read it by now."""


class TypedAhead:
    """The lines that no prompt has taken yet."""

    def __init__(self) -> None:
        self._lines: list[tuple[bytes, int]] = []
        self._prompts: Counter[str] = Counter()
        self._looks_left = 0
        self._last: tuple[bytes, int] | None = None

    @property
    def waiting(self) -> bool:
        """Whether a prompt that appears now may take a line, or ends the wait of another one."""
        return bool(self._lines or self._last) and self._looks_left > 0

    def add(self, line: bytes, number: int, at: AtCursor | None) -> None:
        """Remember a line that was typed where no prompt stood.

        Args:
            line: its keys, without Enter.
            number: of the event in which typing it began.
            at: the screen before it; its prompts have been answered. None when it is not known.
        """
        if len(self._lines) < _MOST_LINES:
            self._lines.append((line, number))
            self._looks_left = _OUTPUTS_LOOKED_AT
        if at is not None:
            self._prompts = Counter(_prompts(at))

    def forget(self) -> None:
        """Drop the lines typed so far: prompts are answered now, so they have been read."""
        self._lines.clear()
        self._last = None

    def taken(self, at: AtCursor) -> list[tuple[bytes, int]]:
        """The lines that new prompts take that ask for a secret, with their numbers."""
        self._looks_left -= 1
        before, self._prompts = self._prompts, Counter(_prompts(at))
        taken = []
        for prompt in _prompts(at):
            if before[prompt] > 0:
                before[prompt] -= 1
                continue
            self._last = self._lines.pop(0) if self._lines else None
            if self._last is not None and row_asks(prompt):
                taken.append(self._last)
        return taken

    def taken_unseen(self) -> list[tuple[bytes, int]]:
        """The line that the last prompt took, or that it is to take: it does not echo."""
        line = self._last or (self._lines[0] if self._lines else None)
        return [] if line is None else [line]


def _prompts(at: AtCursor) -> list[str]:
    """The prompts on a screen down to the cursor, from the top.

    A row above may hold the answer, too, where its prompt asks for a secret; any other text with a
    colon is no prompt.
    """
    found = []
    for row in at.rows[: at.row]:
        label = _LABEL.match(row)
        if label is not None and (label.group() == row.rstrip() or row_asks(label.group())):
            found.append(label.group())
    last = at.before.rstrip()
    label = _LABEL.match(last)
    if label is not None and row_asks(label.group()):
        found.append(label.group())
    elif last.endswith(_PROMPT_ENDS):
        found.append(last)
    return found
