"""A program off the network reaches nothing, however it is started, and cannot come back."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pexpect
import psutil
import pytest

from ptycassette import Session, spawn, use
from ptycassette.agents.harness.fake.script import Script
from ptycassette.errors import PreflightError, RunFailedError, SessionError
from ptycassette.model.screen import Size
from ptycassette.recording.io.options import ask_version
from ptycassette.recording.io.recording import record
from ptycassette.system import network
from ptycassette.system.network import Guard, may_isolate, required_guard
from tests.commands import COMMAND, ptycassette

pytest.importorskip("aiohttp")
from ptycassette.agents.harness.io.fake_provider import FakeProviderServer

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(
        not may_isolate(), reason="the kernel does not let this user make network namespaces"
    ),
]

LAUNCH = Path(network.__file__).with_name("network_launch.py")
ESCAPE = r"""
import ctypes, json, os, socket, sys
port, abstract, report = int(sys.argv[1]), "\0" + sys.argv[2], sys.argv[3]
out = []
def attempt(name, family, kind, address, data=None):
    try:
        with socket.socket(family, kind) as one:
            one.settimeout(5)
            one.connect(address)
            one.send(b"escaped")
            if data is None:
                out.append(name)
    except OSError:
        pass
attempt("tcp", socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", port))
attempt("tcp6", socket.AF_INET6, socket.SOCK_STREAM, ("::1", port))
attempt("udp", socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", port), "judged by who receives")
attempt("dns", socket.AF_INET, socket.SOCK_DGRAM, ("192.0.2.1", 53))
attempt("dns6", socket.AF_INET6, socket.SOCK_DGRAM, ("2001:db8::1", 53))
attempt("abstract", socket.AF_UNIX, socket.SOCK_STREAM, abstract)
own = os.stat("/proc/self/ns/net").st_ino
libc = ctypes.CDLL(None)
for pid in [pid for pid in os.listdir("/proc") if pid.isdigit()]:
    try:
        fd = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
    except OSError:
        continue
    if os.fstat(fd).st_ino != own and libc.setns(fd, 0x40000000) == 0:
        out.append("setns " + pid)
    os.close(fd)
with open(report + ".new", "w") as file:
    json.dump(out, file)
os.rename(report + ".new", report)
print("tried")
"""


class Outside:
    """Listens in this network, in each way that a program may try; ``argv`` tries them all."""

    def __init__(self, folder: Path) -> None:
        self.report = folder / "report.json"
        self._tcp = socket.create_server(("127.0.0.1", 0))
        self.port = self._tcp.getsockname()[1]
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._udp.bind(("127.0.0.1", self.port))
        self._udp.setblocking(False)
        self._sockets = [self._tcp, self._udp]
        with contextlib.suppress(OSError):  # no IPv6 here
            self._sockets.append(socket.create_server(("::1", self.port), family=socket.AF_INET6))
        name = f"ptycassette-test-{os.getpid()}-{self.port}"
        abstract = socket.socket(socket.AF_UNIX)
        abstract.bind(f"\0{name}")
        abstract.listen()
        self._sockets.append(abstract)
        program = folder / "escape.py"
        program.write_text(ESCAPE)
        words = [str(program), str(self.port), name, str(self.report)]
        self.argv = [sys.executable, "-I", *words]

    def escapes(self) -> list[str]:
        """The ways by which the program got out."""
        found: list[str] = json.loads(self.report.read_text())
        self.report.unlink()
        with contextlib.suppress(BlockingIOError):
            self._udp.recv(100)
            found.append("udp")
        return found

    def close(self) -> None:
        """Stop listening."""
        for one in self._sockets:
            one.close()


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Outside]:
    """What must not be reached; the test is in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PTYCASSETTE_STATE_DIR", str(tmp_path / "state"))
    made = Outside(tmp_path)
    yield made
    made.close()


def by_command(*words: str) -> Callable[[list[str]], None]:
    """Start a program by ``ptycassette``."""

    def start(argv: list[str]) -> None:
        ptycassette(*words, "--", *argv, status=0)

    return start


def at_a_terminal(argv: list[str]) -> None:
    """Record it in the terminal of a person."""
    child = pexpect.spawn(COMMAND, ["rec", "a.cassette", "--", *argv], timeout=120)
    child.expect(pexpect.EOF)
    child.close()


def in_a_session(argv: list[str]) -> None:
    """Drive it."""
    with Session(argv) as session:
        session.wait_exit(timeout_s=60)


def in_a_thread(argv: list[str]) -> None:
    """Drive it from a thread."""
    thread = threading.Thread(target=in_a_session, args=(argv,))
    thread.start()
    thread.join()


def by_use(mode: str) -> Callable[[list[str]], None]:
    """Start it in a mode."""

    def start(argv: list[str]) -> None:
        with use(Path.cwd() / "a.cassette", argv, mode=mode) as session:
            session.wait_exit(timeout_s=60)

    return start


def by_spawn(argv: list[str]) -> None:
    """Start it alone."""
    with spawn(argv, size=Size(24, 80)) as child:
        child.wait()


def by_live_shim(argv: list[str]) -> None:
    """A shim that steps aside, for a program of that name further down the PATH."""
    Path("bin").mkdir()
    program = Path("bin", "agent")
    program.write_text(f"#!/bin/sh\nexec {' '.join(argv)}\n")
    program.chmod(0o755)
    ptycassette("shim", "--library", "library", "--dir", "shims", "agent", status=0)
    path = f"{Path.cwd()}/shims:{Path.cwd()}/bin:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PTYCASSETTE_MODE": "live"}
    subprocess.run(
        [str(Path("shims", "agent").absolute())], env=environment, check=True, timeout=120
    )


def as_a_version(argv: list[str]) -> None:
    """Ask it for its version."""
    ask_version(Path(argv[0]), argv[1:], timeout_s=60)


def as_a_requirement(argv: list[str]) -> None:
    """Have it succeed before a recording."""
    ptycassette("rec", "--headless", "--require", " ".join(argv), "--", "true", status=0)


WAYS: dict[str, Callable[[list[str]], None]] = {
    "rec --headless": by_command("rec", "--headless", "a.cassette"),
    "rec --pipes": by_command("rec", "--pipes", "a.cassette"),
    "rec --as-given": by_command("rec", "--as-given", "a.cassette"),
    "rec at a terminal": at_a_terminal,
    "rec --require": as_a_requirement,
    "offline": by_command("offline", "llm"),
    "Session": in_a_session,
    "Session in a thread": in_a_thread,
    "use live": by_use("live"),
    "use record": by_use("record"),
    "spawn": by_spawn,
    "shim live": by_live_shim,
    "version": as_a_version,
}


@pytest.mark.parametrize("way", WAYS)
def test_a_disabled_network_is_out_of_reach(
    way: str, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However the program is started, whatever it tries: TCP, UDP, IPv6, abstract, setns."""
    monkeypatch.setenv("PTYCASSETTE_DISABLE_NETWORK", "1")
    WAYS[way](outside.argv)

    assert outside.escapes() == []


def test_without_the_variable_the_program_is_on_the_network(outside: Outside) -> None:
    """So that the test above proves something."""
    in_a_session(outside.argv)

    assert {"tcp", "udp", "abstract"} <= set(outside.escapes())


# -- servers here that it may reach -------------------------------------------------------------

URLS = [
    ({"MY_BASE_URL": "http://127.0.0.1:81/v1"}, [], (81,)),
    ({"A": "http://localhost:81 http://[::1]:82/", "B": "ws://127.0.0.2:83"}, [], (81, 82, 83)),
    ({}, ["agent", "-c", 'base_url="http://user:pw@127.0.0.1:81/v1"'], (81,)),
    ({"HTTPS_PROXY": "http://127.0.0.1:81", "npm_config_https_proxy": "http://[::1]:82"}, [], ()),
    ({}, ["agent", "--proxy", "http://127.0.0.1:81", "--http-proxy=http://127.0.0.1:82"], ()),
    ({"A": "http://10.0.0.1:81", "B": "127.0.0.1:82", "C": "http://127.0.0.1:99999"}, [], ()),
    ({"A": "http://127.0.0.1.example.org:81/", "B": "http://localhost.example.org:82"}, [], ()),
]


@pytest.mark.parametrize(("environment", "argv", "ports"), URLS)
def test_servers_here_that_are_named_by_url_can_be_reached(
    environment: dict[str, str],
    argv: list[str],
    ports: tuple[int, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A proxy could lead out, so none is passed on."""
    assert required_guard(argv, environment) is None
    monkeypatch.setenv("PTYCASSETTE_DISABLE_NETWORK", "1")

    assert required_guard(argv, environment) == Guard(ports)


HELLO = 'version = 1\n[[replies]]\nname = "any"\ntimes = 0\ntext = "Hello from the script."\n'
ASK = """
import json, os, sys, urllib.request
body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hi"}]}).encode()
url = sys.argv[1] if sys.argv[1:] else os.environ["OPENAI_BASE_URL"]
heads = {"content-type": "application/json"}
asked = urllib.request.Request(url + "/chat/completions", body, heads)
print(json.load(urllib.request.urlopen(asked))["choices"][0]["message"]["content"])
"""
ASKING = [sys.executable, "-c", ASK]


@pytest.fixture
def provider() -> Iterator[str]:
    """The base URL of a scripted provider on this machine."""
    with FakeProviderServer(Script.parse(HELLO, variables={})) as server:
        yield f"{server.url}/v1"


def test_a_provider_here_answers_while_the_network_is_disabled(
    outside: Outside, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its connections are relayed, on the same port."""
    monkeypatch.setenv("PTYCASSETTE_DISABLE_NETWORK", "1")
    with Session(ASKING, env={"OPENAI_BASE_URL": provider}) as session:
        session.wait_for_text("Hello from the script.", timeout_s=60)


# -- with a tape ----------------------------------------------------------------------------------


def test_a_program_with_a_tape_reaches_nothing_but_the_proxy(
    outside: Outside, provider: str
) -> None:
    """Its own questions are answered, and nothing else is in reach."""
    both = ["sh", "-c", '"$@" && exec "$0" -c "$ASK"', sys.executable, *outside.argv]
    with record(both, "a.cassette", tape=provider, env={"ASK": ASK}) as session:
        session.wait_for_text("Hello from the script.", timeout_s=60)
        session.wait_exit(timeout_s=60)

    assert outside.escapes() == []
    with record(
        both, "b.cassette", tape=provider, env={"ASK": ASK}, shared_network=True
    ) as session:
        session.wait_exit(timeout_s=60)
    assert "tcp" in outside.escapes()


def test_a_program_with_a_url_of_its_own_does_not_reach_it(outside: Outside, provider: str) -> None:
    """Its request would be answered, and be on no tape."""
    words = ("rec", "--headless", "--tape", "--provider", provider)
    ran = ptycassette(*words, "a.cassette", "--", *ASKING, provider, status=1)

    assert "Hello from the script." not in ran.stdout
    assert "--shared-network" in ran.stderr


KILLS = """
import os, signal, sys, time
number = getattr(signal, sys.argv[2])
recorder = int(open(f"/proc/{os.getppid()}/stat").read().rpartition(")")[2].split()[1])
def stat(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="latin-1") as file:
            name, _, rest = file.read().partition("(")[2].rpartition(")")
        with open(f"/proc/{pid}/cmdline", encoding="latin-1") as file:
            return name, file.read(), rest.split()[0], int(rest.split()[1])
    except OSError:
        return "", "", "Z", 0
def is_it(pid):
    name, words, _, parent = stat(pid)
    if sys.argv[1] == "relay":
        return name == "ptyc-relay" and parent == os.getppid()
    if sys.argv[1] == "proxy":
        return "proxy_process" in words and parent == recorder
    return pid == os.getppid()
found = [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if is_it(pid)]
print("found", len(found), flush=True)
time.sleep(float(sys.argv[3]))
for pid in found:
    os.kill(pid, number)
while any(stat(pid)[2] != "Z" for pid in found):
    time.sleep(0.01)
"""
QUICKLY, LATER = "0", "0.6"  # before and after ``launch.c`` becomes the supervisor in Python


@pytest.mark.parametrize("way", ["--headless", "--pipes", "library", "terminal"])
@pytest.mark.parametrize(
    ("helper", "number", "after_s", "says"),
    [
        ("relay", "SIGKILL", QUICKLY, "relay .* was killed"),
        ("relay", "SIGKILL", LATER, "relay .* was killed"),
        ("supervisor", "SIGKILL", QUICKLY, "supervisor .* was killed"),
        ("proxy", "SIGKILL", QUICKLY, "proxy ended before"),
        ("proxy", "SIGTERM", QUICKLY, "proxy was ended by SIGTERM"),
    ],
)
def test_a_program_that_kills_a_process_of_ours_is_not_saved(  # noqa: PLR0917 - one for each part
    outside: Outside, provider: str, way: str, helper: str, number: str, after_s: str, says: str
) -> None:
    """What came after that is on no tape, or its end is not known."""
    argv = [sys.executable, "-I", "-c", KILLS, helper, number, after_s]
    if way == "library":
        with (
            pytest.raises((RunFailedError, SessionError), match=says),
            record(argv, "a.cassette", tape=provider) as session,
        ):
            session.wait_exit(timeout_s=60)
    else:
        options = [] if way == "terminal" else [way]
        words = ["rec", *options, "--tape", "--provider", provider, "a.cassette", "--", *argv]
        if way == "terminal":
            with Session([COMMAND, *words], base_env=os.environ, size=Size(24, 300)) as session:
                status = session.wait_exit(timeout_s=60)
                shown = " ".join(session.screen().text.split())
            assert status.code == 125, shown
        else:
            shown = ptycassette(*words, status=125).stderr
        assert re.search(says, shown), shown
    assert not Path("a.cassette").exists()


@pytest.mark.parametrize("options", [(), ("--tape-only",)])
def test_a_rerun_is_off_the_network(
    outside: Outside, provider: str, options: tuple[str, ...]
) -> None:
    """Without the variable, too, and it cannot come back."""
    with record(ASKING, "a.cassette", tape=provider) as session:
        session.wait_exit(timeout_s=60)
    words = ("rerun", "--trust", "--cwd", ".", "--patience", "1", *options, "a.cassette")
    ran = ptycassette(*words, "--", *outside.argv)

    assert "a network namespace of its own, with loopback alone" in ran.stdout + ran.stderr
    assert outside.escapes() == []


def test_an_empty_tape_of_a_program_that_succeeded_is_a_failure(
    outside: Outside, provider: str
) -> None:
    """Elsewhere it may have been answered: the command and the library say what to do."""
    words = ("rec", "--headless", "--tape", "--shared-network", "--provider", provider)
    ran = ptycassette(*words, "a.cassette", "--", *ASKING, provider, status=125)

    assert "Hello from the script." in ran.stdout
    assert "the tape is empty" in ran.stderr
    assert "--proxy-env" in ran.stderr
    assert not Path("a.cassette").exists()
    assert Path("a.cassette.diagnostic").is_dir()
    with (
        pytest.raises(RunFailedError, match="the tape is empty"),
        record(["true"], "b.cassette", tape=provider) as session,
    ):
        session.wait_exit(timeout_s=60)


def test_a_tape_may_be_empty_if_the_program_failed(outside: Outside, provider: str) -> None:
    """How a CLI fails without its provider is worth a recording."""
    words = ("rec", "--headless", "--tape", "--provider", provider)
    ptycassette(*words, "a.cassette", "--", "false", status=1)

    assert Path("a.cassette", "manifest.json").exists()


def test_a_shared_network_cannot_be_disabled(
    outside: Outside, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The variable wins over the option."""
    monkeypatch.setenv("PTYCASSETTE_DISABLE_NETWORK", "1")
    words = ("rec", "--headless", "--tape", "--shared-network", "--provider", provider)
    ran = ptycassette(*words, "a.cassette", "--", "touch", "started", status=6)

    assert "leave out --shared-network" in ran.stderr
    assert not Path("started").exists()


# -- kernels that allow less ----------------------------------------------------------------------

NO_NAMESPACES = "echo 0 > /proc/sys/user/max_user_namespaces"
NO_NETWORK_NAMESPACES = f"{NO_NAMESPACES}; echo 0 > /proc/sys/user/max_net_namespaces"


def on_a_kernel(setting: str, *argv: str, options: str = "-Ur") -> subprocess.CompletedProcess[str]:
    """Run a command as the root of a user namespace in which less is allowed."""
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("unshare(1) is not installed")
    script = f'{setting} || exit 77; exec "$@"'
    ran = subprocess.run(
        [unshare, options, "sh", "-c", script, "sh", *argv],
        capture_output=True, text=True, check=False, timeout=120, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    if ran.returncode == 77:
        pytest.skip("the limits of a user namespace cannot be set here")
    return ran


@pytest.mark.parametrize("words", [("rec", "--headless", "a.cassette"), ("offline", "llm")])
def test_where_the_kernel_cannot_the_program_is_not_started(
    outside: Outside, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """Refused with 6, and with what to do."""
    monkeypatch.setenv("PTYCASSETTE_DISABLE_NETWORK", "1")
    ran = on_a_kernel(NO_NETWORK_NAMESPACES, COMMAND, *words, "--", "touch", "started")

    assert ran.returncode == 6
    assert "PTYCASSETTE_DISABLE_NETWORK" in ran.stderr
    assert "user.max_user_namespaces" in ran.stderr
    assert not Path("started").exists()


CONNECTS = """
import os, socket, sys, time
family, address = {
    "tcp": (socket.AF_INET, "127.0.0.1"), "tcp6": (socket.AF_INET6, "::1"),
    "udp": (socket.AF_INET, "127.0.0.1"), "itself": (socket.AF_INET, "127.0.0.1"),
    "proxy": (socket.AF_INET, "127.0.0.1"), "child": (socket.AF_INET, "127.0.0.1"),
}[sys.argv[1]]
port = int(sys.argv[2])
if sys.argv[1] == "itself":
    server = socket.create_server((address, 0))
    port = server.getsockname()[1]
if sys.argv[1] == "proxy":
    port = int(os.environ["OPENAI_BASE_URL"].split(":")[2].split("/")[0])
if sys.argv[1] == "child" and os.fork():
    os.wait()
    sys.exit(3)
with socket.socket(family, socket.SOCK_DGRAM if sys.argv[1] == "udp" else 1) as one:
    one.connect((address, port))
    time.sleep(3)
sys.exit(3)  # the tape may be empty then
"""


@pytest.mark.parametrize("kind", ["tcp", "tcp6", "udp", "child", "itself", "proxy"])
def test_where_the_kernel_cannot_a_connection_past_the_proxy_is_a_failure(
    outside: Outside, provider: str, kind: str
) -> None:
    """What it asks there is on no tape. It may connect to itself and to the proxy."""
    words = ["rec", "--headless", "--tape", "--provider", provider, "a.cassette", "--"]
    words += [sys.executable, "-I", "-c", CONNECTS, kind, str(outside.port)]
    ran = on_a_kernel(NO_NETWORK_NAMESPACES, COMMAND, *words)

    elsewhere = kind not in {"itself", "proxy"}
    assert ran.returncode == (125 if elsewhere else 3), ran.stderr
    assert Path("a.cassette").exists() is not elsewhere
    if elsewhere:
        assert "connected past the tape's proxy" in ran.stderr
        assert f":{outside.port} " in ran.stderr
        assert "--shared-network" in ran.stderr


def test_where_the_kernel_cannot_no_session_is_started(
    outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same in Python."""
    monkeypatch.setenv("PTYCASSETTE_DISABLE_NETWORK", "1")
    monkeypatch.setattr(network, "may_isolate", lambda: False)
    for start in (in_a_session, by_spawn, by_use("live"), by_use("record")):
        with pytest.raises(PreflightError, match="off the network"):
            start(["touch", "started"])
    assert not Path("started").exists()


def test_root_without_a_user_namespace_has_no_capability_that_leads_back(
    outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in containers whose kernel allows none."""
    monkeypatch.setenv("PTYCASSETTE_DISABLE_NETWORK", "1")
    words = ("rec", "--headless", "a.cassette", "--", *outside.argv)
    ran = on_a_kernel(NO_NAMESPACES, COMMAND, *words)

    assert ran.returncode == 0, ran.stderr
    assert outside.escapes() == []


ASKS_A_RESOLVER = """
import socket, subprocess, sys
from ptycassette.system.network import Guard
service = socket.socket(socket.AF_UNIX)
service.bind("/run/nscd/socket")
service.listen()
asks = "import socket; socket.socket(socket.AF_UNIX).connect('/run/nscd/socket')"
for words in (
    [sys.executable, "-c", asks], Guard().command(sys.executable, [sys.executable, "-c", asks])
):
    print(subprocess.run(words).returncode)
"""


def test_no_service_asks_name_servers_for_the_program() -> None:
    """Its names would leave the machine all the same."""
    setting = "mount -t tmpfs none /run && mkdir /run/nscd"
    ran = on_a_kernel(setting, sys.executable, "-c", ASKS_A_RESOLVER, options="-Urm")

    assert ran.stdout.split() == ["0", "1"], ran.stderr
    assert "FileNotFoundError" in ran.stderr


# -- the program is the one that would have run without a guard ----------------------------------

SURROUNDINGS = """
import json, os, signal, sys
print(json.dumps({
    "argv": sys.argv, "environment": dict(os.environ), "uid": [os.getuid(), os.getgid()],
    "signals": [line for line in open("/proc/self/status") if line[:6] in ("SigIgn", "SigBlk")],
    "fds": sorted(map(int, os.listdir("/proc/self/fd")))[:-1],
    "leader": os.getsid(0) == os.getpid() == os.getpgrp(), "cwd": os.getcwd(),
    "owner": os.stat("/").st_uid if os.getuid() == 0 else "of others: nobody",
}))
"""


def surroundings(guard: Guard | None) -> dict[str, object]:
    """What a program finds where it is started."""
    environment = {"PATH": os.environ["PATH"], "ODD": "\udcff=x", "EMPTY": ""}
    reading, writing = os.pipe()
    argv = [sys.executable, "-S", "-c", SURROUNDINGS, "a b", "\udcff", ""]
    with (
        spawn(
            argv, size=Size(24, 80), env=environment, streams=(None, writing, None), guard=guard
        ) as child,
        os.fdopen(reading) as output,
    ):
        os.close(writing)
        found: dict[str, object] = json.loads(output.read())
        child.wait()
    return found


def test_a_guarded_program_is_started_like_any_other() -> None:
    """Its words, environment, user, signals, descriptors, session and files."""
    assert surroundings(Guard()) == surroundings(None)


@pytest.mark.parametrize(("text", "status"), [("not a program", 126), ("#!/no/such/shell", 127)])
def test_a_guarded_program_that_cannot_be_executed_is_named(
    tmp_path: Path, text: str, status: int
) -> None:
    """As a shell does, by status and message."""
    program = tmp_path / "program"
    program.write_text(text)
    program.chmod(0o755)
    words = Guard().command(str(program), ["program"])
    ran = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)

    assert ran.returncode == status
    assert str(program) in ran.stderr


# -- the relay ------------------------------------------------------------------------------------


def relays() -> list[psutil.Process]:
    """Launchers and relays of this process and its children that are still there."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        if str(LAUNCH) in (process.info["cmdline"] or []):
            with contextlib.suppress(psutil.Error):
                if process.environ().get("RELAY_OF") == str(os.getpid()):
                    found.append(process)
    return found


def guarded(port: int, code: str) -> subprocess.Popen[bytes]:
    """A program off the network that may reach a port."""
    words = Guard((port,)).command(sys.executable, [sys.executable, "-I", "-c", code, str(port)])
    environment = {**os.environ, "RELAY_OF": str(os.getpid())}
    return subprocess.Popen(words, stdout=subprocess.PIPE, env=environment)


CLIENT = "import socket, struct, sys\nport = int(sys.argv[1])\n"


def test_the_relay_passes_bytes_on_in_both_directions() -> None:
    """More than fits into any buffer, with half of the connection closed in between."""
    code = f"""{CLIENT}
one = socket.create_connection(("localhost", port))
one.sendall(b"x" * 5_000_000)
one.shutdown(socket.SHUT_WR)
print(sum(map(len, iter(lambda: one.recv(65536), b""))))
"""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        guarded(server.getsockname()[1], code) as client,
    ):
        connection, _ = server.accept()
        with connection:
            got = sum(map(len, iter(lambda: connection.recv(65536), b"")))
            connection.sendall(b"y" * 7_000_000)
        assert client.stdout is not None
        said = client.stdout.read()
    assert got == 5_000_000
    assert said.strip() == b"7000000"
    psutil.wait_procs(relays(), timeout=90)
    assert not relays()


def test_a_reset_is_a_reset_at_the_other_end() -> None:
    """A broken connection is not taken for a finished one, in either direction."""
    code = f"""{CLIENT}
one = socket.create_connection(("127.0.0.1", port))
one.sendall(b"x")
try:
    print("end" if one.recv(1) == b"" else "data")
except ConnectionResetError:
    print("reset", flush=True)
one = socket.create_connection(("127.0.0.1", port))
one.sendall(b"x")
one.recv(1)
one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
one.close()
socket.create_connection(("127.0.0.1", port)).recv(1)  # the relay ends with its program
"""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        guarded(server.getsockname()[1], code) as client,
    ):
        one, _ = server.accept()
        one.recv(1)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        one.close()
        assert client.stdout is not None
        assert client.stdout.readline() == b"reset\n"
        two, _ = server.accept()
        with two:
            two.recv(1)
            two.sendall(b"y")
            with pytest.raises(ConnectionResetError):
                two.recv(1)
        three, _ = server.accept()
        three.close()


def test_a_port_that_nobody_serves_breaks_the_connection() -> None:
    """It is not answered by the relay."""
    code = f"""{CLIENT}
try:
    one = socket.create_connection(("127.0.0.1", port))
    print(one.recv(1))
except ConnectionError:
    print("broken")
"""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        with guarded(taken.getsockname()[1], code) as client:
            assert client.stdout is not None
            assert client.stdout.read() == b"broken\n"


def test_the_relay_ends_with_a_recorder_that_is_killed(outside: Outside) -> None:
    """And so does the program."""
    words = [COMMAND, "rec", "--headless", "a.cassette", "--", "sh", "-c", "echo up; sleep 300"]
    environment = {
        **os.environ, "PTYCASSETTE_DISABLE_NETWORK": "1",
        "RELAY_OF": str(os.getpid()), "MY_URL": f"http://127.0.0.1:{outside.port}",
    }  # fmt: skip
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=environment) as recorder:
        assert recorder.stdout is not None
        assert b"up" in recorder.stdout.readline()
        relaying = relays()
        left = [*psutil.Process(recorder.pid).children(recursive=True), *relaying]
        recorder.kill()
    _, alive = psutil.wait_procs(left, timeout=120)

    assert len(relaying) == 1
    assert not alive
