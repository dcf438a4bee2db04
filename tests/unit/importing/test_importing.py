"""Files of other tools become cassettes: whole, scrubbed, and with what was left out counted."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from vcr.request import Request
from vcr.serialize import serialize
from vcr.serializers import jsonserializer, yamlserializer

from ptycassette import open_cassette
from ptycassette.cassette.io import RecordedExchange
from ptycassette.errors import ExistsError, UnreadableError, UsageError
from ptycassette.export import export_named
from ptycassette.importing import IMPORTS, import_named, import_of_file
from ptycassette.importing.io import Imported, import_file

ROOT = Path(__file__).resolve().parents[3]
TAPE = ROOT / "fixtures" / "v1" / "tape"
Import = Callable[..., Imported]


@pytest.fixture
def imported(tmp_path: Path) -> Import:
    """Write a file, and import it to ``tmp_path / made``."""

    def run(data: bytes | str, name: str, **options: Any) -> Imported:
        file = tmp_path / f"file.{name}"
        file.write_bytes(data.encode() if isinstance(data, str) else data)
        return import_file(file, tmp_path / "made", by=import_named(name), **options)

    return run


def exported(path: Path, name: str) -> bytes:
    """A cassette in a format."""
    with open_cassette(path) as source:
        return b"".join(export_named(name).recording(source))


@contextmanager
def exchanges(path: Path) -> Iterator[list[RecordedExchange]]:
    """The tape of a cassette, which is verified first."""
    with open_cassette(path) as cassette:
        yield list(cassette.tape())


@pytest.mark.parametrize("name", ["har", "vcr"])
def test_what_was_exported_comes_back(name: str, imported: Import, tmp_path: Path) -> None:
    """Exported again it is the same file, byte for byte."""
    data = exported(TAPE, name)
    made = imported(data, name)

    assert exported(tmp_path / "made", name) == data
    assert made.skipped == {}


def test_the_manifest_says_where_it_came_from(imported: Import, tmp_path: Path) -> None:
    """Format and digest of the file; there was no program whose end could be seen."""
    imported(exported(TAPE, "har"), "har")

    with open_cassette(tmp_path / "made") as cassette:
        assert (cassette.manifest.optional or {})["imported"]["from"] == "har"
        assert cassette.final.exit is None
        assert cassette.scrub_report.status != "unscrubbed"


@pytest.mark.parametrize("serializer", [yamlserializer, jsonserializer])
def test_cassettes_of_vcrpy_are_read(serializer: Any, imported: Import, tmp_path: Path) -> None:
    """As vcrpy itself writes them, credentials in headers left out."""
    secret = "sk-" + "live" * 6
    url = "https://api.example.com/v1/chat/completions"
    headers = {"Authorization": f"Bearer {secret}", "Accept": "*/*"}
    request = Request("POST", url, b'{"model":"m"}', headers)
    answer = {
        "status": {"code": 429, "message": "slow down"},
        "headers": {"retry-after": ["7"]},
        "body": {"string": b'{"error":1}'},
    }
    imported(serialize({"requests": [request], "responses": [answer]}, serializer), "vcr")

    with exchanges(tmp_path / "made") as [one]:
        entry, answer = one.entry, one.entry.answer
        assert (entry.upstream, entry.target) == ("https://api.example.com", "/v1/chat/completions")
        assert (one.question(), one.answer()) == (b'{"model":"m"}', b'{"error":1}')
        assert answer is not None
        assert (answer.status, answer.headers) == (429, (("retry-after", "7"),))
    assert not any(secret.encode() in file.read_bytes() for file in (tmp_path / "made").iterdir())


def test_chromes_archive_is_read(imported: Import, tmp_path: Path) -> None:
    """Messages in both directions, binary ones too; what has no body in it is counted."""
    head = {"startedDateTime": "2026-01-01T00:00:00.000Z", "time": 1}
    socket = {
        **head,
        "_resourceType": "websocket",
        "request": {"method": "GET", "url": "wss://api.example.com/v1/live", "headers": []},
        "response": {"status": 101, "headers": [{"name": ":status", "value": "101"}]},
        "_webSocketMessages": [
            {"type": "send", "time": 1767225600.5, "opcode": 1, "data": "hi"},
            {"type": "receive", "time": 1767225600.75, "opcode": 2, "data": "AAE="},
        ],
    }
    without = {
        **head,
        "request": {"method": "GET", "url": "https://example.com/"},
        "response": {"status": 200, "content": {"size": 10}},
    }
    file = {**without, "request": {"method": "GET", "url": "file:///etc/passwd"}}
    made = imported(json.dumps({"log": {"entries": [socket, without, file]}}), "har")

    with exchanges(tmp_path / "made") as [handshake, message]:
        pieces = [(chunk.form, data) for chunk, data in message.pieces()]
        assert (handshake.entry.upstream, message.entry.t_us) == (
            "https://api.example.com",
            500_000,
        )
        assert pieces == [("binary", b"\0\1")]
    assert made.skipped == {
        "the body of the answer is not in it": 1,
        "no URL of HTTP or of a WebSocket": 1,
    }


BROKEN = {
    "trace": {
        '{"messages": []}\n{"a"': "line 2",
        "[1]": "line 1 is not an object",
        '{"request": 1}': "no call .*1 times: no request",
    },
    "otel": {
        '{"a": 1}': "line 1 has neither",
        '{"resourceSpans": [{"scopeSpans": [{"spans": [{}]}]}]}': "line 1 is not OTLP",
        '{"resourceSpans": 1}': "line 1 is not OTLP",
        '{"resourceSpans": []}': "no call",
    },
    "har": {
        "{": "not JSON",
        "[]": "log.entries",
        '{"log":{"entries":[{"request":{}}]}}': "entry 1",
        '{"log":{"entries":[]}}': "no call",
        "[" * 100_000: "not JSON",
    },
    "vcr": {
        "a: 1\n]": "line 2",
        "- x": "interactions",
        "interactions: [{request: {}}]": "interaction 1",
        "[" * 100_000: "deeper",
        "interactions: !!python/object/apply:os.system [true]": "could not determine",
        '{"interactions": ': "not JSON",
    },
}


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [(name, data, said) for name, cases in BROKEN.items() for data, said in cases.items()],
    ids=lambda text: text[:20],
)
def test_broken_files_say_where(
    name: str, data: str, said: str, imported: Import, tmp_path: Path
) -> None:
    """Nothing is published then."""
    with pytest.raises(UnreadableError, match=said):
        imported(data, name)

    assert not (tmp_path / "made").exists()


def test_nothing_is_replaced_without_being_asked(imported: Import) -> None:
    """As when recording."""
    imported(exported(TAPE, "har"), "har")

    with pytest.raises(ExistsError):
        imported(exported(TAPE, "har"), "har")
    assert imported(exported(TAPE, "har"), "har", overwrite=True).entries == 3


def test_the_ending_tells_the_format() -> None:
    """Another ending asks for --format."""
    assert import_of_file("A.HAR").name == "har"
    with pytest.raises(UsageError, match="ending"):
        import_of_file("traffic.bin")


def test_the_page_lists_every_format() -> None:
    """Each row of the registry is one of its table."""
    page = (ROOT / "docs" / "imports.md").read_text(encoding="utf-8")

    assert [one.row for one in IMPORTS if one.row not in page] == []
