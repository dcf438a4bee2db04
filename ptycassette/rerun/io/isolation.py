"""Takes this process off the network: a namespace of its own, with nothing but loopback.

On Linux, where the kernel lets users make namespaces (user_namespaces(7)). The user keeps his
number; what is started from here on inherits the namespace. Must happen before the first thread.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import sys
import threading
from contextlib import closing, suppress
from pathlib import Path

_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000  # linux/sched.h
_SIOCSIFFLAGS, _IFF_UP, _IFF_RUNNING = 0x8914, 0x1, 0x40  # netdevice(7)


def isolate_network() -> str | None:
    """Leave the network for good; None when that is done, or why it cannot be done.

    Nothing has changed when it cannot.
    """
    if sys.platform != "linux":
        return "network namespaces are Linux's"
    if threading.active_count() > 1:
        return "a process with threads cannot change its user namespace"
    failed = _try_in_a_child()
    if failed is None:
        _enter()
    return failed


def _try_in_a_child() -> str | None:
    """Whether it works here: half-way through there is no way back."""
    child = os.fork()
    if child == 0:
        status = 1
        with suppress(OSError):
            _enter()
            status = 0
        os._exit(status)
    _, status = os.waitpid(child, 0)
    return None if status == 0 else "the kernel does not let this user make network namespaces"


def _enter() -> None:
    uid, gid = os.getuid(), os.getgid()
    libc = ctypes.CDLL(None, use_errno=True)
    # Root needs no user namespace, and keeps its files' owners without one.
    flags = _CLONE_NEWNET if uid == 0 else _CLONE_NEWUSER | _CLONE_NEWNET
    if libc.unshare(flags) and (uid or libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET)):
        raise OSError(ctypes.get_errno(), "unshare")
    with suppress(OSError):
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
    for name, number in (("uid_map", uid), ("gid_map", gid)):
        with suppress(PermissionError):  # root without a user namespace: mapped already
            Path(f"/proc/self/{name}").write_text(f"{number} {number} 1", encoding="ascii")
    with closing(socket.socket()) as any_socket:
        wanted = struct.pack("16sh", b"lo", _IFF_UP | _IFF_RUNNING)
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, wanted)
