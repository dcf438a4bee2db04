"""Files of a cassette as text for diffs: what people see, and nothing that changes each time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ptycassette.formats.export.git_text import git_lines
from ptycassette.model.records import Finished, Noted, Output, Resized, Signalled, Typed
from ptycassette.model.screen import Size
from ptycassette.testing import write_cassette

TAPED = Path(__file__).resolve().parents[4] / "fixtures" / "tapes" / "client-tape"


def lines(path: Path) -> list[str]:
    """The text of a file."""
    return list(git_lines(path.read_bytes()))


def record(path: Path, *, late_us: int = 0) -> Path:
    """A small session, at one time or another."""
    write_cassette(
        path,
        Output(100 + late_us, b"\x1b]2;a title\x07one\r\n"),
        Typed(200_000 + late_us, b"ls\x1b[A\r"),
        Typed(210_000 + late_us, b"\x1b[1;1R", "terminal"),
        Resized(300_000 + late_us, Size(rows=4, cols=9)),
        Signalled(400_000 + late_us, "int"),
        Noted(500_000 + late_us, {"type": "note", "text": "\u202ex\x1b", "t_ms": 5}),
        Output(600_000 + late_us, b"two"),
        Finished(t_us=700_000 + late_us),
    )
    return path


def test_what_was_typed_and_said_is_shown_and_does_nothing(tmp_path: Path) -> None:
    """In order; control and bidirectional characters are escapes."""
    cassette = record(tmp_path / "a")

    assert lines(cassette / "input.jsonl") == [
        "input ls\\e[A\\r", "input \\e[1;1R  (terminal)", "resize 9x4", "signal int",
    ]  # fmt: skip
    (event,) = lines(cassette / "service-events.jsonl")
    assert event.startswith('event {"type":"note","text":"')
    assert not set(event) & {"\u202e", "\x1b"}
    assert "t_ms" not in event
    assert lines(cassette / "output.jsonl") == []
    assert lines(cassette / "output.raw")[0].startswith("\\e]2;a title")


def test_the_same_recorded_again_has_the_same_text(tmp_path: Path) -> None:
    """Times, ids and digests are left out; screens that follow each other unchanged, too."""
    first, second = record(tmp_path / "a"), record(tmp_path / "b", late_us=50_000)

    for file in sorted(first.iterdir()):
        assert lines(file) == lines(second / file.name), file.name
    frame = {"seq": 1, "t_ms": 1, "cursor": {}, "text": ["a\x07", "", "b", ""], "title": "t"}
    later = {**frame, "seq": 2, "t_ms": 9}
    other = {**frame, "text": ["a"], "title": ""}
    data = "".join(json.dumps(one) + "\n" for one in (frame, later, other))
    assert list(git_lines(data.encode())) == [
        "screen: t", "  a\\x07", "", "  b", "screen", "  a",
    ]  # fmt: skip


def test_requests_of_a_tape_are_named() -> None:
    """What was asked, and with which status it was answered."""
    found = lines(TAPED / "tape.jsonl")

    assert found
    assert all(line.startswith("tape POST /v1/") for line in found)
    assert all(line.endswith("http 200") for line in found)


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"", []),
        (b"{", ["{"]),
        (b'{"kind":"input","kind":"input"}', ['{"kind":"input","kind":"input"}']),
        (b'{"kind":"input","bytes":7}', ["input "]),
        (b'{"kind":"resize"}', ["resize NonexNone"]),
        (b'{"cursor":0,"text":[1,null]}', ["screen", "  1", "  None"]),
        (b"\xff\x1b[2J\n", ["\\xff\\e[2J"]),
        (b"[" * 100_000, ["[" * 10_000 + "... (90000 more bytes)"]),
        (b"{\n" + b'"a":' * 3, ["{", '"a":"a":"a":']),
    ],
)
def test_what_is_broken_is_shown_as_it_is(data: bytes, shown: list[str]) -> None:
    """A diff of a broken file is a diff, too."""
    assert list(git_lines(data)) == shown


ACTIVE = "\x1b]0;x\x07\u202e"
RECORDS = [
    {"kind": "resize", "size": {"Rows": 1, "Cols": 2}},
    {"kind": "signal", "signal": "INT"},
    {"kind": "input", "bytes": "aGk=", "source": "driver"},
    {"cursor": {}, "text": ["a"], "title": "t"},
    {"offset": 0, "length": 1},
    {"payload": {"a": 1}},
    {"entry": 1, "connection": 1, "method": "GET", "target": "/", "answer": {"status": 200}},
]


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a value: what holds it, and its key."""
    for key in value if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from places(value[key])


@pytest.mark.parametrize("given", RECORDS, ids=lambda one: str(next(iter(one))))
@pytest.mark.parametrize("odd", [ACTIVE, [ACTIVE], {ACTIVE: ACTIVE}, None, 1.5, [[]], "", True])
def test_no_value_of_a_record_acts_or_is_a_traceback(given: dict[str, Any], odd: Any) -> None:
    """Whatever stands at any place of a record: git shows it whenever somebody asks for a diff."""
    for number in range(len(list(places(given)))):
        changed = json.loads(json.dumps(given))
        holder, key = list(places(changed))[number]
        holder[key] = odd
        shown = list(git_lines(json.dumps(changed).encode()))

        assert all(line.isprintable() for line in shown), shown
