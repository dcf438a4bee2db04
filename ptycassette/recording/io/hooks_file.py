"""A file of hooks: Python code with ``before_record(event)`` and ``matches(sent, recorded)``.

For recorders and stand-ins in separate processes, which cannot be passed a function. The file
is executed: it is part of the tests that name it, and only a command line or a test can name one.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from ptycassette.errors import UsageError
from ptycassette.recording.hooks import BeforeRecord
from ptycassette.system.files.whole_file import read_plain

_MAX_BYTES = 1 << 20


class Hooks(NamedTuple):
    """The functions of a file of hooks; None if the file has no function of that name."""

    before_record: BeforeRecord | None = None
    matches: Callable[[str, str], bool] | None = None


def load_hooks(path: str | Path) -> Hooks:
    """The hooks in a file, which is executed.

    Raises:
        CassetteError: it cannot be read.
        UsageError: it fails, or has none of the functions.
    """
    source = read_plain(path, max_bytes=_MAX_BYTES)
    names: dict[str, Any] = {"__name__": "ptycassette_hooks", "__file__": str(path)}
    try:
        exec(compile(source, str(path), "exec"), names)  # noqa: S102 - named by a command or a test
    except Exception as exc:
        raise UsageError(f"the hooks fail: {type(exc).__name__}: {exc}", where=str(path)) from exc
    found = {name: names.get(name) for name in Hooks._fields}
    if not any(map(callable, found.values())):
        raise UsageError(
            "there are no hooks in it", where=str(path),
            hint="define before_record(event) or matches(sent, recorded)",
        )  # fmt: skip
    before_record, matches = found["before_record"], found["matches"]
    return Hooks(
        before_record=before_record if callable(before_record) else None,
        matches=_matcher(matches, str(path)) if callable(matches) else None,
    )


def _matcher(matches: Callable[..., Any], where: str) -> Callable[[str, str], bool]:
    def checked(sent: str, recorded: str) -> bool:
        try:
            return bool(matches(sent, recorded))
        except Exception as exc:
            raise UsageError(f"matches fails: {type(exc).__name__}: {exc}", where=where) from exc

    return checked
