"""Every reader of files and messages that others made, one row each: ``READERS``.

The law is the same for all: an input is read, or refused by an error that is declared, whose text
acts on no terminal; nothing outside of the input's own folder is written, no process is started, no
address is connected to, and less than ``MOST_S`` of processor time is used. Readers with a law of
their own are in ``targets/``.

The seeds of a row are made of the fixtures when they are needed.
"""

from __future__ import annotations

import base64
import bz2
import gzip
import json
import lzma
import os
import random
import shutil
import sqlite3
import struct
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal
from unittest.mock import patch

import h11
import msgspec

from benchmarks.safety_inputs import JSON_WORDS, good_journal, mutated, spoilt_json
from fuzz.plain import is_plain
from ptycassette.agents.fork.io.reading_lineage import read_lineage
from ptycassette.agents.harness.fake.engine import FakeProvider
from ptycassette.agents.harness.fake.script import HttpRequest, Script
from ptycassette.agents.harness.io.fake_provider import read_script
from ptycassette.agents.harness.io.files import load_probe, load_profile
from ptycassette.agents.harness.io.logs import read_log_file
from ptycassette.cassette.io.reader import open_cassette
from ptycassette.cassette.io.repair import fix_cassette, protect_from_git
from ptycassette.cassette.io.verdict import verify_cassette
from ptycassette.cli._promoting import fixture_of
from ptycassette.cli._rec_plan import _profile as answers_of
from ptycassette.cli._rec_plan import steps_of
from ptycassette.errors import CassetteError, RefusedError
from ptycassette.formats.export.git_text import git_lines
from ptycassette.formats.importing.io.importer import import_file, import_of
from ptycassette.formats.importing.io.scripts import import_script
from ptycassette.formats.importing.registry import IMPORTS, ImportFormat
from ptycassette.formats.importing.session import BadImportError
from ptycassette.model.records import NOT_JSON
from ptycassette.pytest_plugin.traces.page import write_index
from ptycassette.recording.io.finalising import recover
from ptycassette.replaying.io.library import STARTS_FILE, Library, StartCounts
from ptycassette.replaying.io.shims import CONFIG_NAME, read_shim_config
from ptycassette.replaying.standin.io.process import read_reports
from ptycassette.scrub.io.setup import load_config
from ptycassette.seal.bundle.transcripts import transcript_of
from ptycassette.seal.io.bundles import check_bundle
from ptycassette.seal.io.key_files import read_signer, read_trust
from ptycassette.seal.io.sealing import judged_seal
from ptycassette.seal.trust import Trust
from ptycassette.system.files.project_file import find_project
from ptycassette.system.git_questions import git_commit
from ptycassette.tape._heads import (
    answer_follower,
    end_of_head,
    events,
    head_for_provider,
    noted_headers,
    read_request,
)
from ptycassette.tape.consent.terms import Approval, UnsearchedBodyError, search_body
from ptycassette.tape.draws import read_draws
from ptycassette.tape.io.journal_file import TapeJournalReader
from ptycassette.tape.io.proxy import MessageFollower, NotFollowedError
from ptycassette.tape.io.recorded_answers import load_matching_rules
from ptycassette.tape.items import (
    AnswerBegun,
    AnswerData,
    Assembler,
    ExchangeEnded,
    RequestBegun,
    RequestData,
)
from ptycassette.tape.journal_codec import TapeEncoder, TapeHead
from ptycassette.tape.matching.checking import check_tape
from ptycassette.tape.matching.question import Rules
from ptycassette.tape.providers.answers import AnswerFacts, answer_of
from ptycassette.tape.providers.questions import question_model, read_question, tool_results
from ptycassette.tape.retries import wait_s
from ptycassette.tape.routing import NotServedError, Routes
from ptycassette.tape.unpacking import unpacker_for
from ptycassette.testing import ManualClock
from ptycassette_viewer.annotations import Annotations, sidecar
from ptycassette_viewer.traces.trace_screen import read_trace

ROOT = Path(__file__).resolve().parents[1]
FIXTURES = ROOT / "fixtures"
MOST_S = 2.0
"""For an input of a few thousand bytes, counted while it is watched, which takes several times as
long as reading alone."""
_STATUSES = {1, 2, 3, 4, 6, 7, 125, 126, 127}
_FAST = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108 - a folder of our own
_MOST_SEED = 4000
_WHOLE = 16
"""One input in so many is also published as a cassette, which takes long."""

Seeds = Callable[[], Iterable[bytes]]


class Reader(msgspec.Struct, frozen=True):
    """A reader of others' bytes.

    Attributes:
        read: takes the path of a file with the input.
        seeds: valid inputs.
        name: of the file.
        refuses: errors that it declares besides ours.
        made: the bytes of the file, of an input: what no fuzzer guesses is done here.
    """

    read: Callable[[Path], object]
    seeds: Seeds
    name: str = "input"
    refuses: tuple[type[Exception], ...] = ()
    made: Callable[[bytes], bytes] = bytes

    def check(self, data: bytes) -> None:
        """Read an input under watch."""
        with tempfile.TemporaryDirectory(prefix="ptycassette-fuzz-", dir=_FAST) as place:
            path = Path(place, "in", self.name)
            path.parent.mkdir()
            path.write_bytes(self.made(data))
            with _watched(Path(place)) as watch:
                try:
                    self.read(path)
                except CassetteError as refused:
                    assert is_plain(str(refused).replace("\n", "")), "the error acts on a terminal"
                    assert refused.exit_status in _STATUSES, "the status is not documented"
                except self.refuses:
                    pass
            assert watch.seen == [], f"it does what no reader may: {watch.seen}"
            assert watch.seconds < MOST_S, f"it takes {watch.seconds:.1f} s"


class _Watch:
    """What is done meanwhile that no reader may do."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.seen: list[str] = []
        self.seconds = 0.0

    def look(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "ctypes.dlopen" and arguments == (None,):
            return  # the C library, which is there
        if event in _FORBIDDEN:
            self.seen.append(f"{event} {arguments!r:.200}")
        elif event in _CHANGING or (event == "open" and _writes(arguments)):
            for path in arguments[_CHANGING.get(event, slice(1))]:
                if isinstance(path, int):  # what is open was looked at when it was opened
                    continue
                where = os.path.abspath(os.fsdecode(path))  # noqa: PTH100 - links stay
                if not where.startswith(self.place):
                    self.seen.append(f"{event} {where}")


_FORBIDDEN = frozenset(
    {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork"}
    | {"socket.connect", "socket.bind", "socket.getaddrinfo", "ctypes.dlopen", "pty.spawn"}
)
_CHANGING = {
    **dict.fromkeys(("os.remove", "os.rmdir", "os.mkdir", "os.chmod", "os.chown"), slice(1)),
    **dict.fromkeys(("os.truncate", "os.utime", "shutil.rmtree"), slice(1)),
    "os.rename": slice(2),
    "os.link": slice(1, 2),
    "os.symlink": slice(1, 2),
}
"""Which arguments of an audit event are paths that change."""
_watching: list[_Watch] = []


def _writes(arguments: tuple[Any, ...]) -> bool:
    path, _, flags = arguments
    changes = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    return isinstance(path, str | bytes) and bool(flags & changes) and path != os.devnull


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _watching:
        _watching[-1].look(event, arguments)


@cache
def _hooked() -> None:
    """An audit hook stays for ever, so there is one."""
    sys.addaudithook(_hook)


@contextmanager
def _watched(place: Path) -> Iterator[_Watch]:
    """Watch this process; home, state and temporary files are below ``place`` meanwhile."""
    _hooked()
    inside = str(place)
    names = ("HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")
    own = {**dict.fromkeys(names, inside), "PTYCASSETTE_STATE_DIR": inside}
    watch = _Watch(inside)
    here = os.getcwd()  # noqa: PTH109
    os.chdir(inside)  # names that are relative to a handle look like names of this folder
    with patch.dict(os.environ, own), patch.object(tempfile, "tempdir", inside):
        _watching.append(watch)
        began = time.thread_time()
        try:
            yield watch
        finally:
            watch.seconds = time.thread_time() - began
            _watching.remove(watch)
            os.chdir(here)


def _rarely(path: Path) -> bool:
    return zlib.crc32(path.read_bytes()) % _WHOLE == 0


# -- imports ------------------------------------------------------------------------------


def _import(by: ImportFormat, path: Path) -> None:
    if by.makes == "script":
        import_script(path, path.with_name("out.txt"), by=by)
        return
    if by.whose or _rarely(path):
        import_file(path, path.with_name("out"), by=by)
        return
    session = by.read(path.read_bytes(), partial=False)
    for _ in session.events:
        pass


def _import_typescript(path: Path) -> None:
    """An output, its timing and its input, with empty lines between them."""
    output, timing, typed = (*path.read_bytes().split(b"\n\n\n", 2), b"", b"")[:3]
    given = {"timing": timing, "input_log": typed} if timing else {}
    by = next(one for one in IMPORTS if one.name == "typescript")
    for event in by.read(output, beside=given, partial=len(output) % 2 == 0).events:
        assert event.t_us >= 0


def _import_packed(path: Path) -> None:
    import_file(path, path.with_name("out"), by=import_of(path))


def _import_log(path: Path) -> None:
    import_file(path, path.with_name("out"), by=import_of(path))


def _packed() -> Iterator[bytes]:
    for data in _asciicast():
        yield from (gzip.compress(data), bz2.compress(data), lzma.compress(data))


def _of_any_format() -> Iterator[bytes]:
    for seeds in _IMPORT_SEEDS.values():
        yield from seeds()


_profile = cache(load_profile)


def _log(harness: str, path: Path) -> None:
    read_log_file(_profile(harness), path)


_TABLES = {  # those of opencode and of llm
    "message": "id, session_id, time_created, data",
    "part": "id, message_id, session_id, time_created, data",
    "session": "id, parent_id, title, time_created",
    "turns": "datetime_utc, parent_message_hash, tip_message_hash, response_json, resolved_model,"
    " model, input_tokens, output_tokens",
    "parts": "message_hash, position, type, text, payload",
}
_TEXTS = {"data", "title", "response_json", "text", "payload"}


def _sqlite(data: bytes) -> bytes:
    """A database whose rows hold the input; one that begins like a database is taken as it is."""
    if data.startswith(b"SQLite"):
        return data
    with tempfile.TemporaryDirectory() as place:
        path = Path(place, "x.db")
        with closing(sqlite3.connect(path)) as database:
            text = data.decode("utf-8", "replace")
            for table, columns in _TABLES.items():
                database.execute(f"create table {table} ({columns})")
                row = [text if one in _TEXTS else "1" for one in columns.split(", ")]
                marks = ", ".join("?" for _ in row)
                database.execute(f"insert into {table} values ({marks})", row)  # noqa: S608 - ours
            database.commit()
        return path.read_bytes()


_ASKED = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
_SAID = {"id": "c-1", "model": "m", "choices": [{"message": {"content": "yes"}}],
         "usage": {"prompt_tokens": 1, "completion_tokens": 2}}  # fmt: skip
_URL = "http://127.0.0.1:9/v1/chat/completions"


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def _har() -> Iterator[bytes]:
    entry = {
        "startedDateTime": "2026-01-01T00:00:00.000Z", "time": 12.5,
        "request": {"method": "POST", "url": _URL, "httpVersion": "HTTP/1.1",
                    "headers": [{"name": "content-type", "value": "application/json"}],
                    "postData": {"mimeType": "application/json", "text": json.dumps(_ASKED)}},
        "response": {"status": 200, "statusText": "OK", "headers": [],
                     "content": {"mimeType": "application/json", "text": json.dumps(_SAID)}},
        "timings": {"send": 0, "wait": 10, "receive": 2},
        "_webSocketMessages": [{"type": "send", "time": 1.5, "opcode": 1, "data": "{}"}],
    }  # fmt: skip
    yield _json({"log": {"version": "1.2", "creator": {"name": "x"}, "entries": [entry]}})
    packed = base64.b64encode(zlib.compress(_json(_SAID))).decode()
    entry["response"]["content"] = {"encoding": "base64", "text": packed}  # type: ignore[index]
    entry["response"]["headers"] = [{"name": "content-encoding", "value": "deflate"}]  # type: ignore[index]
    yield _json({"log": {"entries": [entry, {**entry, "startedDateTime": "2026-01-01T00:00:00Z"}]}})


def _vcr() -> Iterator[bytes]:
    yield (
        "interactions:\n- request:\n    method: POST\n    uri: " + _URL + "\n    body: '"
        + json.dumps(_ASKED) + "'\n    headers: {content-type: [application/json]}\n"
        "  response:\n    status: {code: 200, message: OK}\n    headers: {}\n    body: {string: '"
        + json.dumps(_SAID) + "'}\n- request: {method: GET, uri: '" + _URL + "', body: null}\n"
        "  response: {status: {code: 200}, body: {base64_string: aGk=}}\nversion: 1\n"
    ).encode()  # fmt: skip
    yield b'interactions:\n- request: {body: !!binary "aGk=", headers: {}, method: GET, uri: x}\n'


def _cendor() -> Iterator[bytes]:
    call = {"seq": 1, "kind": "llm", "request": {**_ASKED, "provider": "openai"}, "response": _SAID}
    tool = {"seq": 2, "kind": "tool", "request": {"name": "n", "args": {}}, "response": "x"}
    yield _json({"version": 2, "entries": [call, tool]})
    yield _json({"version": 1, "entries": [call]})


def _asciicast() -> Iterator[bytes]:
    yield (
        b'{"version": 2, "width": 80, "height": 24, "timestamp": 1, "env": {"TERM": "x"}}\n'
        b'[0.1, "o", "hi\\r\\n"]\n[0.2, "i", "a"]\n[0.3, "r", "90x30"]\n[0.4, "m", "x"]\n'
    )
    yield (
        b'{"version": 3, "term": {"cols": 80, "rows": 24}, "title": "t"}\n[0.1, "o", "x"]\n'
        b'# comment\n[0.2, "x", "0"]\n'
    )
    yield _json({"version": 1, "width": 80, "height": 24, "duration": 1, "command": "x",
                 "title": "t", "env": {}, "stdout": [[0.1, "hi"], [0.2, "\x1b[1m"]]})  # fmt: skip


def _ttyrec() -> Iterator[bytes]:
    frames = ((1, 5, b"\x1b[8;24;80thi"), (1, 900, b"there\r\n"), (2, 0, b""))
    yield b"".join(struct.pack("<III", *at, len(text)) + text for *at, text in frames)


def _typescript() -> Iterator[bytes]:
    head = b'Script started on 2026-01-01 00:00:00+00:00 [TERM="xterm" COLUMNS="80" LINES="24"]\n'
    body = b"$ ls\r\nx\r\n"
    done = b'\nScript done on 2026-01-01 00:00:01+00:00 [COMMAND_EXIT_CODE="0"]\n'
    yield head + body + done + b"\n\n\n0.1 4\n0.2 5\n"
    yield head + body + done + b"\n\n\nO 0.1 4\nS 0.1 SIGWINCH ROWS=30 COLS=90\nI 0.1 1\nO 0.2 5\n"
    yield head + body + done + b"\n\n\nO 0.1 9\nI 0.1 1\n\n\n" + head + b"a" + done


def _tui_test() -> Iterator[bytes]:
    yield _json({"tracePoints": [
        {"time": 1_700_000_000_000, "data": "hi"},
        {"rows": 30, "cols": 90}, {"data": "x", "time": 1_700_000_000_100},
    ], "testName": ["a"], "attempt": 0})  # fmt: skip


def _otel() -> Iterator[bytes]:
    def text(key: str, value: str) -> dict[str, Any]:
        return {"key": key, "value": {"stringValue": value}}

    asked = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "hi"}]}])
    said = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "y"}]}])
    span = {
        "traceId": "0" * 31 + "1", "spanId": "0" * 15 + "1", "name": "chat m", "kind": 3,
        "startTimeUnixNano": "1700000000000000000", "endTimeUnixNano": "1700000001000000000",
        "attributes": [
            text("gen_ai.operation.name", "chat"), text("gen_ai.request.model", "m"),
            text("gen_ai.input.messages", asked), text("gen_ai.output.messages", said),
            {"key": "gen_ai.usage.input_tokens", "value": {"intValue": "3"}},
            {"key": "gen_ai.response.finish_reasons",
             "value": {"arrayValue": {"values": [{"stringValue": "stop"}]}}},
        ],
        "events": [{"timeUnixNano": "1700000000500000000", "name": "gen_ai.user.message",
                    "attributes": [text("content", "x")]}],
    }  # fmt: skip
    scope = {"scope": {"name": "s"}, "spans": [span]}
    resource = {"attributes": [text("service.name", "x")]}
    spans = {"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]}
    yield _json(spans)
    yield _json(spans) + b"\n" + _json(spans)


def _trace() -> Iterator[bytes]:
    yield _json({"request": _ASKED, "response": _SAID, "timestamp": 1.5, "latency_ms": 3})
    yield b"\n".join(_json({"input": _ASKED["messages"], "output": "yes", "model": "m", "t": n})
                     for n in range(2))  # fmt: skip


def _of_log(*rows: dict[str, Any]) -> Seeds:
    return lambda: [b"\n".join(map(_json, rows)), _json(list(rows)), _json({"messages": rows})]


_CLAUDE_ROWS = (
    {"type": "user", "uuid": "a", "sessionId": "s", "timestamp": "2026-01-01T00:00:00Z",
     "version": "2.0", "cwd": "/x", "message": {"role": "user", "content": "hi"}},
    {"type": "assistant", "uuid": "b", "sessionId": "s", "timestamp": "2026-01-01T00:00:01Z",
     "message": {"id": "m", "role": "assistant", "model": "m", "usage": {"input_tokens": 1},
                 "content": [{"type": "text", "text": "y"},
                             {"type": "tool_use", "id": "t", "name": "Bash", "input": {"c": 1}}]}},
)  # fmt: skip
_CODEX_ROWS = (
    {"timestamp": "2026-01-01T00:00:00Z", "type": "session_meta",
     "payload": {"id": "s", "cwd": "/x", "cli_version": "1"}},
    {"timestamp": "2026-01-01T00:00:01Z", "type": "event_msg",
     "payload": {"type": "token_count", "info": {"total_token_usage": {"input_tokens": 3}}}},
    {"timestamp": "2026-01-01T00:00:02Z", "type": "response_item",
     "payload": {"type": "message", "role": "user", "content": [{"type": "input_text",
                                                                "text": "hi"}]}},
)  # fmt: skip
_GEMINI_ROWS = (
    {"sessionId": "s", "startTime": "2026-01-01T00:00:00Z", "lastUpdated": "2026-01-01T00:00:00Z",
     "messages": [{"id": "1", "timestamp": "2026-01-01T00:00:00Z", "type": "user", "content": "h"},
                  {"id": "2", "type": "gemini", "timestamp": "2026-01-01T00:00:01Z", "content": "y",
                   "tokens": {"input": 1}, "toolCalls": [{"id": "t", "name": "n", "args": {}}]}]},
)  # fmt: skip
_TEXT_LOG = (
    b"\n# aider chat started at 2026-01-01 00:00:00\n\n> Model: m\n\n#### hi\n\nyes\n\n"
    b"> Tokens: 1.1k sent, 3 received. Cost: $0.01 message, $0.01 session.\n"
)


# -- cassettes ----------------------------------------------------------------------------


def _in_cassette(name: str, use: Callable[[Path], object], path: Path, *, of: str = "tape") -> None:
    """The input as a file of a cassette, of one with a tape where nothing else is said."""
    whole = path.parent / "c"
    shutil.copytree(FIXTURES / "v1" / of, whole)
    (whole / name).write_bytes(path.read_bytes())
    use(whole)


def _read_cassette(path: Path) -> None:
    verify_cassette(str(path))
    with open_cassette(path, check="manifest", allow_unscrubbed=True) as cassette:
        rules = load_matching_rules(tape=(cassette.manifest.optional or {}).get("tape"))
        exchanges = list(cassette.tape()) if (path / "tape.jsonl").exists() else []
        for exchange in exchanges:
            read_question(exchange.question())
            exchange.answer()
        check_tape(exchanges, rules, key=bytes(32))
        for _ in cassette.events():
            pass


def _repair(path: Path) -> None:
    fix_cassette(path, allow_unscrubbed=True)


def _tape_files(*names: str) -> Seeds:
    return lambda: [(FIXTURES / "v1" / "tape" / name).read_bytes() for name in names]


def _cassette_files(*patterns: str) -> Seeds:
    def seeds() -> Iterator[bytes]:
        for path in (path for one in patterns for path in sorted(FIXTURES.glob(one))):
            if path.stat().st_size < _MOST_SEED:
                yield path.read_bytes()

    return seeds


def _lineage(path: Path) -> None:
    whole = path.parent / "c"
    shutil.copytree(FIXTURES / "v1" / "tape", whole)
    (whole / "final.json").write_bytes(path.read_bytes())
    read_lineage(whole)
    read_lineage(path.parent)


def _forked() -> Iterator[bytes]:
    final = json.loads((FIXTURES / "v1" / "tape" / "final.json").read_bytes())
    fork = {"parent": {"path": "p", "id": "i", "sha256": "0" * 64}, "at": "tape:1",
            "changes": [{"name": "response", "value": "x"}], "t_us": 1, "seq": 2}  # fmt: skip
    yield _json({**final, "metadata": {"fork": fork}})
    yield _json(final)


def _journal(path: Path) -> None:
    recover(path, output=path.with_suffix(".cassette"))


def _journals() -> Iterator[bytes]:
    make = good_journal()
    return (make(random.Random(seed)) for seed in range(4))  # noqa: S311 - the same every time


def _tape_journal(path: Path) -> None:
    with closing(TapeJournalReader(path)) as reader:
        made = Assembler()
        for item in reader.poll():
            for _ in made.take(item):
                pass
        reader.finish()
        for _ in made.end(1):
            pass


_TIMED = {"t_us": 1, "exchange": 1}


def _tape_journals() -> Iterator[bytes]:
    """Items as MessagePack in JSON's clothes: see ``_framed_items``."""
    items = (
        RequestBegun(**_TIMED, connection=1, kind="http", method="POST", upstream="http://h:1",
                     target="/v1/x?a=b", headers=(("content-type", "application/json"),)),
        RequestData(**_TIMED, data=_json(_ASKED)),
        AnswerBegun(**_TIMED, status=200, reason="OK", headers=(("content-encoding", "gzip"),)),
        AnswerData(**_TIMED, data=b"data: " + _json(_SAID)),
        ExchangeEnded(t_us=1, exchange=1, outcome="complete"),
    )  # fmt: skip
    yield b"\n".join(map(msgspec.json.encode, items))


def _framed_items(data: bytes) -> bytes:
    """A journal with whole frames, of lines of JSON; bytes that are none are a journal as it is."""
    encoder = TapeEncoder(salt=7)
    parts = [encoder.begin(TapeHead(origin_us=0))]
    try:
        for line in data.split(b"\n"):
            value = msgspec.json.decode(line)
            if isinstance(value, dict) and isinstance(value.get("data"), str):
                value["data"] = base64.b64decode(value["data"])
            parts.append(encoder.record(1, 1, msgspec.msgpack.encode(value)))
    except (*NOT_JSON, OverflowError):
        return data
    return b"".join(parts)


def _draws(path: Path) -> None:
    list(read_draws(path.read_bytes(), where="draws"))


def _textconv(path: Path) -> None:
    for line in git_lines(path.read_bytes()):
        assert is_plain(line), "a line of a diff acts on a terminal"


# -- seals and bundles --------------------------------------------------------------------


@cache
def _sealed() -> tuple[bytes, Trust, dict[str, str]]:
    """A seal, whom to trust, and the digests of what it seals."""
    import sigstore.verify  # noqa: F401, PLC0415 - its first import tries what sockets there are

    from ptycassette.seal.io.sealing import (  # noqa: PLC0415
        KeySealer,
        digests_of,
        seal_cassette,
    )
    from ptycassette.seal.trust import (  # noqa: PLC0415
        TrustedKey,
        new_private_key,
        signer_of,
    )

    with tempfile.TemporaryDirectory() as place:
        whole = Path(place, "login")
        shutil.copytree(FIXTURES / "v1" / "minimal", whole)
        signer, public = signer_of(new_private_key(), where="fuzz")
        done = seal_cassette(str(whole), KeySealer(signer, public), overwrite=True)
        assert done.ok, done.error
        seal = Path(place, "login.seal.json").read_bytes()
        return seal, Trust((TrustedKey("fuzz", public),), "trust.toml"), digests_of(str(whole))


def _seal(path: Path) -> None:
    seal, trust, digests = _sealed()
    data = path.read_bytes()
    verdict = judged_seal(data, path="login", absolute="/x/login", digests=digests, trust=trust)
    assert not verdict.ok or json.loads(data) == json.loads(seal), "a forgery passes"


def _seals() -> Iterator[bytes]:
    yield _sealed()[0]
    yield _json({
        "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
        "verificationMaterial": {"certificate": {"rawBytes": "AA=="},
                                 "tlogEntries": [{"logIndex": "1", "logId": {"keyId": "AA=="},
                                                  "kindVersion": {"kind": "dsse",
                                                                  "version": "0.0.1"},
                                                  "integratedTime": "1",
                                                  "canonicalizedBody": "AA=="}]},
        "dsseEnvelope": json.loads(_sealed()[0]),
    })  # fmt: skip


def _keys() -> Iterator[bytes]:
    from ptycassette.seal.trust import new_private_key, signer_of  # noqa: PLC0415

    private = new_private_key()
    yield private
    yield signer_of(private, where="fuzz")[1].line.encode()


def _trusts() -> Iterator[bytes]:
    _, line = _keys()
    yield b'[keys.a]\npublic_key = "' + line + b'"\npaths = ["x", "../y"]\n'
    yield b'[identities.b]\nidentity = "x@h"\nissuer = "https://h"\ntrusted_root = "r.json"\n'


def _bundle(path: Path) -> None:
    """A bundle, an actual record and an expected transcript, with empty lines between them."""
    parts = (*path.read_bytes().split(b"\n\n", 2), b"", b"")[:3]
    names = ("bundle", "actual", "structural")
    files = [path.with_name(name) for name in names]
    for file, part in zip(files, parts, strict=True):
        file.write_bytes(part)
    result = check_bundle(
        str(files[0]), str(files[1]), trust=Trust(), allow_unsigned=True, allow_any_key=True,
        structural=str(files[2]) if parts[2] else None,
    )  # fmt: skip
    assert all(map(is_plain, (*result.errors, *result.warnings))), "a message acts"


def _bundles() -> Iterator[bytes]:
    digest = f"sha256:{'0' * 64}"
    bundle = {
        "version": "0.1", "step_id": "s", "created_at": "2026-01-01T00:00:00Z",
        "inputs": {"system_prompt": digest, "messages": digest, "tools": digest},
        "model": {"provider": "p", "name": "m"}, "sampling": {"temperature": 0.5, "seed": 1},
        "output": {"hash": digest}, "equality": {"level": "byte"},
    }  # fmt: skip
    actual = {"inputs": {"system_prompt": "", "messages": [], "tools": []}, "output": "x"}
    yield _json(bundle) + b"\n\n" + _json(actual) + b"\n\n" + _json({"tool_calls": []})


# -- the provider's traffic ---------------------------------------------------------------

_TOKEN = "t" * 8
_ROUTES = partial(
    Routes, token=_TOKEN, port=9, upstreams={"p": "http://127.0.0.1:8/v1"}, forward=True
)  # fmt: skip


def _request(path: Path) -> None:
    """A request at the port of the proxy, as the proxy reads it."""
    data = path.read_bytes()
    end = end_of_head(data)
    request, reader = read_request(data[:end])
    routes = _ROUTES()
    if request.method == b"CONNECT":
        routes.tunnel(request)
        return
    to = routes.destination(request)
    head = head_for_provider(request, to)
    again, _ = read_request(head)
    assert again.target.decode("ascii") == to.target, "the provider reads another target"
    assert _TOKEN.encode() not in head.split(b"\r\n", 1)[0], "the provider learns the token"
    noted_headers(request, to)
    reader.receive_data(data[end:])
    for _ in events(reader):
        pass


def _requests() -> Iterator[bytes]:
    token, here = _TOKEN.encode(), b"host: 127.0.0.1:9\r\n"
    yield b"POST /%b/p/chat?x=1 HTTP/1.1\r\n%bcontent-length: 2\r\n\r\n{}" % (token, here)
    yield b"GET /%b/p HTTP/1.1\r\n%bupgrade: websocket\r\n\r\n" % (token, here)
    chunked = b"transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
    yield b"POST /%b/p/x HTTP/1.1\r\n%b%b" % (token, here, chunked)
    user = b"proxy-authorization: Basic " + base64.b64encode(b"x:" + token) + b"\r\n\r\n"
    yield b"GET http://h:1/a HTTP/1.1\r\nhost: h\r\n" + user
    yield b"CONNECT h:443 HTTP/1.1\r\nhost: h\r\n" + user


def _answer(path: Path) -> None:
    """A provider's answer: its head, its body, packed or not, and what it says of itself."""
    data = path.read_bytes()
    request, _ = read_request(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n")
    follower = answer_follower(request)
    follower.receive_data(data)
    unpacker, facts = unpacker_for(""), AnswerFacts()
    for event in events(follower):
        if isinstance(event, h11.Response):
            headers = {name: value.decode("latin-1") for name, value in event.headers}
            unpacker = unpacker_for(headers.get(b"content-encoding", ""))
            facts = AnswerFacts(headers.get(b"content-type", ""))
            wait_s(headers.get(b"retry-after"), attempt=1, now=datetime(2026, 1, 1, tzinfo=UTC))
        elif isinstance(event, h11.Data):
            for piece in unpacker.feed(bytes(event.data)):
                facts.feed(piece)
    unpacker.end()
    facts.end()


def _answers() -> Iterator[bytes]:
    stream = b"event: message\ndata: " + _json(_SAID) + b"\n\ndata: [DONE]\n\n"
    yield b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" + stream
    packed = zlib.compress(_json(_SAID))
    yield b"HTTP/1.1 200 OK\r\ncontent-encoding: deflate\r\ncontent-length: %d\r\n\r\n%b" % (
        len(packed),
        packed,
    )
    yield b"HTTP/1.1 429 No\r\nretry-after: Thu, 01 Jan 2026 00:00:09 GMT\r\n\r\n"


def _stream(path: Path) -> None:
    """Server-sent events of any provider, cut anywhere."""
    data = path.read_bytes()
    half = len(data) // 2
    for kind in ("text/event-stream", "application/json", None):
        made = answer_of([data[:half], data[half:]], kind)
        transcript_of(made)
    facts = AnswerFacts("text/event-stream")
    facts.feed(data[:half])
    facts.feed(data[half:])
    facts.end()
    assert facts.usage is not None


def _streams() -> Iterator[bytes]:
    for event in (
        {"type": "message_start", "message": {"id": "m", "model": "m", "usage": {"x": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "t",
                                                                      "name": "n", "input": {}}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta",
                                                              "partial_json": "{"}},
        {"type": "response.completed", "response": {"id": "r", "output": [
            {"type": "function_call", "call_id": "c", "name": "n", "arguments": "{}"},
            {"type": "message", "content": [{"type": "output_text", "text": "y"}]}]}},
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"name": "n"}}]}}]},
        {"candidates": [{"content": {"parts": [{"functionCall": {"name": "n", "args": {}}}]},
                         "finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 1}},
    ):  # fmt: skip
        yield b"data: " + _json(event) + b"\n\n"


def _question(path: Path) -> None:
    """The body of a question: what is read of it before it leaves."""
    data = path.read_bytes()
    read_question(data)
    try:
        value = msgspec.json.decode(data)
    except NOT_JSON:
        value = None
    question_model(value, "/v1/models/x:generate")
    list(tool_results(value))
    for kind in ("", "multipart/form-data; boundary=b"):
        try:
            search_body(data, ("holdout", "secret"), content_type=kind)
        except UnsearchedBodyError:
            continue


def _questions() -> Iterator[bytes]:
    yield _json({**_ASKED, "tools": [{"name": "n", "input_schema": {"type": "object"}}]})
    yield _json({"messages": [{"role": "tool", "tool_call_id": "c", "content": '{"secret":1}'}]})
    yield b'--b\r\ncontent-disposition: form-data; name="secret"\r\n\r\nx\r\n--b--\r\n'
    yield b"a=b&secret=c"


def _frames(path: Path) -> None:
    """Frames of a WebSocket, cut anywhere; the first byte chooses whose they are."""
    data = path.read_bytes()
    sender: Literal["client", "provider"] = "client" if data[:1] < b"\x80" else "provider"
    offered = "permessage-deflate" if data[1:2] < b"\x80" else ""
    whole = MessageFollower(sender, offered)
    parts = MessageFollower(sender, offered)
    found = [*whole.feed(data[2:])]
    again: list[Any] = []
    for at in range(2, len(data)):
        again += parts.feed(data[at : at + 1])
        if parts.close_code is not None:
            break
    assert found[: len(again)] == again[: len(found)], "it matters where it is cut"


def _sockets() -> Iterator[bytes]:
    text = b'{"type":"x"}'
    mask = b"\1\2\3\4"
    masked = bytes(one ^ mask[at % 4] for at, one in enumerate(text))
    yield b"\x00\xff\x81" + bytes([0x80 | len(text)]) + mask + masked
    yield b"\xff\xff\x81" + bytes([len(text)]) + text + b"\x88\x02\x03\xe8"
    packer = zlib.compressobj(wbits=-15)
    packed = (packer.compress(text) + packer.flush(zlib.Z_SYNC_FLUSH))[:-4]
    yield b"\xff\x00\xc1" + bytes([len(packed)]) + packed + b"\x89\x00"


def _extension(path: Path) -> None:
    MessageFollower("provider", path.read_bytes().decode("latin-1"))


def _provider(path: Path) -> None:
    """A body for the fake provider."""
    text = "version = 1\n[[replies]]\ntext = 'x'\n"
    provider = FakeProvider(Script.parse(text, where="x", variables={}), ManualClock())
    for url in ("/v1/messages", "/v1/responses", "/v1beta/models/m:generateContent",
                "/v1/chat/completions"):  # fmt: skip
        provider.http(HttpRequest(method="POST", path=url, body=path.read_bytes()))


# -- settings -----------------------------------------------------------------------------


def _project(path: Path) -> None:
    find_project(path.parent)
    load_config(cwd=path.parent)


def _rules(path: Path) -> None:
    Rules.parse((path.read_bytes().decode("utf-8", "replace"), "fuzz"))


def _approval(path: Path) -> None:
    Approval.parse(path.read_bytes().decode("utf-8", "replace"), where="fuzz")


def _starts(path: Path) -> None:
    StartCounts(path.parent).count("key")


def _notes(path: Path) -> None:
    whole = path.parent / "c"
    shutil.copytree(FIXTURES / "v1" / "minimal", whole)
    with open_cassette(whole) as cassette:
        sidecar(whole).write_bytes(path.read_bytes())
        Annotations(cassette)


def _note_files() -> Iterator[bytes]:
    with open_cassette(FIXTURES / "v1" / "minimal") as cassette:
        manifest = cassette.manifest
    yield _json({"version": 1, "cassette_id": manifest.id,
                 "output_sha256": manifest.content_digest.sha256,
                 "notes": [{"t_us": 1, "seq": 1, "text": "x"}]})  # fmt: skip


def _index(path: Path) -> None:
    """The traces of a run: two tests with the same one."""
    for name in ("a", "b"):
        folder = path.parent / "run" / name
        folder.mkdir(parents=True)
        (folder / "trace.json").write_bytes(path.read_bytes())
    write_index(path.parent / "run")


def _traces() -> Iterator[bytes]:
    run = {"cassette": "c", "divergences": [], "drift": []}
    yield _json({"report": "ptycassette-trace", "version": 1, "test": "t", "outcome": "failed",
                 "message": "E x", "runs": [run]})  # fmt: skip


def _evidence(path: Path) -> None:
    """What ``promote`` reads of a run."""
    run, folder = path.parent / "run", path.parent / "evidence"
    shutil.copytree(FIXTURES / "v1" / "tape", run)
    folder.mkdir()
    for name in ("guard.json", "session.json", "redaction.json"):
        (folder / name).write_bytes(path.read_bytes())
    with suppress(RefusedError):  # no evidence of another run is that of this one
        fixture_of(run, folder, path.parent / "out", reviewed_by="x")


def _git(path: Path) -> None:
    """What a repository's files say of its commit: HEAD, a branch, packed-refs, a worktree's."""
    head, refs, common = (*path.read_bytes().split(b"\n\n", 2), b"", b"")[:3]
    git = path.parent / ".git"
    git.mkdir()
    for name, data in (("HEAD", head), ("packed-refs", refs), ("commondir", common)):
        if data:
            (git / name).write_bytes(data)
    with patch("ptycassette.system.git_questions._asked", lambda _: None):
        found = git_commit(path.parent)
    assert found is None or len(found) in {40, 64}


def _npm(path: Path) -> None:
    """The package that a program belongs to, by the files around it."""
    from ptycassette.recording.io.options import installed_version  # noqa: PLC0415

    program = path.parent / "node_modules" / "x" / "bin" / "x.js"
    program.parent.mkdir(parents=True)
    program.write_bytes(b"#!/usr/bin/env node\n")
    (program.parent.parent / "package.json").write_bytes(path.read_bytes())
    installed_version(program)


def _snapshot(path: Path) -> None:
    from ptycassette.agents.harness.io.probe_watch import _last_ok  # noqa: PLC0415

    _last_ok(path)


def _texts(*texts: bytes) -> Seeds:
    return lambda: texts


def _packaged(pattern: str) -> Seeds:
    """Files that come with the product."""
    return lambda: [
        path.read_bytes()[:4000].rpartition(b"\n[")[0] or path.read_bytes()
        for path in sorted((ROOT / "ptycassette").glob(pattern))
    ]


_IMPORT_SEEDS: dict[str, Seeds] = {
    "har": _har,
    "vcr": _vcr,
    "cendor": _cendor,
    "asciicast": _asciicast,
    "ttyrec": _ttyrec,
    "tui-test": _tui_test,
    "otel": _otel,
    "trace": _trace,
    "vhs": _texts(
        b'Output x.gif\nSet Shell bash\nSet Width 740\nType@5ms "ls" Enter\nSleep 1s\n'
        b'Wait+Screen@3s /a/\nCtrl+C Hide Show\nCopy "a" Paste\nEnv A "b"\n'
    ),
}
_LOG_SEEDS: dict[str, tuple[str, Seeds]] = {
    "aider": (".aider.chat.history.md", _texts(_TEXT_LOG)),
    "claude": ("s.jsonl", _of_log(*_CLAUDE_ROWS)),
    "codex": ("rollout-s.jsonl", _of_log(*_CODEX_ROWS)),
    "copilot": ("events.jsonl", _of_log(*_CODEX_ROWS)),
    "gemini": ("session-s.json", _of_log(*_GEMINI_ROWS)),
    "kimi": ("wire.jsonl", _of_log(*_CODEX_ROWS)),
    "llm": ("logs.db", _of_log(*_GEMINI_ROWS)),
    "mini": ("last_mini_run.traj.json", _of_log(*_GEMINI_ROWS)),
    "opencode": ("opencode.db", _of_log(*_GEMINI_ROWS)),
    "pi": ("s.jsonl", _of_log(*_CLAUDE_ROWS)),
    "qwen": ("s.jsonl", _of_log(*_CLAUDE_ROWS)),
    "vibe": ("projection-state.json", _of_log(*_CODEX_ROWS)),
}
READERS: dict[str, Reader] = {
    **{
        f"import-{by.name}": Reader(
            partial(_import, by),
            _IMPORT_SEEDS[by.name],
            f"input{by.endings[0]}",
            (BadImportError,),
            zlib.compress if by.name == "tui-test" else bytes,
        )
        for by in IMPORTS
        if by.name in _IMPORT_SEEDS
    },
    "import-typescript": Reader(_import_typescript, _typescript, refuses=(BadImportError,)),
    "import-packed": Reader(_import_packed, _packed, "input.cast.gz"),
    "import-unnamed": Reader(import_of, _of_any_format, "input"),
    **{
        f"log-{harness}": Reader(
            partial(_log, harness), seeds, name, made=_sqlite if name.endswith(".db") else bytes
        )
        for harness, (name, seeds) in _LOG_SEEDS.items()
    },
    "import-log": Reader(_import_log, _of_log(*_CLAUDE_ROWS), "s.jsonl"),
    **{
        f"cassette-{name.partition('.')[0]}": Reader(
            partial(_in_cassette, name, _read_cassette, of=of), _cassette_files(f"v1/*/{name}")
        )
        for name, of in (
            ("manifest.json", "tape"),
            ("final.json", "tape"),
            ("scrub-report.json", "tape"),
            ("tape.jsonl", "tape"),
            ("service-events.jsonl", "tape"),
            ("quota.json", "awkward"),
            ("discovery.json", "awkward"),
        )
    },
    "cassette-tape-bodies": Reader(
        partial(_in_cassette, "tape-bodies.bin", _read_cassette),
        _cassette_files("v1/tape/tape-bodies.bin"),
    ),
    "repair-manifest": Reader(
        partial(_in_cassette, "manifest.json", _repair), _cassette_files("v1/tape/manifest.json")
    ),
    "repair-output": Reader(
        partial(_in_cassette, "output.raw", _repair), _cassette_files("v1/tape/output.raw")
    ),
    "repair-lines": Reader(
        partial(_in_cassette, "frames.jsonl", _repair), _cassette_files("v1/tape/frames.jsonl")
    ),
    "gitattributes": Reader(
        partial(_in_cassette, ".gitattributes", protect_from_git),
        _texts(b"* text=auto\n", b"*.raw -text\r\n# x\n"),
    ),
    "lineage": Reader(_lineage, _forked),
    "recover": Reader(_journal, _journals, "input.journal"),
    "tape-journal": Reader(_tape_journal, _tape_journals, made=_framed_items),
    "draws": Reader(
        _draws, _texts(b'{"kind":"random","value":"0.5"}\n{"kind":"time_ns","value":"1"}\n')
    ),
    "textconv": Reader(_textconv, _cassette_files("v1/*/*.json*", "v1/*/output.raw")),
    "seal": Reader(_seal, _seals),
    "trust": Reader(read_trust, _trusts, "trust.toml"),
    "key": Reader(lambda path: read_signer(str(path)), _keys),
    "bundle": Reader(_bundle, _bundles),
    "proxy-request": Reader(_request, _requests, refuses=(h11.RemoteProtocolError, NotServedError)),
    "proxy-answer": Reader(_answer, _answers, refuses=(h11.RemoteProtocolError,)),
    "proxy-question": Reader(_question, _questions),
    "answer-stream": Reader(_stream, _streams),
    "websocket": Reader(_frames, _sockets, refuses=(NotFollowedError,)),
    "websocket-extension": Reader(
        _extension,
        _texts(b"permessage-deflate; client_max_window_bits=10; server_no_context_takeover"),
        refuses=(NotFollowedError,),
    ),
    "provider-body": Reader(_provider, _questions),
    "project-file": Reader(
        _project,
        _texts(
            b'[tool.ptycassette]\nsize = "100x30"\nmode = "auto"\nlibrary = "x"\n'
            b'idle_limit = "2s"\n[tool.ptycassette.seal]\nrequired = true\ntrust = "t"\n'
            b"[tool.ptycassette.scrub]\n"
        ),
        "pyproject.toml",
    ),
    "profile": Reader(
        lambda path: load_profile(str(path)), _packaged("profiles/*.toml"), "input.toml"
    ),
    "probe": Reader(
        lambda path: load_probe(str(path)), _packaged("agents/harness/probes/*.toml"), "input.toml"
    ),
    "tape-rules": Reader(_rules, _packaged("tape/rules/*.toml")),
    "approval": Reader(
        _approval,
        _texts(
            b'version = 1\nupstreams = ["https://h"]\nuntil = 2026-12-01\n'
            b"[limit]\nrequests = 1\ntokens = 2\nusd = 0.5\n"
        ),
    ),
    "answers": Reader(
        lambda path: answers_of(str(path)),
        _texts(b'name = "x"\ncell_pixels = [16, 8]\n[answers]\nda1 = "\\u001b[?62c"\n'),
    ),
    "library": Reader(
        lambda path: Library(path.parent, state=path.parent),
        _texts(b'rules:\n- cassettes: [a]\n  argv: [x]\n- cassettes: [b]\n  argv_regex: "x.*"\n'),
        "library.yaml",
    ),
    "input-script": Reader(
        lambda path: steps_of(str(path)),
        _texts(b'wait-text "x"\ntype "a"\nkey enter\npause 1s\nnote {"a": 1}\n'),
    ),
    "provider-script": Reader(
        read_script, _texts(b'version = 1\n[[replies]]\ntext = "x"\n[replies.when]\nmodel = "m*"\n')
    ),
    "report": Reader(
        lambda path: list(read_reports(path)),
        _texts(b'{"report": "ptycassette-stand-in", "cassette": "x", "divergences": []}'),
    ),
    "shims": Reader(
        lambda path: read_shim_config(path.parent),
        _texts(b'{"mode": "replay", "library": "x", "state": "s"}'),
        CONFIG_NAME,
    ),
    "starts": Reader(_starts, _texts(b'{"key": 3}'), STARTS_FILE),
    "notes": Reader(_notes, _note_files),
    "trace-index": Reader(_index, _traces, "trace.json"),
    "trace-viewer": Reader(read_trace, _traces, "trace.json"),
    "evidence": Reader(_evidence, _texts(b'{"verdict": "PASS", "published": true}')),
    "snapshot": Reader(_snapshot, _texts(b'{"last_ok": null, "version": 1}')),
    "git": Reader(
        _git,
        _texts(b"ref: refs/heads/main\n\n" + b"0" * 40 + b" refs/heads/main", b"a" * 40),
    ),
    "package": Reader(_npm, _texts(b'{"name": "x", "version": "1", "bin": {"x": "bin/x.js"}}')),
}


def spoilt(data: bytes, chance: random.Random) -> bytes:
    """An input like another: a place of its tree changed if it is JSON, or some of its bytes."""
    tree = spoilt_json(data, chance) if chance.random() < 0.7 else None
    return tree if tree is not None else mutated(data, JSON_WORDS, chance)
