"""Starts a program off the network: in a namespace of its own, with nothing but loopback.

Run by path with ``python -I -S``: a process of its own with one thread, because the kernel lets no
other leave its user namespace (user_namespaces(7)). It imports nothing of ours.

The tape's server runs outside. It cannot be reached from inside, so this program makes the sockets
it is to listen on: a socket belongs to the namespace that it was made in (network_namespaces(7)),
whoever holds it. They are handed over through a socket with a path, which leads across namespaces.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import sys

_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000  # linux/sched.h
_SIOCSIFFLAGS, _IFF_UP, _IFF_RUNNING = 0x8914, 0x1, 0x40  # netdevice(7)
_BACKLOG = 128
SOCKET_NAME = "inside"
NO_FOLDER = "-"
NOT_STARTED = 127


def main(argv: list[str]) -> int:
    """``FOLDER PORTS ARGV...``: hand over listeners for the ports, then be the program.

    With ``-`` as FOLDER nothing is handed over: the program has no tape, and no server outside.
    Without arguments only try whether this user may: 0 if so.
    """
    try:
        if not argv:
            leave_network()
            return 0
        folder, ports, *words = argv
        if folder == NO_FOLDER:
            leave_network()
        else:
            hand_over(folder, [int(port) for port in ports.split(",")])
    except OSError as failed:
        sys.stderr.write(f"ptycassette: no network namespace: {failed}\n")
        return 1
    try:
        os.execvp(words[0], words)  # noqa: S606 - no shell is meant
    except OSError as failed:
        sys.stderr.write(f"ptycassette: {words[0]}: {failed.strerror}\n")
    return NOT_STARTED


def hand_over(folder: str, ports: list[int]) -> None:
    """Leave the network, and give sockets that listen there to who listens in ``folder``.

    Raises:
        OSError: it cannot be done.
    """
    # A path of a socket may have some 100 bytes; through /proc that of the folder does not count.
    within = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    with socket.socket(socket.AF_UNIX) as outside:
        outside.connect(f"/proc/self/fd/{within}/{SOCKET_NAME}")
        leave_network()
        listeners = [_listener(port) for port in ports]
        socket.send_fds(outside, [b"l"], [one.fileno() for one in listeners])
        if outside.recv(1) != b"s":  # they are served now
            raise OSError("the tape's server is gone")
    for one in listeners:
        one.close()
    os.close(within)


def leave_network() -> None:
    """Enter a network namespace; the user keeps the number, and files their owners.

    Raises:
        OSError: the kernel does not let this user.
    """
    uid, gid = os.getuid(), os.getgid()
    libc = ctypes.CDLL(None, use_errno=True)
    # Root needs no user namespace, and keeps its files' owners without one.
    flags = _CLONE_NEWNET if uid == 0 else _CLONE_NEWUSER | _CLONE_NEWNET
    if libc.unshare(flags) and (uid or libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET)):
        raise OSError(ctypes.get_errno(), "unshare")
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{uid} {uid} 1"),
        ("gid_map", f"{gid} {gid} 1"),
    ):
        _write(f"/proc/self/{name}", text)
    with socket.socket() as any_socket:
        wanted = struct.pack("16sh", b"lo", _IFF_UP | _IFF_RUNNING)
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, wanted)


def _write(path: str, text: str) -> None:
    """Write it, where it is to be written: root without a user namespace is mapped already."""
    try:
        fd = os.open(path, os.O_WRONLY)
    except OSError:
        return
    try:
        os.write(fd, text.encode())
    except OSError:
        pass
    finally:
        os.close(fd)


def _listener(port: int) -> socket.socket:
    made = socket.socket()
    made.bind(("127.0.0.1", port))
    made.listen(_BACKLOG)
    return made


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
