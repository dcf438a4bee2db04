"""Files of other tools become cassettes: whole, scrubbed, and with what was left out counted."""

from __future__ import annotations

import gzip
import json
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from vcr.request import Request
from vcr.serialize import serialize
from vcr.serializers import jsonserializer, yamlserializer

from ptycassette import open_cassette
from ptycassette.cassette.io.tape import RecordedExchange
from ptycassette.cli.info import info_of
from ptycassette.errors import ExistsError, UnreadableError, UsageError
from ptycassette.formats.export.registry import export_named
from ptycassette.formats.importing.io.importer import Imported, import_file
from ptycassette.formats.importing.registry import IMPORTS, import_named, import_of_file
from ptycassette.formats.importing.session import BadImportError
from ptycassette.tape.items import RequestBegun
from ptycassette.version import __version__

ROOT = Path(__file__).resolve().parents[4]
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


JSON_HEAD = {"content-type": ["application/json"]}
HELLO = {"messages": [{"role": "user", "content": "hello"}], "model": "m"}
COMPACT = msgspec.json.encode(HELLO)
SPACED = json.dumps(HELLO).encode()


def vcr(request: Any, response: Any, *, kind: str = "yaml") -> bytes:
    """A cassette of vcrpy with one interaction."""
    asked = {"method": "POST", "uri": "https://api.example.com/v1/x", "headers": JSON_HEAD}
    told = {"status": {"code": 200, "message": "OK"}, "headers": JSON_HEAD}
    one = {"request": {**asked, **request}, "response": {**told, **response}}
    document = {"interactions": [one], "version": 1}
    return (
        yaml.dump(document, sort_keys=False).encode()
        if kind == "yaml"
        else json.dumps(document).encode()
    )


def headed(**headers: str) -> dict[str, list[str]]:
    """The usual headers, and more."""
    return JSON_HEAD | {name.replace("_", "-"): [value] for name, value in headers.items()}


FORM = "application/x-www-form-urlencoded"
FORMS: dict[str, tuple[dict[str, Any], bytes]] = {
    "parsed_body": ({"parsed_body": HELLO}, COMPACT),
    "parsed_json": ({"parsed_json": HELLO}, COMPACT),
    "the spelling that has the length": (
        {"parsed_body": HELLO, "headers": headed(content_length=str(len(SPACED)))}, SPACED,
    ),
    "parsed, of a packed answer": (
        {"parsed_body": HELLO, "headers": headed(content_encoding="gzip")}, COMPACT,
    ),
    "parsed, a list": ({"parsed_body": [1, "é"]}, '[1,"é"]'.encode()),
    "inside of body": ({"body": {"parsed_json": HELLO}}, COMPACT),
    "a string": ({"body": {"string": "hi"}}, b"hi"),
    "a plain text": ({"body": "hi"}, b"hi"),
    "bytes": ({"body": {"string": b"\x00\xff"}}, b"\x00\xff"),
    "base64": ({"body": {"base64_string": "AP8="}}, b"\x00\xff"),
    "base64 in lines": ({"body": {"base64_string": b"AP\n8=\n"}}, b"\x00\xff"),
    "an object, by the headers": ({"body": HELLO}, COMPACT),
    "a form": (
        {"parsed_body": {"a": ["1", "2"], "b": "x y"}, "headers": {"Content-Type": [FORM]}},
        b"a=1&a=2&b=x+y",
    ),
    "packed": (
        {"body": {"string": gzip.compress(COMPACT)}, "headers": headed(content_encoding="gzip")},
        COMPACT,
    ),
    "packed twice": (
        {"body": {"string": gzip.compress(zlib.compress(b"hi"))},
         "headers": headed(content_encoding="deflate, gzip")},
        b"hi",
    ),
    "unpacked, with the header of before": (
        {"body": {"string": "hi"}, "headers": headed(content_encoding="br")}, b"hi",
    ),
    "nothing": ({"body": None}, b""),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("side", ["request", "response"])
def test_every_form_of_a_body_is_read(
    form: str, side: str, imported: Import, tmp_path: Path
) -> None:
    """Of questions and answers alike, byte for byte, and nothing is left out."""
    part, body = FORMS[form]
    made = imported(vcr(*((part, {}) if side == "request" else ({}, part))), "vcr")

    assert made.skipped == {}
    with exchanges(tmp_path / "made") as [one]:
        assert (one.question() if side == "request" else one.answer()) == body


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        ({"body": {"form": 1}, "headers": {}}, "a body that is neither text nor bytes"),
        ({"body": 5, "headers": {}}, "a body that is neither text nor bytes"),
        ({"body_file": "x.bin"}, "a body in a form that is not known: body_file"),
        ({"headers": headed(content_length="7")}, "bodies that the headers give a length"),
        (
            {"body": {"string": gzip.compress(COMPACT)[:-9]},
             "headers": headed(content_encoding="gzip")},
            "a body packed with gzip that is damaged",
        ),
    ],
)  # fmt: skip
def test_a_body_that_is_not_read_is_counted(
    part: dict[str, Any], reason: str, imported: Import
) -> None:
    """With the reason; without any call left the file is refused, and the reason is there."""
    whole = yaml.safe_load(vcr({}, {"body": "hi"}))
    other = yaml.safe_load(vcr({}, part))
    whole["interactions"] += other["interactions"]
    made = imported(yaml.dump(whole), "vcr")

    assert [why[: len(reason)] for why in made.skipped] == [reason]


def test_an_answer_to_head_has_no_body(imported: Import) -> None:
    """Its length is that of the body that GET would give (RFC 9110 section 9.3.2)."""
    made = imported(vcr({"method": "HEAD"}, {"headers": headed(content_length="7")}), "vcr")

    assert made.skipped == {}


def test_an_import_names_what_made_the_file(imported: Import, tmp_path: Path) -> None:
    """The program with its version, and the version of the format: in the manifest, and shown."""
    made = imported(exported(TAPE, "har"), "har")
    with open_cassette(tmp_path / "made") as cassette:
        said = (cassette.manifest.optional or {})["imported"]
        shown = info_of(cassette, cassette.verify()).imported

    assert said["made_by"] == made.made_by == f"ptycassette {__version__}"
    assert (said["format_version"], made.kind) == ("1.2", f"har 1.2, made by {made.made_by}")
    assert shown is not None
    assert (shown.format, shown.format_version, shown.made_by) == ("har", "1.2", made.made_by)


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
        "not a URL of HTTP or of a WebSocket": 1,
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
    with pytest.raises(UsageError, match="the format is not clear"):
        import_of_file("traffic.bin")


def test_the_page_lists_every_format() -> None:
    """Each row of the registry is one of its table."""
    page = (ROOT / "docs" / "imports.md").read_text(encoding="utf-8")

    assert [one.row for one in IMPORTS if one.row not in page] == []


def _repeating(request: str, *anchors: str) -> str:
    response = "response: {body: {string: hi}, headers: {}, status: {code: 200}}"
    calls = f"- request: {{body: '', method: GET, uri: 'http://a/', {request}}}\n  {response}\n"
    return "\n".join(anchors) + f"\ninteractions:\n{calls * 40}"


@pytest.mark.parametrize(
    "text",
    [
        _repeating(
            "parsed_body: *b6",
            "b0: &b0 [x, x, x, x, x, x, x, x, x]",
            *(f"b{n}: &b{n} [{', '.join([f'*b{n - 1}'] * 9)}]" for n in range(1, 7)),
        ),
        _repeating("headers: {a: *x, b: *x}", f"x: &x [{', '.join(['a'] * 5000)}]"),
        _repeating("headers: {a: [*x]}", f"x: &x '{'a' * 1_000_000}'"),
    ],
    ids=["lists of lists", "a list", "a text"],
)
def test_an_alias_counts_with_all_that_it_repeats(text: str) -> None:
    """A file of a kilobyte would become gigabytes of JSON. The line is named, and the limit."""
    with pytest.raises(
        BadImportError, match=r"line \d+: (more than \d+ values|aliases repeat more than \d+)"
    ):
        import_named("vcr").read(text.encode())


def test_what_vcrpy_repeats_by_an_alias_is_read() -> None:
    """PyYAML writes so what two interactions share."""
    text = _repeating("headers: *x", "x: &x {accept: ['*/*']}")
    session = import_named("vcr").read(text.encode())

    assert sum(isinstance(item, RequestBegun) for item in session.items) == 40


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("har", b'{"log":{"entries":[%s{}]}}' % (b"[]," * 600_000)),
        ("vcr", b'{"interactions":[%s{}]}' % (b"[]," * 600_000)),
        ("cendor", b'{"version":2,"entries":[%s{}]}' % (b"[]," * 600_000)),
        ("trace", b'{"a":[%s{}]}' % (b"[]," * 600_000)),
        ("otel", b'{"resourceSpans":[%s{}]}' % (b"[]," * 600_000)),
        ("asciicast", b'{"version":1,"width":8,"height":2,"stdout":[%s[]]}' % (b"[]," * 600_000)),
        ("vcr", b"interactions: [%sa]" % (b"a," * 600_000)),
    ],
)  # fmt: skip
def test_more_values_than_the_size_allows_are_refused_before_they_are_made(
    name: str, data: bytes
) -> None:
    """A value takes thirty times its bytes of memory; the limit is in the message."""
    tracemalloc.start()
    try:
        with pytest.raises(BadImportError, match=r"\d+ .*values"):
            import_named(name).read(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak < 8 * len(data)
