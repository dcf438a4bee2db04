"""Where in a JSON body a rule applies: a small language of paths.

``metadata.user_id`` names members of objects, ``input[*].call_id`` any element of an array,
``input[0]`` the first, ``tools.*.description`` any member. A name with other signs than letters,
digits, ``_`` and ``-`` stands in double quotes. There is no step that means "at any depth": a rule
says where it applies.

Not JSONPath (RFC 9535), which the scenarios have: its expressions are evaluated over a decoded
document, and rules are applied to values while they are walked, all at once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

ANY: Final = "*"
"""Any element of an array, or any member of an object."""

Step = str | int | tuple[str]
"""``(name,)`` is a member, a number is an element, ``*`` is any."""

_STEP = re.compile(
    r"(?P<dot>\.)?(?:(?P<name>[\w-]+)|(?P<quoted>\"(?:[^\"\\]|\\.)*\")|(?P<any>\*))"
    r"|\[(?:(?P<index>\d{1,6})|(?P<each>\*))\]"
)
_PLAIN = re.compile(r"[\w-]+")


def parse_path(path: str) -> tuple[Step, ...]:
    """The steps of a path.

    Raises:
        ValueError: it is not one.
    """
    steps: list[Step] = []
    at = 0
    while at < len(path):
        step = _STEP.match(path, at)
        member = step is not None and step["index"] is None and step["each"] is None
        if step is None or (member and bool(step["dot"]) != bool(steps)):
            raise ValueError(f"not a path at character {at + 1}: '{path}' (such as input[*].id)")
        steps.append(_step(step))
        at = step.end()
    return tuple(steps)


def _step(step: re.Match[str]) -> Step:
    if step["index"] is not None:
        return int(step["index"])
    if step["name"] is not None:
        return (step["name"],)
    if step["quoted"] is not None:
        try:
            return (json.loads(step["quoted"]),)
        except ValueError as wrong:
            raise ValueError(f"not a name: {step['quoted']}") from wrong
    return ANY


def shown_path(steps: tuple[str | int, ...]) -> str:
    """A place in a document, as a path shows it: names and numbers."""
    shown = ""
    for step in steps:
        if isinstance(step, int):
            shown += f"[{step}]"
        else:
            name = step if _PLAIN.fullmatch(step) else json.dumps(step)
            shown += f".{name}" if shown else name
    return shown


class PathTree:
    """Many paths as a tree, walked along with a document. ``rules`` apply where a walk is here."""

    def __init__(self) -> None:
        self._next: dict[Step, PathTree] = {}
        self.rules: list[int] = []

    def add(self, path: tuple[Step, ...], rule: int) -> None:
        """Have a rule apply at a path."""
        here = self
        for step in path:
            here = here._next.setdefault(step, PathTree())
        here.rules.append(rule)

    def step(self, step: str | int) -> Iterator[PathTree]:
        """Where a member or an element leads."""
        named: Step = (step,) if isinstance(step, str) else step
        for way in (named, ANY):
            if way in self._next:
                yield self._next[way]
