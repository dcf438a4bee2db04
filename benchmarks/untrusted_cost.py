"""What a stranger's file costs whoever opens it: each reader with each attack, in a process each.

``python -m benchmarks untrusted_cost`` takes a few minutes, ``--quick`` one in ten. A reader
must end, or refuse by an error of ours, within a second of processor time and 200 MB, whatever a
file of five megabytes says. The process ends with 1 when one does not.
"""

from __future__ import annotations

import atexit
import functools
import gc
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Self

import msgspec
from rich.console import Console
from rich.table import Table

from benchmarks import untrusted_attacks as attacks
from benchmarks.processor_time import Stopwatch
from ptycassette import open_cassette
from ptycassette.agents.harness.fake.engine import FakeProvider
from ptycassette.agents.harness.fake.script import HttpRequest, Script
from ptycassette.agents.harness.io.fake_provider import read_script
from ptycassette.agents.harness.io.files import load_probe, load_profile
from ptycassette.agents.harness.io.logs import read_logs
from ptycassette.cassette.io.verdict import verify_cassette
from ptycassette.cli import entry
from ptycassette.cli._rec_evidence import manifest_sha256
from ptycassette.cli._rec_plan import MAX_SCRIPT_BYTES, steps_of
from ptycassette.cli._rec_plan import _profile as answers_profile
from ptycassette.errors import CassetteError, UnreadableError
from ptycassette.formats.export.registry import exports_of
from ptycassette.formats.export.shown_lines import recording_text
from ptycassette.formats.importing.io.importer import import_file
from ptycassette.formats.importing.registry import import_named
from ptycassette.formats.importing.session import BadImportError
from ptycassette.model.records import Event, Finished, FrameRecord, Noted, Resized, Typed
from ptycassette.model.screen import Cursor, Size
from ptycassette.model.toml_text import MAX_TOML_BYTES as TOML_BYTES
from ptycassette.recording.io.finalising import recover
from ptycassette.replaying.io.library import Library
from ptycassette.replaying.scenario.evaluation import MAX_YAML_BYTES as YAML_BYTES
from ptycassette.replaying.scenario.evaluation import check_scenario
from ptycassette.replaying.scenario.io import evidence_of, load_scenario
from ptycassette.replaying.scenario.predicate import Evidence
from ptycassette.replaying.standin.io.process import read_reports
from ptycassette.scrub.io.setup import load_config
from ptycassette.seal.io.bundles import check_bundle
from ptycassette.seal.trust import Trust
from ptycassette.testing import ManualClock, events_of, manifest_of, write_cassette
from ptycassette_viewer.annotations import Annotations, sidecar
from ptycassette_viewer.session.session import ViewerSession
from ptycassette_viewer.session.source import CassetteSource

__all__ = ["MAX_MB", "MAX_S", "READERS", "Cost", "Measuring", "Reader", "cases", "main"]

ROOT = Path(__file__).resolve().parents[1]
PLAIN = ROOT / "fixtures" / "v1" / "unpinned"
SIZE = 5_000_000
MAX_S = 1.0
MAX_MB = 200.0
_VHS_BYTES = 2 << 20
_GUARD_S = 30
_GUARD_BYTES = 3 << 30


class Reader(msgspec.Struct, frozen=True):
    """Something that reads a file.

    Attributes:
        call: takes the path.
        name: of the file; empty for a cassette, of which a file is replaced.
        attacks: what to put there.
        bytes: the size of the file: what the reader accepts, if that is less than 5 MB.
        before: what is not counted.
        events: how many there are in a cassette that is made.
    """

    call: Callable[[Path], object]
    name: str
    attacks: dict[str, attacks.Attack]
    bytes: int = SIZE
    before: Callable[[], object] = list
    events: int = 50_000


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """What a reader took: processor seconds, megabytes more than before, and how it ended."""

    cpu_s: float
    mb: float
    ended: str

    @property
    def bounded(self) -> bool:
        """Whether it held the limits, and ended by itself or by an error of ours."""
        return self.cpu_s < MAX_S and self.mb < MAX_MB and not self.ended.startswith("!")


def _check(path: Path) -> None:
    row = "a" * 999 + "!"
    frame = FrameRecord(
        seq=0, t_ms=0, size=Size(rows=100, cols=1000), text=(row,) * 100,
        cursor=Cursor(row=0, col=0), raw_start=0, raw_end=0, parser_offset=0,
    )  # fmt: skip
    events = events_of(frame)
    check_scenario(load_scenario(path, bound=False), Evidence(manifest_of(), lambda: events))


@functools.cache
def _long_recording() -> list[Event]:
    """What is in five megabytes: screens, keys, resizes, service events."""
    rows = ("a" * 79 + " ",) * 24
    return events_of(
        *(
            FrameRecord(
                seq=n, t_ms=n, size=Size(rows=24, cols=80), text=rows, title=f"t{n}",
                cursor=Cursor(row=0, col=0), raw_start=0, raw_end=0, parser_offset=0,
            )
            for n in range(2000)
        ),
        *(Typed(n * 1000, b"a") for n in range(2000, 12_000)),
        *(Resized(n * 1000, Size(rows=24, cols=80)) for n in range(12_000, 22_000)),
        *(Noted(n * 1000, {"a": {"b": list(range(50))}}) for n in range(22_000, 32_000)),
        Finished(t_us=32_000_000, metadata={"a": ["a" * 99] * 10_000}),
    )  # fmt: skip


def _check_many(path: Path) -> None:
    evidence = Evidence(manifest_of(), _long_recording)
    check_scenario(load_scenario(path, bound=False), evidence)


def _library(path: Path) -> None:
    Library(path.parent, state=path.parent)


def _profile(path: Path) -> None:
    load_profile(str(path))


def _probe(path: Path) -> None:
    load_probe(str(path))


def _answers(path: Path) -> None:
    answers_profile(str(path))


def _steps(path: Path) -> None:
    steps_of(str(path))


def _reports(path: Path) -> None:
    list(read_reports(path))


def _log(path: Path) -> None:
    _logs_of("codex", path)


def _text_log(path: Path) -> None:
    _logs_of("aider", path)


def _logs_of(harness: str, path: Path) -> None:
    profile = load_profile(harness)
    logs = tuple(msgspec.structs.replace(log, base="cwd", glob=path.name) for log in profile.logs)
    read_logs(msgspec.structs.replace(profile, logs=logs), home=path.parent, cwd=path.parent)


def _journal(path: Path) -> None:
    recover(path, output=path.with_suffix(".cassette"))


def _body(path: Path) -> None:
    provider = FakeProvider(
        Script.parse("version = 1\n[[replies]]\ntext = 'x'\n", where="x", variables={}),
        ManualClock(),
    )
    for url in ("/v1/messages", "/v1/responses", "/v1beta/models/m:generateContent"):
        provider.http(HttpRequest(method="POST", path=url, body=path.read_bytes()))


def _notes(path: Path) -> None:
    cassette = open_cassette(PLAIN)
    read = path.parent / "c"
    shutil.copytree(PLAIN, read)
    sidecar(read).write_bytes(path.read_bytes())
    cassette.path = read
    Annotations(cassette)


def _open(path: Path) -> None:
    with open_cassette(path) as cassette:
        for _ in cassette.events():
            pass


def _verify(path: Path) -> None:
    verify_cassette(str(path))


def _text(path: Path) -> None:
    with open_cassette(path) as cassette:
        for _ in recording_text(cassette):
            pass


def _command(*words: str) -> Callable[[Path], None]:
    """A command as a user would type it, for the cassette FILE, with its output to nowhere."""

    def call(path: Path) -> None:
        named = {"FILE": path, "PLAIN": PLAIN, "FOLDER": path.parent, "OUT": path.parent / "out"}
        sys.stdout.flush()
        shown = [os.dup(number) for number in (1, 2)]
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        try:
            entry.cli.main([str(named.get(word, word)) for word in words], standalone_mode=False)
        finally:
            sys.stdout.flush()
            os.close(nowhere)
            for number, one in enumerate(shown, 1):
                os.dup2(one, number)
                os.close(one)

    return call


def _textconv(path: Path) -> None:
    for file in sorted(path.iterdir()):
        _command("textconv", "FILE")(file)


def _bundle(path: Path) -> None:
    check_bundle(str(path), str(path), trust=Trust(), allow_unsigned=True)


def _promote(path: Path) -> None:
    """Promote a run, of whose evidence one file after the other is from a stranger."""
    evidence = path.parent / "evidence"
    evidence.mkdir()
    whole: dict[str, dict[str, object]] = {
        "guard.json": {"verdict": "PASS", "published": True},
        "session.json": {
            "id": open_cassette(PLAIN).manifest.id,
            "manifest_sha256": manifest_sha256(PLAIN),
        },
        "redaction.json": {},
    }
    (evidence / "calls.jsonl").touch()
    words = ("promote", "PLAIN", "-o", "OUT", "--reviewed-by", "x", "--overwrite", "--evidence")
    for one in whole:
        for name, content in whole.items():
            data = path.read_bytes() if name == one else json.dumps(content).encode()
            (evidence / name).write_bytes(data)
        with suppress(CassetteError):
            _command(*words, str(evidence))(path)


def _view(path: Path) -> None:
    session = ViewerSession(CassetteSource(open_cassette(path, check="manifest")))
    session.run()
    session.close()


def _imported(name: str, path: Path) -> None:
    by = import_named(name)
    data = path.read_bytes()
    try:
        if by.whose:
            session = by.read_whose(str(path), "opencode")
        elif by.makes == "script":
            by.read_script(data)
            return
        elif by.name == "typescript":
            session = by.read(b"a" * SIZE, beside={"timing": data})
        else:
            session = by.read(data)
    except BadImportError as refused:
        raise UnreadableError(str(refused)) from refused
    for _ in session.events:
        pass


def _evidence(path: Path) -> None:
    _ = evidence_of(path).entries


READERS: dict[str, Reader] = {
    "scenario": Reader(
        load_scenario, "x.yaml", {**attacks.TEXT, **attacks.YAML, **attacks.JSON}, YAML_BYTES
    ),
    "check": Reader(_check, "x.yaml", attacks.SCENARIO, YAML_BYTES),
    "check-many": Reader(_check_many, "x.yaml", attacks.CHECKS, YAML_BYTES, _long_recording),
    "library": Reader(_library, "library.yaml", attacks.YAML, YAML_BYTES),
    "rules": Reader(load_config, "x.toml", {**attacks.TEXT, **attacks.TOML}, TOML_BYTES),
    "profile": Reader(_profile, "x.toml", attacks.TOML, TOML_BYTES),
    "probe": Reader(_probe, "x.toml", {**attacks.TOML, **attacks.PROBE}, TOML_BYTES),
    "answers": Reader(_answers, "x.toml", attacks.TOML, TOML_BYTES),
    "provider-script": Reader(read_script, "x.toml", {**attacks.TEXT, **attacks.TOML}, TOML_BYTES),
    "input-script": Reader(_steps, "x.txt", {**attacks.TEXT, **attacks.SCRIPT}, MAX_SCRIPT_BYTES),
    "report": Reader(_reports, "x.json", attacks.JSON),
    "session-log": Reader(_log, "x.jsonl", {**attacks.TEXT, **attacks.JSON_LINES}),
    "text-log": Reader(_text_log, "x.txt", {**attacks.TEXT, **attacks.HISTORY}),
    "journal": Reader(_journal, "x.journal", attacks.TEXT),
    "body": Reader(_body, "x.json", attacks.JSON),
    "bundle-verify": Reader(_bundle, "x.json", {**attacks.TEXT, **attacks.JSON}),
    "promote": Reader(_promote, "x.json", {**attacks.JSON, **attacks.JSON_LINES}),
    "notes": Reader(_notes, "x.json", attacks.JSON),
    **{
        f"import-{name}": Reader(
            functools.partial(_imported, name),
            f"x.{name}",
            own,
            _VHS_BYTES if name == "vhs" else SIZE,
        )
        for name, own in attacks.IMPORTS.items()
    },
    "import-session-log": Reader(
        functools.partial(_imported, "session-log"), "opencode.db", attacks.DATABASES
    ),
    **{
        f"cassette-{what}": Reader(
            call,
            "",
            {name: attack for name, (_, attack) in attacks.CASSETTE.items()}
            | dict.fromkeys(attacks.WHOLE, attacks.TEXT["nothing"]),
        )
        for what, call in (
            ("open", _open),
            ("verify", _verify),
            ("evidence", _evidence),
            ("text", _text),
        )
    },
}


_COMMANDS: dict[str, tuple[Callable[[Path], object], bool]] = {
    "events": (_command("events", "--signals", "FILE"), True),
    "events-json": (_command("events", "--json", "FILE"), True),
    "frames": (_command("frames", "FILE"), False),
    "frames-diff": (_command("frames", "--diff", "FILE"), False),
    "info": (_command("info", "FILE"), True),
    "ls": (_command("ls", "FOLDER"), True),
    "diff": (_command("diff", "FILE", "FILE"), True),
    "diff-other": (_command("diff", "--semantic", "PLAIN", "FILE"), False),
    "play": (_command("play", "FILE"), False),
    "tape": (_command("tape", "FILE"), True),
    "bundle": (_command("bundle", "export", "--unsigned", "--entry", "1", "FILE"), True),
    "textconv": (_textconv, True),
    "view": (_view, True),
    **{
        f"export-{one.name}": (
            _command("export", "--format", one.name, "FILE", "-"),
            one.name in {"har", "vcr", "atif", "otel", "inspect", "jsonl", "markdown"},
        )
        for one in exports_of("recording")
        if not one.is_binary and one.name != "svg"
    },
}
"""What is run on cassettes, and whether on one with a tape, too. Pictures take what painting
takes."""
_LOOKS = frozenset({"events", "frames", "info", "diff", "view"})
"""What reads all that a cassette holds; the others, of the same events, are held against fewer."""
_FEWER = {"diff": 25_000, "export-markdown": 15_000, "export-html": 15_000}
"""``diff`` reads two recordings; the others draw what each turn showed, at 50 to 100 µs."""
READERS |= {
    name: Reader(
        call,
        "",
        {
            attack: attacks.CASSETTE[attack][1]
            for attack in (attacks.SHOWN if name in _LOOKS else ("frames",))
        }
        | dict.fromkeys(
            attacks.WHOLE if name in _LOOKS else ("outputs", "keys", "turns", "marks"),
            attacks.TEXT["nothing"],
        )
        | ({"traffic": attacks.traffic} if with_tape else {})
        | (dict.fromkeys(attacks.SIGNALS, attacks.TEXT["nothing"]) if name == "events" else {}),
        before=functools.partial(call, PLAIN),
        events=_FEWER.get(name, 50_000),
    )
    for name, (call, with_tape) in _COMMANDS.items()
}


def cases(*, every: int = 1) -> Iterator[tuple[str, str]]:
    """Names of readers and attacks; one in so many."""
    named = [(reader, attack) for reader, it in READERS.items() for attack in it.attacks]
    yield from named[::every]


class Measuring:
    """A process that has loaded every reader, and forks one for each file.

    So what is counted is the reader's, and the start of an interpreter is paid once.
    """

    def __enter__(self) -> Self:
        self._server = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.untrusted_cost", "--serve"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._server.communicate()

    def __call__(self, reader: str, attack: str) -> Cost:
        """Read one file in a process of its own, with limits on its processor time and memory."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        with tempfile.TemporaryDirectory() as place:
            path = _made(Path(place), reader, attack)
            self._server.stdin.write(f"{reader} {path}\n".encode())
            self._server.stdin.flush()
            return msgspec.json.decode(self._server.stdout.readline(), type=Cost)


def _made(place: Path, reader: str, attack: str) -> Path:
    """The file or the cassette that is read."""
    what = READERS[reader]
    if what.name:
        path = place / what.name
        path.write_bytes(what.attacks[attack](what.bytes))
        return path
    whole = place / "c"
    if attack == "traffic":
        shutil.copytree(_with_tape(), whole)
        return whole
    events = attacks.SIGNALS.get(attack) or attacks.WHOLE.get(attack)
    if events is not None:
        write_cassette(whole, *map(events, range(what.events)))
        return whole
    shutil.copytree(PLAIN, whole)
    (whole / attacks.CASSETTE[attack][0]).write_bytes(what.attacks[attack](what.bytes))
    return whole


@functools.cache
def _with_tape() -> Path:
    """A cassette with a tape of five megabytes."""
    place = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, place)
    file = place / "x.har"
    file.write_bytes(attacks.traffic(SIZE))
    import_file(file, place / "c", by=import_named("har"))
    return place / "c"


def _serve() -> None:
    """Answer each line, a reader and a path, with what that took."""
    while line := sys.stdin.readline():
        reader, _, path = line.rstrip("\n").partition(" ")
        with suppress(CassetteError):  # a command of tapes refuses a recording without one
            READERS[reader].before()
        print(msgspec.json.encode(_forked(reader, Path(path))).decode(), flush=True)


def _forked(reader: str, path: Path) -> Cost:
    """Read it in a fork, and say what that took."""
    answer, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            gc.freeze()  # what was there before is not looked at on the reader's time
            os.write(write, msgspec.json.encode(_one(reader, path)))
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(answer, "rb") as file:
        data = file.read()
    _, status = os.waitpid(pid, 0)
    if not data:
        return Cost(cpu_s=_GUARD_S, mb=0, ended=f"! status {os.waitstatus_to_exitcode(status)}")
    return msgspec.json.decode(data, type=Cost)


def _one(reader: str, path: Path) -> Cost:
    """Read it here, and say what that took."""
    resource.setrlimit(resource.RLIMIT_CPU, (_GUARD_S, _GUARD_S))
    resource.setrlimit(resource.RLIMIT_AS, (_GUARD_BYTES, _GUARD_BYTES))
    before_mb = _peak_mb()
    with Stopwatch() as watch:
        try:
            READERS[reader].call(path)
            ended = "read"
        except CassetteError as refused:
            ended = type(refused).__name__
        except Exception as wrong:  # noqa: BLE001 - it is what is looked for
            ended = f"! {type(wrong).__name__}: {str(wrong)[:100]}"
    return Cost(cpu_s=watch.seconds, mb=_peak_mb() - before_mb, ended=ended)


def _peak_mb() -> float:
    with open("/proc/self/status", encoding="ascii") as file:  # noqa: PTH123 - one line of it
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM"))


def main(arguments: list[str]) -> int:
    """All cases, or one in ten of them; 1 when a reader takes too much."""
    if arguments == ["--serve"]:
        _serve()
        return 0
    wanted = {word for word in arguments if not word.startswith("-")}
    table = Table("reader", "attack", "CPU s", "MB", "ended", title="What a stranger's file costs")
    worst: dict[str, list[tuple[Cost, str]]] = {}
    with Measuring() as measure:
        for reader, attack in cases(every=10 if "--quick" in arguments else 1):
            if not wanted or reader in wanted:
                worst.setdefault(reader, []).append((measure(reader, attack), attack))
    wrong = 0
    for reader, costs in worst.items():
        unbounded = [pair for pair in costs if not pair[0].bounded]
        wrong += len(unbounded)
        for cost, attack in unbounded or [max(costs, key=lambda pair: pair[0].cpu_s)]:
            table.add_row(reader, attack, f"{cost.cpu_s:.2f}", f"{cost.mb:.0f}", cost.ended)
    with suppress(BrokenPipeError):
        Console(width=140).print(table)
        print(f"{sum(map(len, worst.values()))} cases, {wrong} above {MAX_S:g} s or {MAX_MB:g} MB")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
