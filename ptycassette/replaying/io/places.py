"""Where a cassette is that a test names by a relative path."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from ptycassette.cassette.layout import MANIFEST

_TEST_FILE = re.compile(r"test_.*\.py|.*_test\.py")
_MOST_FRAMES = 100


def folders_of_callers(depth: int = 1) -> tuple[tuple[Path, ...], bool]:
    """The folder of the test file that is calling, that of the direct caller; if in a test.

    Args:
        depth: which caller is the direct one: 1 for the caller of the function that asks.
    """
    frame = sys._getframe(depth + 1)  # noqa: SLF001 - inspect.stack() reads the source of each
    direct = frame.f_code.co_filename
    test = None
    for _ in range(_MOST_FRAMES):
        if _TEST_FILE.fullmatch(os.path.basename(frame.f_code.co_filename)):  # noqa: PTH119
            test = frame.f_code.co_filename
            break
        if frame.f_back is None:
            break
        frame = frame.f_back
    named = [name for name in (test, direct) if name is not None and os.path.isfile(name)]  # noqa: PTH113
    in_test = bool(named) and (test is not None or "PYTEST_CURRENT_TEST" in os.environ)
    return tuple(dict.fromkeys(Path(name).absolute().parent for name in named)), in_test


def found_path(
    path: Path, folders: Sequence[Path], *, in_test: bool
) -> tuple[Path, tuple[Path, ...]]:
    """The path of the cassette that is there, or of the one that is recorded, and where it may be.

    In a test, a new one is beside the test file, so that the same name in another folder is
    another cassette; if the path names a folder, the first that there is counts. Elsewhere it
    is in the current folder.

    Args:
        path: as the test names it.
        folders: searched first, if the path is relative.
        in_test: whether a test asks.
    """
    if path.is_absolute() or not folders:
        return path, ()
    places = tuple(dict.fromkeys((*(one / path for one in folders), path)))
    there = [one for one in places if os.path.lexists(one)]
    cassettes = [one for one in there if os.path.lexists(one / MANIFEST)]
    ready = [one for one in places if one.parent.is_dir()] if in_test else []
    new = folders[0] / path if in_test else path
    return next(iter((*cassettes, *there, *ready)), new), places


def folders_of(places: Sequence[Path]) -> str:
    """The folders of paths, as text."""
    return ", ".join(dict.fromkeys(str(one.absolute().parent) for one in places))
