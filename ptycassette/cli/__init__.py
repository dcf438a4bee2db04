"""The command line. ``main(argv)`` returns the exit status; one module per command.

Exit statuses: 0 ok; 1 divergence or failed assertion; 2 usage; 3 not found or
unreadable; 4 not a valid cassette; 5 bug in ptycassette; 6 refused; 7 signature
or trust. ``rec`` and the stand-in end with the recorded program's own status,
their own failures with 125, 126 or 127.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

__all__ = ["main", "script"]

_COLLECT_AFTER = 60_000
"""Objects between two looks for garbage. Importing makes 40,000 that stay, so a short recording
ends before the first look."""


def script() -> NoReturn:
    """Run the command line, and end the process with its status.

    Python would take every module apart before it ends, which is a tenth of a short recording.
    Whatever registered itself for the end (``atexit``) is called, and threads are waited for.
    """
    gc.set_threshold(_COLLECT_AFTER)
    status = main()
    threading = sys.modules.get("threading")
    if threading is not None and any(
        thread is not threading.main_thread() and not thread.daemon
        for thread in threading.enumerate()
    ):
        sys.exit(status)
    atexit._run_exitfuncs()  # noqa: SLF001 - as Python calls it at its end
    for stream in (sys.stdout, sys.stderr):
        try:  # noqa: SIM105 - contextlib would delay the first byte of the stand-in
            stream.flush()
        except (AttributeError, OSError, ValueError):
            pass  # it is closed, or has no reader; ``main`` has already reported the error
    os._exit(status & 0xFF)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; see ``ptycassette.cli.entry.main``.

    The stand-in is started before anything else is loaded, so that its first byte comes as
    fast as that of a C program.
    """
    args = list(sys.argv[1:] if argv is None else argv)
    if args[:1] == ["stand-in"] and not {"-h", "--help"} & set(args[1:2]):
        from ptycassette.replaying.standin.io.boot import main as stand_in

        return stand_in(args[1:])
    if args[:1] == ["textconv"] and len(args) == 2 and _converted(args[1]):
        return 0
    from ptycassette.cli.entry import main as run

    return run(args)


_QUICK_BYTES = 8 << 20


def _converted(path: str) -> bool:
    """``ptycassette textconv PATH`` without the rest of the command line, which takes longer.

    Git starts one process for each version of each file. For any unusual case it does nothing and
    returns False: the full command line then reports the problem.
    """
    from ptycassette.errors import CassetteError
    from ptycassette.formats.export.git_text import git_lines
    from ptycassette.system.files.whole_file import read_plain

    if path.startswith("-") or (sys.stdout.encoding or "").lower() != "utf-8":
        return False
    try:
        lines = git_lines(read_plain(path, max_bytes=_QUICK_BYTES))
        text = "".join(f"{line}\n" for line in lines)
        sys.stdout.write(text)
        sys.stdout.flush()
    except (CassetteError, OSError, ValueError, AttributeError):
        return False
    return True
