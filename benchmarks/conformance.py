"""Where the backends agree: ``python -m benchmarks conformance``, the table of docs/screens.md.

Every installed backend over the cases of ``ptycassette.terminal._conformance``, held against the
default emulator, which tests hold to xterm.js. Status 1 if one of ours differs where it is not
known to, or no longer differs where it is.
"""

from __future__ import annotations

import sys

from ptycassette.errors import UsageError
from ptycassette.model.screen import Size
from ptycassette.terminal._conformance import KNOWN, differences, table_lines
from ptycassette.terminal.emulator import available_backends, backend

__all__ = ["main"]


def main() -> int:
    """Print the table."""
    found: dict[str, dict[str, str]] = {}
    for name in available_backends()[1:]:
        try:
            factory = backend(name)
        except UsageError as missing:
            print(f"{missing}", file=sys.stderr)
            continue
        identity = factory(Size(1, 2)).identity
        print(f"{name}: {identity.name} {identity.version}", file=sys.stderr)
        found[name] = {one.case: one.why or "differs" for one in differences(factory)}
    print(*table_lines(found), sep="\n")
    wrong = [name for name in KNOWN if name in found and found[name] != KNOWN[name]]
    print(*(f"{name} is not as KNOWN says" for name in wrong), sep="\n", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
