"""Which lines of a traceback a failed test shows: its own, not ours."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from traceback import walk_tb
from types import TracebackType
from typing import Any

import pytest

from ptycassette.errors import CassetteError, DivergenceError

_PACKAGE = Path(__file__).parent.parent
_STANDARD_LIBRARY = Path(contextlib.__file__).parent


def leave_our_frames_out(call: pytest.CallInfo[Any]) -> None:
    """For an error that we raised, show only the test's lines, not ours.

    Causes are left out as well, unless user code, such as a hook, took part in one.
    """
    if call.excinfo is None or not isinstance(call.excinfo.value, CassetteError):
        return
    frames = []
    frame: TracebackType | None = call.excinfo.tb
    while frame is not None:
        frames.append(frame)
        frame = frame.tb_next
    paths = [Path(frame.tb_frame.f_code.co_filename) for frame in frames]
    while len(paths) > 1 and is_ours(paths[-1]):
        paths.pop()
    if not {"_pytest", "pluggy"} & set(paths[-1].parts):
        # pytest builds its list from these, so these must be cut.
        frames[len(paths) - 1].tb_next = None
        call.excinfo.traceback = type(call.excinfo.traceback)(call.excinfo.tb)
    if all(is_ours(path) for path in _files_of_causes(call.excinfo.value)):
        call.excinfo.value.__cause__, call.excinfo.value.__suppress_context__ = None, True


def _files_of_causes(error: BaseException) -> Iterator[Path]:
    """The files in the tracebacks of an error's causes."""
    cause = error.__cause__ or error.__context__
    if cause is not None:
        for frame, _ in walk_tb(cause.__traceback__):
            yield Path(frame.f_code.co_filename)
        yield from _files_of_causes(cause)


def name_the_end(call: pytest.CallInfo[Any], report: pytest.TestReport) -> None:
    """Show no source line for an error that was found after the test's body: there is none."""
    if call.excinfo is None or not isinstance(call.excinfo.value, DivergenceError):
        return
    paths = [Path(str(entry.path)) for entry in call.excinfo.traceback]
    if all(is_ours(path) or {"_pytest", "pluggy"} & set(path.parts) for path in paths):
        report.longrepr = f"when the body of the test was over:\n{call.excinfo.value}"


def is_ours(path: Path) -> bool:
    """Whether a file belongs to this package, or to the standard library, which it calls."""
    if path.is_relative_to(_PACKAGE):
        return True
    return path.is_relative_to(_STANDARD_LIBRARY) and "site-packages" not in path.parts


def code_under_test(excinfo: pytest.ExceptionInfo[BaseException]) -> list[Any]:
    """The lines that are neither ours nor a library's, the innermost one last.

    Lines without a source are left out, such as those of the modules frozen into Python.
    """
    return [
        entry
        for entry in excinfo.traceback
        if entry.frame.code.fullsource is not None
        and not is_ours(Path(str(entry.path)))
        and not {"site-packages", "_pytest", "pluggy"} & set(Path(str(entry.path)).parts)
    ]
