"""Regular expressions that somebody else wrote, which must not take for ever.

An expression such as ``(a+)+$`` takes twice as long for each further ``a``. The engine of the
standard library cannot be stopped, and RE2 knows no look-around; ``regex`` knows what ``re`` knows
and gives up after a while.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

from ptycassette.errors import UsageError
from ptycassette.model.visible import visible

if TYPE_CHECKING:
    from collections.abc import Callable

    import regex

__all__ = ["bounded_search", "bounded_sub", "regex_problem"]

LONGEST_S = 1.0
"""How long one search may take; what people write takes microseconds."""

MOST_CHARACTERS = 5000
MOST_PARTS = 20_000
"""``regex`` writes repetitions out: of ``a{1000000000}`` it would fill the memory."""
_PARTS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{(?P<count>\d+)(?:,\d*)?\}|.", re.DOTALL)

T = TypeVar("T")


def bounded_search(pattern: str, text: str, *, ignore_case: bool = False) -> bool:
    """Whether ``pattern`` is found in ``text``.

    Raises:
        UsageError: it takes too long, or is no regular expression.
    """
    compiled = _compiled(pattern, ignore_case=ignore_case)
    return _in_time(pattern, lambda: compiled.search(text, timeout=LONGEST_S)) is not None


def bounded_sub(pattern: str, replacement: str, text: str) -> str:
    """``text`` with every match of ``pattern`` replaced, as ``re.sub`` does.

    Raises:
        UsageError: as above, or the replacement is none (it names a group that is not there).
    """
    import regex  # noqa: PLC0415 - as below

    compiled = _compiled(pattern)
    try:
        return _in_time(pattern, lambda: compiled.sub(replacement, text, timeout=LONGEST_S))
    except (regex.error, IndexError) as exc:
        raise UsageError(f"no replacement for {visible(pattern)}: {visible(str(exc))}") from exc


def regex_problem(pattern: str) -> str | None:
    """Why ``pattern`` is no regular expression; None when it is one, and not too large."""
    if len(pattern) > MOST_CHARACTERS or _parts(pattern) > MOST_PARTS:
        return "too large or too deep"
    try:
        re.compile(pattern)
    except re.error as exc:
        return str(exc)
    except (OverflowError, RecursionError):  # a{4294967295}, or a thousand groups in each other
        return "too large or too deep"
    return None


def _parts(pattern: str) -> int:
    """How many parts the expression has with repetitions written out, or more than that."""
    open_groups, last = [0], 0
    for part in _PARTS.finditer(pattern):
        if part["count"] is not None:
            open_groups[-1] += last * (
                int(part["count"].lstrip("0")[:9]) - 1 if part["count"].strip("0") else 0
            )
        elif part[0] == "(":
            open_groups.append(0)
        elif part[0] == ")" and len(open_groups) > 1:
            last = open_groups.pop()
            open_groups[-1] += last
        else:
            last = 1
            open_groups[-1] += 1
    return sum(open_groups)


@lru_cache(maxsize=64)
def _compiled(pattern: str, *, ignore_case: bool = False) -> regex.Pattern[str]:
    import regex  # noqa: PLC0415 - a stand-in without such rules must not pay for it at start

    if (problem := regex_problem(pattern)) is not None:
        raise UsageError(f"no regular expression: {visible(pattern)}: {problem}")
    try:
        return regex.compile(pattern, regex.IGNORECASE if ignore_case else 0)
    except (regex.error, OverflowError, RecursionError) as exc:
        raise UsageError(f"no regular expression: {visible(pattern)}: {exc}") from exc


def _in_time(pattern: str, work: Callable[[], T]) -> T:
    try:
        return work()
    except TimeoutError as exc:
        raise UsageError(
            f"the regular expression takes longer than {LONGEST_S:g} s: {visible(pattern)}",
            hint="repetitions inside of repetitions, such as (a+)+, may take for ever",
        ) from exc
