"""A hundred hostile directories and more: refused at once, in little memory, nothing else touched.

Each is opened by a fork that has an audit hook: every file that Python opens
while the directory is looked at must be opened without following links, and
nothing outside of the directory may be opened at all. Outside lies a canary
that the links, the pipes and the names point to.
"""

from __future__ import annotations

import importlib
import json
import os
import pickle
import pkgutil
import resource
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.processor_time import Stopwatch
from ptycassette import cassette as cassette_package
from ptycassette import open_cassette
from ptycassette.cassette.io.writer import CassetteWriter
from ptycassette.cli import main
from ptycassette.errors import CassetteError, ExistsError, NewerCassetteError, RefusedError
from ptycassette.model.records import Output, Typed
from ptycassette.testing import write_cassette

pytestmark = [pytest.mark.integration, pytest.mark.skipif(sys.platform != "linux", reason="/proc")]

MEMORY = 256 << 20
SECONDS = 1.0
UNPINNED = Path(__file__).resolve().parents[2] / "fixtures" / "v1" / "unpinned"
NAMES = sorted(path.name for path in UNPINNED.iterdir())
Break = Callable[[Path, Path], None]


def _linked(name: str, to: str) -> Break:
    def make(place: Path, outside: Path) -> None:
        (place / name).unlink()
        (place / name).symlink_to(to.format(outside=outside, name=name))

    return make


def _node(name: str, kind: str) -> Break:
    def make(place: Path, outside: Path) -> None:
        path = place / name
        path.unlink()
        if kind == "fifo":
            os.mkfifo(path)
        elif kind == "folder":
            path.mkdir()
        elif kind == "socket":
            home = os.getcwd()  # noqa: PTH109 - a socket's name may have 107 bytes
            os.chdir(place)
            try:
                with socket.socket(socket.AF_UNIX) as made:
                    made.bind(name)
            finally:
                os.chdir(home)
        elif kind == "device":
            try:
                os.mknod(path, 0o020600, os.makedev(1, 5))  # /dev/zero
            except PermissionError:
                path.symlink_to("/dev/zero")
        elif kind == "sparse":
            path.touch()
            os.truncate(path, 1 << 42)
        elif kind == "unreadable":
            path.symlink_to(path.name)  # a link to itself

    return make


def _data(name: str, data: bytes | Callable[[], bytes]) -> Break:
    def make(place: Path, outside: Path) -> None:
        (place / name).write_bytes(data() if callable(data) else data)

    return make


def _manifest(change: Callable[[dict[str, Any]], object], *, pinned: bool = False) -> Break:
    def make(place: Path, outside: Path) -> None:
        path = place / "manifest.json"
        manifest = json.loads(path.read_text())
        if pinned:
            manifest["optional"] = {"artifacts": {}}
        change(manifest)
        path.write_text(json.dumps(manifest))

    return make


def _artifact(name: str) -> Break:
    def change(manifest: dict[str, Any]) -> None:
        pin = {"sha256": "0" * 64, "bytes": 0}
        manifest["optional"] = {"artifacts": dict.fromkeys((*NAMES[:-1], name), pin)}

    return _manifest(change)


def _text(old: str, new: str) -> Break:
    def make(place: Path, outside: Path) -> None:
        path = place / "manifest.json"
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1), encoding="utf-8", errors="surrogatepass")

    return make


def _crowd(place: Path, outside: Path) -> None:
    for number in range(20_000):
        (place / f"{number}").touch()


def _hard_crowd(place: Path, outside: Path) -> None:
    """Names that a listing would show as something else."""
    for name in ("\u202egnp.exe", "\x1b]0;x\x07", "a\nb", "\xff" * 60, "-rf"):
        (place / name).touch()
    _manifest(lambda page: page.setdefault("optional", {}).update(artifacts={}))(place, outside)


def _lists(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


EVENT = b'{"seq":5,"t_ms":400,"payload":%s}\n'
FRAME = b'{"seq":4,"t_ms":300,"size":{"Rows":%s,"Cols":80},"text":[],"cursor":%s,%s}\n'
CURSOR = b'{"Row":0,"Col":0,"Visible":true}'
RANGE = b'"raw_start":0,"raw_end":0,"parser_offset":0'
CHUNK = b'{"seq":%s,"t_ms":%s,"offset":%s,"length":%s}\n'
HUGE = b"9" * 4000

LINKS = {
    f"link-{place}-{name}": _linked(name, to)
    for name in NAMES
    for place, to in (("out", "{outside}/secret"), ("absolute", "/etc/passwd"))
}
NODES = {
    f"{kind}-{name}": _node(name, kind)
    for kind in ("fifo", "folder", "socket", "device", "sparse", "unreadable")
    for name in NAMES
}
DOCUMENTS = {
    f"{kind}-{name}": _data(name, data)
    for name in ("manifest.json", "final.json", "scrub-report.json")
    for kind, data in (
        ("empty", b""),
        ("null", b"null"),
        ("list", b"[]"),
        ("nul-bytes", bytes(100_000)),
        ("deep", b'{"x":' + _lists(200_000) + b"}"),
        ("wide", lambda: b'{"x":[' + b"[]," * 1_000_000 + b"0]}"),
        ("digits", lambda: b'{"seq":' + b"9" * 3_000_000 + b"}"),
        ("nan", b'{"seq":NaN}'),
        ("twice", b'{"seq":1,"seq":1}'),
        ("surrogate", b'{"x":"\\ud800"}'),
        ("bom", b"\xef\xbb\xbf{}"),
        ("utf16", '{"version":1}'.encode("utf-16")),
        ("unclosed", lambda: b'{"x":"' + b"\\" * 2_000_000),
        ("keys", lambda: b"{" + b",".join(b'"%x":0' % n for n in range(300_000)) + b"}"),
    )
}
STREAMS = {
    "event-deep": _data("service-events.jsonl", EVENT % _lists(200_000)),
    "event-twice": _data("service-events.jsonl", EVENT % b'{"a":1,"a":2}'),
    "event-nan": _data("service-events.jsonl", EVENT % b"Infinity"),
    "event-huge-int": _data("service-events.jsonl", EVENT % HUGE),
    "event-surrogate": _data("service-events.jsonl", EVENT % b'"\\udc00"'),
    "chunk-negative": _data("output.jsonl", CHUNK % (b"1", b"0", b"-1", b"2")),
    "chunk-far": _data("output.jsonl", CHUNK % (b"1", b"0", b"9" * 18, b"2")),
    "chunk-all": _data("output.jsonl", CHUNK % (b"1", b"0", b"0", b"9" * 18)),
    "chunk-huge": _data("output.jsonl", CHUNK % (HUGE, b"0", b"0", b"1")),
    "seq-huge": _data("output.jsonl", CHUNK % (b"9" * 18, b"0", b"0", b"1")),
    "time-huge": _data("output.jsonl", CHUNK % (b"1", HUGE, b"0", b"1")),
    "frame-negative": _data("frames.jsonl", FRAME % (b"-1", CURSOR, RANGE)),
    "frame-huge": _data("frames.jsonl", FRAME % (b"99999999", CURSOR, RANGE)),
    "frame-cursor": _data("frames.jsonl", FRAME % (b"24", b"[1,2,true]", RANGE)),
    "frame-range": _data(
        "frames.jsonl", FRAME % (b"24", CURSOR, b'"raw_start":9,"raw_end":1,"parser_offset":-5')
    ),
    "input-base64": _data(
        "input.jsonl", b'{"seq":2,"t_ms":0,"kind":"input","bytes":"\xf0\x9f\x92\xa9"}\n'
    ),
    "line-endless": _data("input.jsonl", lambda: b"a" * (40 << 20)),
    "lines-empty": _data("input.jsonl", lambda: b"\n" * (20 << 20)),
}
MANIFESTS = {
    **{
        f"artifact-{number}": _artifact(name)
        for number, name in enumerate(
            (
                "../outside/secret",
                "/etc/passwd",
                "..",
                ".",
                "",
                "a/b",
                "a\\b",
                "manifest.json",
                ".hidden",
                "x\x00y",
                "x\ny",
                "\u202egnp.exe",
                "\x1b[31m",
                "n" * 5000,
                "missing.bin",
            )
        )
    },
    "key-twice": _text('"version": 1,', '"version": 1, "version": 1,'),
    "key-bidi": _text('"version"', '"\u202eversion"'),
    "key-case": _text('"version"', '"Version"'),
    "version-float": _text('"version": 1', '"version": 1.0'),
    "version-text": _text('"version": 1', '"version": "1"'),
    "version-huge": _text('"version": 1', f'"version": {"9" * 4000}'),
    "version-newer": _text('"version": 1', '"version": 2'),
    "rows-huge": _manifest(lambda page: page["terminal"].update(initial_rows=10**9)),
    "rows-negative": _manifest(lambda page: page["terminal"].update(initial_rows=-1)),
    "resolution": _manifest(lambda page: page["timing"].update(resolution_ms=0)),
    "feature": _manifest(lambda page: page.update(required_features=["\x1b]0;x\x07"])),
    "id-escape": _manifest(lambda page: page.update(id="")),
    "argv-object": _manifest(lambda page: page["command"].update(argv={"a": 1})),
    "artifacts-list": _manifest(lambda page: page.update(optional={"artifacts": []})),
    "artifacts-many": _manifest(
        lambda page: page.update(
            optional={"artifacts": {f"f{n}": {"sha256": "0" * 64, "bytes": 0} for n in range(9999)}}
        )
    ),
    "diagnostic": _data("diagnostic.json", b"\x1b]0;x\x07" * 1000),
    "diagnostic-fifo": lambda place, _: os.mkfifo(place / "diagnostic.json"),
    "diagnostic-link": lambda place, outside: (place / "diagnostic.json").symlink_to(outside),
    "crowd": _crowd,
    "names": _hard_crowd,
}
HOSTILE: dict[str, Break] = {**LINKS, **NODES, **DOCUMENTS, **STREAMS, **MANIFESTS}


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What must stay as it is, and unread."""
    place = tmp_path_factory.mktemp("outside")
    (place / "secret").write_text("canary " + "do-not-read")
    return place


class Built(dict[str, Path]):
    """The directories, each made when it is asked for."""

    def __init__(self, top: Path, outside: Path) -> None:
        super().__init__()
        self._top, self._outside = top, outside

    def __missing__(self, name: str) -> Path:
        place = self[name] = self._top / str(len(self))
        place.mkdir()
        for file in NAMES:
            (place / file).write_bytes((UNPINNED / file).read_bytes())
        HOSTILE[name](place, self._outside)
        return place


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, outside: Path) -> Iterator[Built]:
    """Those of all tests of a worker.

    What a reader loads on first use is loaded here: no fork then opens files of the package.
    """
    for module in pkgutil.walk_packages(cassette_package.__path__, f"{cassette_package.__name__}."):
        importlib.import_module(module.name)
    made = Built(tmp_path_factory.mktemp("hostile"), outside)
    yield made
    for place in made.values():
        for path in place.iterdir():
            if path.is_dir() and not path.is_symlink():
                path.rmdir()
            else:
                path.unlink()
        place.rmdir()


def _peak() -> int:
    """The most memory of this process since its fork, in bytes."""
    with open("/proc/self/status", encoding="ascii") as file:  # noqa: PTH123 - one line
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM"))


def elsewhere(action: Callable[[], object], place: Path) -> dict[str, Any]:
    """Run in a fork: what it raised, how long it took, its memory, and what it opened."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        opened: list[tuple[str, int]] = []
        status = 1
        try:
            signal.alarm(90)  # a guard against hanging alone
            most = _mapped_bytes() + (2 << 30)  # a test run that is long has mapped gigabytes
            resource.setrlimit(resource.RLIMIT_AS, (most, most))
            base = _peak()
            watching = True

            def hook(event: str, arguments: tuple[Any, ...]) -> None:
                if watching and event == "open" and not isinstance(arguments[0], int):
                    opened.append((os.fsdecode(arguments[0]), arguments[2]))

            sys.addaudithook(hook)
            with Stopwatch() as watch:
                try:
                    action()
                    raised, text = None, ""
                except BaseException as exc:  # noqa: BLE001 - it is looked at by the test
                    raised, text = type(exc), str(exc)
            told = {"raised": raised, "text": text, "cpu_s": watch.seconds}
            watching = False
            told |= {"grown": _peak() - base, "opened": opened}
            with os.fdopen(write, "wb") as file:
                pickle.dump(told, file)
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    with os.fdopen(read, "rb") as file:
        data = file.read()
    _, status = os.waitpid(pid, 0)
    assert status == 0, f"ended by {status}"
    told = pickle.loads(data)  # noqa: S301 - from our own fork
    assert isinstance(told, dict)
    return told


def _mapped_bytes() -> int:
    """The address space of this process (proc(5))."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
    return int(pages) * resource.getpagesize()


def _open_all(place: Path) -> None:
    with open_cassette(place) as cassette:
        for _ in cassette.events():
            pass


def _canary(outside: Path) -> tuple[object, ...]:
    found = (outside / "secret").stat()
    return (sorted(outside.iterdir()), found.st_atime_ns, found.st_mtime_ns, found.st_size)


def test_there_are_a_hundred_of_them() -> None:
    """And no two of the same name."""
    assert len(HOSTILE) >= 100


@pytest.mark.sampled(7)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_directory_is_refused(name: str, built: Built, outside: Path) -> None:
    """By a typed error, in a second and 256 MB, without opening anything that is not its own."""
    place = built[name]
    before = _canary(outside)
    told = elsewhere(lambda: _open_all(place), place)

    assert told["raised"] is not None, "it was accepted"
    assert issubclass(told["raised"], CassetteError), told["text"]
    assert told["cpu_s"] < SECONDS
    assert told["grown"] < MEMORY
    assert _canary(outside) == before
    assert all(flags & os.O_NOFOLLOW for _, flags in told["opened"]), told["opened"]
    assert {path for path, _ in told["opened"] if "/" in path} <= {str(place)}
    assert "canary" not in told["text"]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", [*NODES, *MANIFESTS])
def test_a_hostile_directory_is_not_overwritten_by_accident(
    name: str, built: Built, outside: Path
) -> None:
    """A writer looks before it replaces, and waits for no pipe."""
    place = built[name]

    def write() -> None:
        CassetteWriter(place, overwrite=True).abort()

    before, listed = _canary(outside), sorted(os.listdir(place))  # noqa: PTH208
    told = elsewhere(write, place)

    assert told["raised"] is None or issubclass(told["raised"], CassetteError), told["text"]
    assert told["cpu_s"] < SECONDS
    assert _canary(outside) == before
    assert sorted(os.listdir(place)) == listed  # noqa: PTH208


@pytest.mark.slow
@pytest.mark.sampled(3)
@pytest.mark.parametrize("command", ["info", "events", "frames", "verify", "scrub", "verify-scrub"])
def test_commands_refuse_them_with_a_documented_status(
    command: str, built: Built, outside: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A sample of each kind, by every command: no traceback, no escape, no bug status."""
    for name in [*list(NODES)[::3], *list(MANIFESTS)[::2], *list(STREAMS)[::3]]:
        place = built[name]
        before = _canary(outside)

        def run(place: Path = place) -> None:
            raise SystemExit(main([command, str(place)]))

        told = elsewhere(run, place)

        assert told["raised"] is SystemExit, (name, told)
        assert told["text"] in {"0", "3", "4", "6"}, (name, told["text"])
        assert _canary(outside) == before
    out, err = capfd.readouterr()
    assert not [char for char in out + err if not (char == "\n" or " " <= char <= "~")]


@pytest.mark.slow
def test_a_cassette_behind_a_link_is_refused(tmp_path: Path) -> None:
    """The directory itself may not be one, and neither may what is written over."""
    write_cassette(tmp_path / "c", Output(0, b"$ "), Typed(1, b"x"))
    (tmp_path / "link").symlink_to("c")

    for place in (tmp_path / "link", f"{tmp_path}/link/"):
        with pytest.raises(CassetteError, match="link"):
            open_cassette(place)
    with pytest.raises((ExistsError, NewerCassetteError, RefusedError)):
        CassetteWriter(tmp_path / "link", overwrite=True)
