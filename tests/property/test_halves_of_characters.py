"""A half of a character, which programs write that cut texts, costs that character alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptycassette import open_cassette
from ptycassette.formats.importing.io.importer import import_file, import_of
from ptycassette.formats.importing.registry import import_named
from ptycassette.model.records import decoded_json, foreign_json, without_halves
from ptycassette.recording.io._side_channel import ServiceEventReader
from tests.examples import examples

HALF = "\ud83d"
TEXTS = st.text(st.characters(exclude_categories=()), max_size=12)  # surrogates, too


def whole(text: str) -> str:
    """What is expected of a text: pairs are characters, halves are U+FFFD."""
    data = text.encode("utf-16-le", "surrogatepass")
    return data.decode("utf-16-le", "replace")


def json_text(value: Any, *, raw: bool) -> bytes:
    """JSON with halves as escapes, or in the bytes that UTF-8 would give them."""
    return json.dumps(value, ensure_ascii=not raw).encode("utf-8", "surrogatepass")


@examples(200)
@given(TEXTS)
def test_all_other_characters_are_read(text: str) -> None:
    """Escaped backslashes, pairs and halves in any order; the length stays."""
    data = json_text([text], raw=False)
    repaired, found = without_halves(data)

    assert foreign_json(data) == [whole(text)]
    assert len(repaired) == len(data)
    assert decoded_json(data.decode()) == [whole(text)]
    assert found == sum("\ud800" <= char <= "\udfff" for char in whole_pairs(text))


def whole_pairs(text: str) -> str:
    """A text with its pairs as characters, and its halves as they are."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


@examples(100)
@given(st.text(max_size=8), st.text(max_size=8))
def test_halves_in_bytes_are_read(before: str, after: str) -> None:
    """As CESU-8 and some runtimes write them."""
    data = json_text([before + HALF + after], raw=True)

    assert foreign_json(data) == [f"{before}�{after}"]


CALL = {
    "request": {"url": "https://api.example.com/v1/chat/completions", "body": {"m": f"a{HALF}"}},
    "response": {"choices": [{"message": {"role": "assistant", "content": f"fine{HALF}"}}]},
}
ENTRY = {
    "startedDateTime": "2026-01-01T00:00:00Z", "time": 1,
    "request": {"method": "POST", "url": "https://api.example.com/v1/x", "headers": [],
                "postData": {"text": f"cut {HALF}"}},
    "response": {"status": 200, "headers": [], "content": {"text": f"fine{HALF}"}},
}  # fmt: skip
CAST = [{"version": 2, "width": 80, "height": 24}, [0.1, "o", f"cut {HALF}"], [0.2, "o", "fine"]]
LOG = [
    {"parentUuid": None, "type": "user", "message": {"content": f"cut {HALF}"}},
    {"parentUuid": "a", "type": "assistant", "message": {"content": "fine"}},
]
FILES = {
    "x.har": [{"log": {"entries": [ENTRY]}}],
    "x.cast": CAST,
    "x.trace.jsonl": [CALL],
    "claude.jsonl": LOG,
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("raw", [False, True])
def test_a_file_with_a_half_is_imported(name: str, raw: bool, tmp_path: Path) -> None:
    """Everything else in it is there, and the half is counted."""
    path = tmp_path / name
    path.write_bytes(b"\n".join(json_text(row, raw=raw) for row in FILES[name]) + b"\n")
    made = import_file(path, tmp_path / "made", by=import_of(path))

    assert any("half of a character" in reason for reason in made.skipped)
    with open_cassette(tmp_path / "made") as cassette:
        notes = [json.dumps(one.payload).encode() for one in cassette.service_events()]
        answers = [one.answer() for one in cassette.tape()] if made.entries else []
        content = b"".join([(cassette.path / "output.raw").read_bytes(), *notes, *answers])
    assert b"fine" in content


@pytest.mark.parametrize(
    "text",
    [
        r'"\ud83d cut"', r'"pair \ud83d\ude00 and half \ud83d"', r"""'{"a": "\ud83d"}'""",
    ],
)  # fmt: skip
def test_a_half_in_yaml(text: str, tmp_path: Path) -> None:
    """An escape in double quotes; in single quotes it is JSON of the body, and stays."""
    path = tmp_path / "x.yaml"
    path.write_text(
        "interactions:\n- request: {method: GET, uri: 'https://api.example.com/', headers: {}}\n"
        f"  response: {{status: {{code: 200}}, headers: {{}}, body: {{string: {text}}}}}\n"
    )
    import_file(path, tmp_path / "made", by=import_named("vcr"))

    with open_cassette(tmp_path / "made") as cassette:
        [entry] = cassette.tape()
        answer = entry.answer().decode()
    assert answer in {"� cut", "pair 😀 and half �", '{"a": "\\ud83d"}'}


def test_a_service_event_with_a_half_is_kept() -> None:
    """The line of a hook that cut its message."""
    assert list(ServiceEventReader().feed(b'{"text": "cut \\ud83d"}\n')) == [{"text": "cut �"}]
