"""Becomes a program that is off the network: in a namespace with nothing but loopback.

Run by path with ``python -I -S``: a process of its own with one thread, because the kernel lets no
other leave its user namespace (user_namespaces(7)). It imports nothing of ours. The program keeps
this process's id, terminal and environment.

A user namespace goes with the network namespace, for root, too. Without one, root could open
``/proc/PID/ns/net`` of a process outside and leave by setns(2). All users and groups of root's
namespace are mapped to themselves, so that files keep their owners.

The ports that the program may reach have listeners inside. A small process outside, the relay,
holds them (a socket belongs to the namespace that it was made in, network_namespaces(7)) and passes
each connection on to the same port of this machine. It ends with the program, and ends the program
if the process that started it is killed.

Before it becomes the program, this process proves from inside that the network is out of reach.
"""

# ruff: noqa: PTH112,PTH120,PTH123
# pathlib would double the time that this script takes to start.
from __future__ import annotations

import ctypes
import fcntl
import os
import select
import signal
import socket
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # without loading it
    from collections.abc import Callable
    from typing import Any

_CLONE_NEWUSER, _CLONE_NEWNET, _CLONE_NEWNS = 0x10000000, 0x40000000, 0x20000  # linux/sched.h
_MS_REC, _MS_PRIVATE = 0x4000, 0x40000  # linux/mount.h
_SIOCSIFFLAGS, _IFF_UP, _IFF_RUNNING = 0x8914, 0x1, 0x40  # netdevice(7)
_PR_CAPBSET_DROP = 24  # linux/prctl.h
_CAPABILITY_VERSION_3 = 0x20080522  # capget(2)
_MOST_CAPABILITIES = 64
_KEPT_CAPABILITIES = {0, 1, 3, 4, 5, 6, 7, 10, 13, 18, 29, 31}
"""Of root without a user namespace: files, owners, users, signals, low ports, raw sockets inside,
chroot, the audit log, capabilities of files. None of them enters or traces a process outside."""
_OUTSIDE = (
    (socket.AF_INET, "192.0.2.1"),  # RFC 5737
    (socket.AF_INET6, "2001:db8::1"),  # RFC 3849
)
_RESOLVERS = ("/run/systemd/resolve/io.systemd.Resolve", "/run/nscd/socket", "/var/run/nscd/socket")
"""Sockets of services that ask name servers on behalf of a program, from outside."""
_BACKLOG = 128
_BLOCK = 1 << 16
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close with a reset
_CONNECT_S = 5.0
_GRACE_MS = 2000
_MAP, _LISTEN, _BEGIN, _DONE = b"m", b"l", b"b", b"d"
RELAY = "ptyc-relay"
"""The relay's name in ``/proc/PID/comm``, by which the supervisor knows it."""
FAILED = 125
_NOT_EXECUTABLE, _NOT_THERE = 126, 127


def main(argv: list[str]) -> int:
    """``PORTS PATH ARGV...``: leave the network, then be the program at PATH.

    PORTS are numbers with commas between them. Without arguments only try whether this user may
    leave the network: 0 if so.
    """
    with open("/proc/self/environ", "rb") as file:  # Python has added to os.environ (PEP 538)
        environment = dict(one.split(b"=", 1) for one in file.read().split(b"\0") if b"=" in one)
    ports, path, *words = argv or ["", ""]
    try:
        leave_network([int(port) for port in ports.split(",") if port])
    except OSError as failed:
        sys.stderr.write(f"ptycassette: the program cannot leave the network: {failed}\n")
        return FAILED
    if not argv:
        return 0
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python
        signal.signal(ignored, signal.SIG_DFL)
    try:
        os.execve(path, words, environment)  # noqa: S606 - no shell is meant
    except OSError as failed:
        sys.stderr.write(f"ptycassette: {path}: {failed.strerror}\n")
        return _NOT_THERE if isinstance(failed, FileNotFoundError) else _NOT_EXECUTABLE


def leave_network(ports: list[int]) -> None:
    """Enter a namespace with loopback alone, where these ports lead to those outside.

    Raises:
        OSError: the kernel does not let this user, or the network is still in reach.
    """
    with socket.socket() as there, socket.socket(socket.AF_UNIX) as abstract:
        there.bind(("127.0.0.1", 0))
        there.listen(1)
        abstract.bind("")  # the kernel chooses an abstract name: unix(7)
        abstract.listen(1)
        relay, relay_pid = _start_relay()
        with relay:
            _enter_namespaces(relay)
            _prove((os.getppid(), relay_pid), there.getsockname(), abstract.getsockname())
            listeners = [_listener(port) for port in ports]
            for one in listeners:
                socket.send_fds(relay, [_LISTEN], [one.fileno()])
                _await(relay)
                one.close()
            relay.send(_BEGIN)
            _await(relay)


def _enter_namespaces(relay: socket.socket) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    uid, gid = os.getuid(), os.getgid()
    own = libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) == 0
    if own and uid:
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{uid} {uid} 1")
        _write("/proc/self/gid_map", f"{gid} {gid} 1")
    elif own:  # from within, a process may map its own user alone
        relay.send(_MAP)
        _await(relay)
    elif uid or libc.unshare(_CLONE_NEWNET):
        number = ctypes.get_errno()
        raise OSError(number, f"unshare: {os.strerror(number)}")
    with socket.socket() as any_socket:
        wanted = struct.pack("16sh", b"lo", _IFF_UP | _IFF_RUNNING)
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, wanted)
    _hide_resolvers(libc)
    if not own:
        _drop_capabilities(libc)


def _hide_resolvers(libc: ctypes.CDLL) -> None:
    """Cover each existing one with an empty folder. ``_prove`` checks the result."""
    folders = {os.path.realpath(os.path.dirname(path)) for path in _RESOLVERS}
    there = [os.fsencode(folder) for folder in folders if os.path.isdir(folder)]
    if there and libc.unshare(_CLONE_NEWNS) == 0:
        libc.mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None)
        for folder in there:
            libc.mount(b"tmpfs", folder, b"tmpfs", 0, None)


def _drop_capabilities(libc: ctypes.CDLL) -> None:
    """Drop every capability that enters other namespaces: for root without a user namespace."""
    for number in set(range(_MOST_CAPABILITIES)) - _KEPT_CAPABILITIES:
        libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; 32 capabilities, the rest
    kept = sum(1 << number for number in _KEPT_CAPABILITIES)
    if libc.capget(header, sets) == 0:
        sets[:] = [sets[0] & kept, sets[1] & kept, 0, 0, 0, 0]
        if libc.capset(header, sets) == 0:
            return
    raise OSError(ctypes.get_errno(), "capabilities cannot be dropped")


def _prove(outside: tuple[int, ...], tcp: tuple[str, int], abstract: bytes) -> None:
    """Try every way out that is known; each must fail.

    Args:
        outside: processes in the namespace that was left.
        tcp: a listener there, on loopback.
        abstract: the abstract name of a Unix socket that listens there.

    Raises:
        OSError: one of them leads out.
    """
    attempts: list[tuple[str, int, int, Any]] = [
        ("a route leads", family, socket.SOCK_DGRAM, (host, 9)) for family, host in _OUTSIDE
    ]
    attempts.append(("its loopback leads", socket.AF_INET, socket.SOCK_STREAM, tcp))
    for what, name in (
        ("abstract sockets lead", abstract), *(("a resolver leads", path) for path in _RESOLVERS)
    ):  # fmt: skip
        attempts.append((what, socket.AF_UNIX, socket.SOCK_STREAM, name))
    for what, family, kind, address in attempts:
        if _connects(family, kind, address):
            raise OSError(f"{what} out of the namespace")
    if any(map(_enters_network_of, outside)):
        raise OSError("setns(2) leads out of the namespace")


def _connects(family: int, kind: int, address: Any) -> bool:
    try:
        with socket.socket(family, kind) as made:
            made.connect(address)
    except OSError:
        return False
    return True


def _enters_network_of(pid: int) -> bool:
    try:
        fd = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
    except OSError:
        return False
    return bool(ctypes.CDLL(None).setns(fd, _CLONE_NEWNET) == 0)


def _listener(port: int) -> socket.socket:
    """A socket that listens on the port of every address of loopback."""
    try:
        made = socket.socket(socket.AF_INET6)
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        made.bind(("::", port))
    except OSError:  # no IPv6 here
        made = socket.socket()
        made.bind(("", port))
    made.listen(_BACKLOG)
    return made


def _write(path: str, text: str) -> None:
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def _await(relay: socket.socket) -> None:
    if relay.recv(1) != _DONE:
        raise OSError("the relay is gone")


# -- the relay, a process outside ----------------------------------------------------------


def _start_relay() -> tuple[socket.socket, int]:
    """Start it without a parent that waits for it; return a socket to it, and its process id."""
    ours, theirs = socket.socketpair()
    program, starter = os.getpid(), os.getppid()
    child = os.fork()
    if child == 0:
        try:
            os.setsid()  # signals of the program's terminal are not for it
            if os.fork() == 0:
                _be_relay(theirs, program, starter)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    theirs.close()
    return ours, int.from_bytes(ours.recv(8), "little")


def _be_relay(launcher: socket.socket, program: int, starter: int) -> None:
    """Serve the launcher until it becomes the program, then relay until the program ends."""
    _write("/proc/self/comm", RELAY)
    null = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(null, number)
    launcher = socket.socket(fileno=os.dup2(launcher.detach(), 3))
    os.closerange(4, 1 << 20)
    os.chdir("/")
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)  # the program may report it while it ends
    ended = os.pidfd_open(program)
    launcher.send(os.getpid().to_bytes(8, "little"))
    listeners = []
    while True:
        order, fds, _, _ = socket.recv_fds(launcher, 1, 1)
        if order == _MAP:
            _map_all_users(program)
        elif order == _LISTEN:
            listeners.append(socket.socket(fileno=fds[0]))
        elif not order or not listeners:
            launcher.send(_DONE)
            return
        launcher.send(_DONE)
        if order == _BEGIN:
            launcher.close()
            _Relay(listeners, ended, os.pidfd_open(starter)).run()
            return


def _map_all_users(pid: int) -> None:
    """Map each user and group of this namespace to itself in the new one of a process."""
    for name in ("uid_map", "gid_map"):
        with open(f"/proc/self/{name}") as file:
            extents = [line.split() for line in file]
        _write(f"/proc/{pid}/{name}", "".join(f"{a} {a} {n}\n" for a, _, n in extents))


class _End:
    """One end of a relayed connection, and the data still to send to it."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket, self.fd = connection, connection.fileno()
        self.other: _End = self
        self.pending = b""
        self.ended = self.shut = False

    def send(self) -> None:
        """Send as much as the other end takes now, and after the last byte its end."""
        try:
            while self.pending:
                self.pending = self.pending[self.socket.send(self.pending) :]
        except BlockingIOError:
            return
        if self.other.ended and not self.shut:
            self.shut = True
            self.socket.shutdown(socket.SHUT_WR)


class _Relay:
    """Passes connections on, with their ends: a reset at one end is a reset at the other.

    Args:
        listeners: inside of the namespace.
        ended: a descriptor (pidfd_open(2)) that is readable once the program has ended.
        starter: the same of the process that started the program, and that waits for its end.
    """

    def __init__(self, listeners: list[socket.socket], ended: int, starter: int) -> None:
        self._listeners = {one.fileno(): one for one in listeners}
        self._ended, self._starter = ended, starter
        self._timeout_ms: int | None = None
        self._ends: dict[int, _End] = {}
        self._poll = select.poll()
        for fd in (ended, starter, *self._listeners):
            self._poll.register(fd, select.POLLIN)

    def run(self) -> None:
        while True:
            happened = self._poll.poll(self._timeout_ms)
            if not happened:  # the grace is over
                signal.pidfd_send_signal(self._ended, signal.SIGKILL)
            for fd, what in happened:
                if fd == self._ended:
                    return
                if fd == self._starter:
                    self._poll.unregister(fd)
                    signal.pidfd_send_signal(self._ended, signal.SIGTERM)
                    self._timeout_ms = _GRACE_MS
                if fd in self._listeners:
                    self._accept(self._listeners[fd])
                elif fd in self._ends:  # the other end may just have closed it
                    self._pass_on(self._ends[fd], what)

    def _accept(self, listener: socket.socket) -> None:
        try:
            inside = listener.accept()[0]
        except OSError:
            return
        host, port = inside.getsockname()[:2]
        outside = _connected(host.removeprefix("::ffff:"), port)
        if outside is None:
            _reset(inside)
            return
        ends = _End(inside), _End(outside)
        for one, other in (ends, ends[::-1]):
            one.other = other
            self._ends[one.fd] = one
            self._poll.register(one.fd, select.POLLIN)

    def _pass_on(self, end: _End, what: int) -> None:
        other = end.other
        if what & select.POLLERR:
            self._drop(end, _reset)
            return
        try:
            if what & select.POLLOUT:
                end.send()
            if what & (select.POLLIN | select.POLLHUP) and not other.pending and not end.ended:
                other.pending = end.socket.recv(_BLOCK)
                end.ended = not other.pending
                other.send()
        except BlockingIOError:
            pass
        except OSError:
            self._drop(end, _reset)
            return
        if end.ended and other.ended and not end.pending and not other.pending:
            self._drop(end, socket.socket.close)
            return
        for one in (end, other):
            reads = not one.ended and not one.other.pending
            wanted = reads * select.POLLIN | bool(one.pending) * select.POLLOUT
            self._poll.modify(one.fd, wanted)

    def _drop(self, end: _End, close: Callable[[socket.socket], None]) -> None:
        for one in (end, end.other):
            self._poll.unregister(one.fd)
            del self._ends[one.fd]
            close(one.socket)


def _connected(host: str, port: int) -> socket.socket | None:
    """A connection to the port outside: at the requested address, else at another one."""
    for one in dict.fromkeys((host, "127.0.0.1", "::1")):
        try:
            return socket.create_connection((one, port), _CONNECT_S)
        except OSError:
            continue
    return None


def _reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    connection.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
