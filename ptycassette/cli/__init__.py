"""The command line. ``main(argv)`` returns the exit status; one module per command.

Exit statuses: 0 ok; 1 divergence or failed assertion; 2 usage; 3 not found or
unreadable; 4 not a valid cassette; 5 bug in ptycassette; 6 refused; 7 signature
or trust. ``rec`` and the stand-in end with the recorded program's own status,
their own failures with 125, 126 or 127.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; see ``ptycassette.cli.entry.main``.

    The stand-in is started before anything else is loaded, so that its first byte comes as
    fast as that of a C program.
    """
    args = list(sys.argv[1:] if argv is None else argv)
    if args[:1] == ["stand-in"] and not {"-h", "--help"} & set(args[1:2]):
        from ptycassette.replaying.standin.io import main as stand_in

        return stand_in(args[1:])
    from ptycassette.cli.entry import main as run

    return run(args)
