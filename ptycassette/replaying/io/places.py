"""Where a cassette is that a test names by a relative path."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from ptycassette.cassette import MANIFEST

_TEST_FILE = re.compile(r"test_.*\.py|.*_test\.py")
_MOST_FRAMES = 100


def folders_of_callers(depth: int = 1) -> tuple[Path, ...]:
    """The folder of the test file that is calling, and that of the direct caller.

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
    return tuple(dict.fromkeys(Path(name).absolute().parent for name in named))


def found_path(path: Path, folders: Sequence[Path]) -> Path:
    """The path of the cassette that is there; a new one is in the current folder.

    Args:
        path: as the test names it.
        folders: searched first, if the path is relative.
    """
    if path.is_absolute() or not folders:
        return path
    there = [one for one in _candidates(path, folders) if os.path.lexists(one)]
    cassettes = [one for one in there if os.path.lexists(one / MANIFEST)]
    return next(iter((*cassettes, *there)), path)


def searched_folders(path: Path, folders: Sequence[Path]) -> str:
    """The folders in which a relative path was searched, as text; empty for an absolute one."""
    if path.is_absolute():
        return ""
    candidates = _candidates(path, folders)
    return ", ".join(dict.fromkeys(str(one.absolute().parent) for one in candidates))


def _candidates(path: Path, folders: Sequence[Path]) -> Sequence[Path]:
    return [*(folder / path for folder in folders), path]
