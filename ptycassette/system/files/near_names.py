"""Suggest existing paths for a path that does not exist."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import islice
from pathlib import PurePath

_MOST_NAMES = 1000
"""More names of a directory are not looked at."""

_SUFFIX = ".cassette"

_LIKE = 0.7
"""Names with a ratio of ``difflib`` from here on look alike."""


def did_you_mean(path: str | os.PathLike[str]) -> str | None:
    """An existing path that looks like the missing ``path``; None if no path does.

    Each part that does not exist is compared with the names in its directory: without regard to
    case, with ``.cassette`` left out or added, and by the ratio of ``difflib``. An ending that
    both names have does not count.
    """
    text = os.fsdecode(path)
    if "\0" in text or os.path.lexists(text):
        return None
    place = os.sep if text.startswith(os.sep) else ""
    for part in text.split("/"):
        if part in {"", "."}:
            continue
        below = os.path.join(place, part)  # noqa: PTH118 - a path as the user writes it
        if part == ".." or os.path.lexists(below):
            place = below
            continue
        near = _near(part, place or os.curdir)
        if near is None:
            return None
        place = os.path.join(place, near)  # noqa: PTH118
    return place or None


def hint_for_missing(path: str | os.PathLike[str]) -> str:
    """The advice for a path that does not exist."""
    meant = did_you_mean(path)
    if meant is not None:
        return f"did you mean {meant}?"
    if os.path.isabs(path):  # noqa: PTH117
        return "check the path"
    return f"a relative path starts in {_here()}"


def _here() -> str:
    try:
        return os.getcwd()  # noqa: PTH109
    except OSError:
        return "the current directory, which was deleted"


def _near(name: str, folder: str) -> str | None:
    """The name in ``folder`` that is similar to ``name``."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in islice(entries, _MOST_NAMES)]
    except OSError:
        return None
    names = sorted(one for one in names if not one.startswith(".") or name.startswith("."))
    from difflib import SequenceMatcher  # noqa: PLC0415 - only an error needs it

    def likeness(one: str, spelled: Callable[[str], str]) -> float:
        given, other = spelled(name), spelled(one)
        ending = PurePath(given).suffix  # of many names in a folder, so it makes no two alike
        if ending and other.endswith(ending):
            given, other = given.removesuffix(ending), other.removesuffix(ending)
        both = SequenceMatcher(None, other, given)
        return both.ratio() if both.quick_ratio() >= _LIKE else 0.0  # as difflib: fast if unlike

    for spelled in (str.casefold, _stem):
        likely = {one: likeness(one, spelled) for one in names}
        near = max(names, key=likely.__getitem__, default="")
        if near and likely[near] >= _LIKE:
            return near
    return None


def _stem(name: str) -> str:
    return name.casefold().removesuffix(_SUFFIX)
