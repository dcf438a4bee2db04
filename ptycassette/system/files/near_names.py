"""Suggest existing paths for a path that does not exist."""

from __future__ import annotations

import os
from itertools import islice

_MOST_NAMES = 1000
"""More names of a directory are not looked at."""

_SUFFIX = ".cassette"


def did_you_mean(path: str | os.PathLike[str]) -> str | None:
    """An existing path that looks like the missing ``path``; None if no path does.

    Each part that does not exist is compared with the names in its directory: without regard to
    case, with ``.cassette`` left out or added, and as ``difflib`` finds close matches.
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
    from difflib import get_close_matches  # noqa: PLC0415 - only an error needs it

    for spelled in (_whole, _stem):
        spellings = {spelled(one): one for one in reversed(names)}
        near = get_close_matches(spelled(name), spellings, n=1, cutoff=0.7)
        if near:
            return spellings[near[0]]
    return None


def _whole(name: str) -> str:
    return name.casefold()


def _stem(name: str) -> str:
    return name.casefold().removesuffix(_SUFFIX)
