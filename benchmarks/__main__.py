"""``python -m benchmarks [--quick] [NAME...]``: all measurements, or those named.

Tables go to the terminal, and as Markdown and JSON into ``benchmarks/results``
(not with ``--quick``, which takes less of everything).
"""

from __future__ import annotations

import subprocess
import sys

# In this order, each in a process of its own, so that none inherits another's memory.
NAMES = {
    "recording": "what recording costs the program and the user, beside other recorders",
    "stamps": "how wrong recorded times are on a busy machine, beside a control",
    "cassettes": "finalising, checking, replaying, and how that grows",
    "safety": "kills, fuzz, hostile directories, escape vectors",
    "untrusted_cost": "what a stranger's file costs whoever opens it",
    "viewer": "how quickly recordings open, seek and play in the viewer, and what it holds",
    "startup": "how long commands take to start",
    "standins": "stand-ins: the first byte, runs a second, replays in one process",
    "feed": "how fast emulators take output",
    "conformance": "in which cases emulators agree with xterm.js, and in which not",
    "saving": "from a program's end to its cassette, as a user waits for it",
    "tape": "what the tape's proxy costs a CLI, and that it changes and loses nothing",
    "reruns": "real agent CLIs again from their tapes: equal, and what is changed is named",
    "sizes": "bytes of recordings for each byte of output",
    "pages": "the page of a recording: to make, to open and to seek in Chromium",
    "pictures": "pictures and films of a minute of agents, beside agg: time, size, equal screens",
    "seals": "what sealing and checking seals takes beside sha256sum",
    "house": "modules, lines and public names of each package, and who imports it",
}


def main(arguments: list[str]) -> int:
    """Run; the first status that is not 0."""
    options = [word for word in arguments if word.startswith("-")]
    names = [word for word in arguments if not word.startswith("-")] or list(NAMES)
    unknown = [name for name in names if name not in NAMES]
    if unknown or any(option != "--quick" for option in options):
        listed = "\n".join(f"  {name:14} {text}" for name, text in NAMES.items())
        print(f"usage: python -m benchmarks [--quick] [NAME...]\n{listed}", file=sys.stderr)
        return 2
    status = 0
    for name in names:
        done = subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *options], check=False)
        status = status or done.returncode
    return status


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
