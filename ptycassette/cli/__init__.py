"""The command line. ``main(argv)`` returns the exit status; one module per command.

Exit statuses: 0 ok; 1 divergence or failed assertion; 2 usage; 3 not found or
unreadable; 4 not a valid cassette; 5 bug in ptycassette; 6 refused; 7 signature
or trust. ``rec`` and the stand-in end with the recorded program's own status,
their own failures with 125, 126 or 127.
"""

from ptycassette.cli.entry import main

__all__ = ["main"]
