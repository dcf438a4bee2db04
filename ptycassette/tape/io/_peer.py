"""Whose connection it is: another user of the machine gets none.

A base URL may stand in the arguments of the CLI, which every user of the machine can read. So the
token in it alone does not keep other users out. On Linux the kernel says to whom a socket belongs;
elsewhere only the token counts.

It is asked over netlink (sock_diag(7)) for that one socket. ``/proc/net/tcp`` has the same, but
reading it takes milliseconds, with every connection.
"""

from __future__ import annotations

import os
import socket
import struct
import sys

_NETLINK_SOCK_DIAG, _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST = 4, 20, 1
_NO_COOKIE = 0xFFFFFFFF
_ALL_STATES = 0xFFFFFFFF
_HEADER = struct.Struct("=IHHII")  # nlmsghdr: length, type, flags, sequence, port
# inet_diag_req_v2: family, protocol, extensions, states; inet_diag_sockid: ports, addresses,
# interface, cookie.
_REQUEST = struct.Struct("=BBBxI2s2s4s12x4s12xIII")
_UID_AT = _HEADER.size + 64  # in inet_diag_msg
_TIMEOUT_S = 1.0


def belongs_to_another_user(peer: tuple[str, int], own: tuple[str, int]) -> bool:
    """Whether the client's end of a connection belongs to another user.

    False for root, who needs no server to read anything, and where the owner is not known: the
    connection is gone, or the system does not say.

    Args:
        peer: address and port of the client, IPv4.
        own: address and port of this end.
    """
    owner = _owner(peer, own)
    return owner not in {None, 0, os.geteuid()}


def _owner(peer: tuple[str, int], own: tuple[str, int]) -> int | None:
    if sys.platform != "linux":
        return None
    ports = [struct.pack(">H", port) for _, port in (peer, own)]
    addresses = [socket.inet_aton(host) for host, _ in (peer, own)]
    request = _REQUEST.pack(
        *(socket.AF_INET, socket.IPPROTO_TCP, 0, _ALL_STATES),
        *(*ports, *addresses, 0, _NO_COOKIE, _NO_COOKIE),
    )
    header = _HEADER.pack(_HEADER.size + len(request), _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST, 1, 0)
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _NETLINK_SOCK_DIAG) as kernel:
            kernel.settimeout(_TIMEOUT_S)
            kernel.send(header + request)
            answer = kernel.recv(4096)
    except OSError:
        return None
    if len(answer) < _UID_AT + 4 or _HEADER.unpack_from(answer)[1] != _SOCK_DIAG_BY_FAMILY:
        return None
    return int.from_bytes(answer[_UID_AT : _UID_AT + 4], sys.byteorder)
