"""How a session is started: the size of its terminal and the environment of its program."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Literal

from ptycassette.model.geometry import Size
from ptycassette.model.streams import StreamKinds
from ptycassette.system.pty.terminal import DEFAULT_SIZE

__all__ = [
    "CLEAN_NAMES",
    "DEFAULT_SIZE",
    "PIPES",
    "StreamChoice",
    "child_environment",
    "kinds_named",
    "size_given",
    "words_given",
]

PIPES = StreamKinds(stdin="pipe", stdout="pipe", stderr="pipe")

StreamChoice = Literal["terminal", "pipes"] | StreamKinds

CLEAN_NAMES = (
    "HOME",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
)
"""What a clean environment keeps, besides every ``LC_*``: what programs need to find their files
and the user's language, and nothing that holds a credential or names the outer terminal."""

_OF_THE_OUTER_TERMINAL = ("COLUMNS", "LINES", "TERMCAP")


def kinds_named(streams: StreamChoice) -> StreamKinds:
    """The kinds of the program's streams.

    Raises:
        ValueError: it is an unknown word, or a kind that only a caller can give.
    """
    match streams:
        case "terminal":
            return StreamKinds()
        case "pipes":
            return PIPES
        case StreamKinds():
            given = {streams.stdin, streams.stdout, streams.stderr}
            if streams.only_terminal or given <= {"pipe", "null"}:
                return streams
        case _:
            raise ValueError(f"streams is {streams!r}, and must be terminal, pipes or StreamKinds")
    raise ValueError(
        f"streams are pipe or null each here, not {', '.join(sorted(given))}: other kinds are"
        " recorded as the caller gives them, with `ptycassette rec --as-given` or a shim"
    )


def words_given(argv: Sequence[str | bytes | os.PathLike[str]]) -> tuple[str, ...]:
    """The words of a command, as a caller gives them; words may also be bytes or paths.

    Raises:
        TypeError: it is one text, or a word is something else.
    """
    if isinstance(argv, str | bytes | os.PathLike):
        raise TypeError(f"argv is a list of words, such as ['echo', 'hello'], not {argv!r}")
    for word in argv:
        if not isinstance(word, str | bytes | os.PathLike):
            raise TypeError(f"each word of argv is a text, not {word!r}")
    return tuple(map(os.fsdecode, argv))


def size_given(size: Size) -> Size:
    """The size of a terminal, as a caller gives it.

    Raises:
        TypeError: it is something else.
    """
    if not isinstance(size, Size):
        raise TypeError(f"size is a Size, such as Size(rows=24, cols=80), not {size!r}")
    return size


def child_environment(
    *,
    clean: bool,
    extra: Mapping[str, str] | None = None,
    term: str = "xterm-256color",
    base: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The environment of a program to record.

    TERM is ``term``. COLUMNS, LINES and TERMCAP are removed: they describe
    another terminal than the one that the program gets. ``extra`` overrides everything.

    Args:
        clean: keep only ``CLEAN_NAMES`` and ``LC_*``.
        extra: what to add or replace.
        term: the terminal type.
        base: where to start from; this process's environment when None.
    """
    source = os.environ if base is None else base
    kept = {
        name: value
        for name, value in source.items()
        if not clean or name in CLEAN_NAMES or name.startswith("LC_")
    }
    for name in _OF_THE_OUTER_TERMINAL:
        kept.pop(name, None)
    return {**kept, "TERM": term, **(extra or {})}
