"""Whose connection it is: another user of the machine gets none.

A base URL may stand in the arguments of the CLI, which every user of the machine can read. So the
token in it alone does not keep other users out. On Linux the kernel says to whom a socket belongs;
elsewhere only the token counts.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

_TABLE = Path("/proc/net/tcp")
_LOCAL, _UID = 1, 7


def is_strangers(peer: tuple[str, int], own: tuple[str, int], *, table: Path = _TABLE) -> bool:
    """Whether the client's end of a connection belongs to another user.

    False where that is not known: the connection is gone, or the system does not say.

    Args:
        peer: address and port of the client, IPv4.
        own: address and port of this end.
        table: of the kernel's TCP sockets.
    """
    ends = [_end(peer), _end(own)]
    try:
        with table.open() as rows:
            for row in rows:
                fields = row.split(None, _UID + 1)
                if fields[_LOCAL : _LOCAL + 2] == ends:
                    return int(fields[_UID]) != os.geteuid()
    except (OSError, ValueError):
        pass
    return False


def _end(address: tuple[str, int]) -> str:
    """An address as the table writes it: the number in the machine's byte order."""
    parts = bytes(int(part) for part in address[0].split("."))
    (number,) = struct.unpack("=I", parts)
    return f"{number:08X}:{address[1]:04X}"
