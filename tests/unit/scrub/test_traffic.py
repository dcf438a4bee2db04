"""Traffic that is JSON is JSON after it was scrubbed, whatever the values hold."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ptycassette.scrub.placeholders import traffic_views, whole_json
from ptycassette.scrub.search.known import SHORTEST_KNOWN
from ptycassette.testing import scrub_chunks
from tests.examples import examples

SYNTAX = '{"a": "x ZZ y", "ZZ": ["ZZ", 12345678], "c": "{"t": "ZZ"}"}'
VALUES = st.text('abCD12\\"/\n\té,:{}[]', min_size=8, max_size=20)


def scrubbed(document: str, value: str) -> str:
    """``document`` as traffic, with a value that is known."""
    chunks = [document[: len(document) // 2].encode(), document[len(document) // 2 :].encode()]
    done = scrub_chunks(chunks, rows=24, cols=80, known=[value], channel="provider")
    assert [len(chunk) for chunk in done] == [len(chunk) for chunk in chunks]
    return b"".join(done).decode()


@examples(150)
@given(VALUES, st.booleans(), st.sampled_from([None, 1]))
@example('K1"zoCbpDHppoFtb4', True, None)
@example("hN\\fLM/yuKh8hduP", True, None)
@example('gQ1XuY8,"A6GYBTy80Y', True, None)
@example("abCD\\1212", False, 1)
def test_json_stays_json(value: str, ascii_only: bool, indent: int | None) -> None:
    """As a body, as lines of events, and in a string of JSON."""
    if len(set(value) - set('\\"/\n\té,:{}[]')) < 4:
        return  # a mask, or too short to be told apart
    if any(
        line.strip() in SYNTAX for line in value.splitlines() if len(line.strip()) >= SHORTEST_KNOWN
    ):
        return  # a line of the value is what the document has as a key
    tree = {"a": f"x {value} y", value: [value, 12345678], "c": json.dumps({"t": value})}
    body = json.dumps(tree, ensure_ascii=ascii_only, indent=indent)
    lines = "".join(
        f"data: {json.dumps({'text': part}, ensure_ascii=ascii_only)}\n\n"
        for part in (value[:5], value[5:])
    )

    assert set(json.loads(scrubbed(body, value))) >= {"a", "c"}
    for line in scrubbed(lines, value).split("\n\n")[:2]:
        assert isinstance(json.loads(line.removeprefix("data: "))["text"], str)


@pytest.mark.parametrize(
    ("raw", "masked", "whole"),
    [
        (r'{"a":"b\"cd"}', r'{"a":"x\xxx"}', r'{"a":"x\"xx"}'),
        (r'["\u0041bc"]', r'["\u00xxxx"]', r'["\u0078xx"]'),
        ('{"a":1,"b":-2.5e3}', "{xxx:1,xxxxxxxxxxx", '{"x":1,"x":-8.8e3}'),
        ('[true, 12345678, "a"]', '[true, xxxxxxxx, "x"]', '[true, 88888888, "x"]'),
        (r'{"c":"{\"t\": \"a\\n\"}"}', r'{"c":"{\"x\": \"x\\x\"}"}', r'{"c":"{\"x\": \"x\\n\"}"}'),
        (r'["C:\\Users\\bob"]', r'["C:\\Users\xxxx"]', r'["C:\\Users\\xxx"]'),
        ('data: {"a":"bc"} tail\nno "json', "data: {xxxxxxxx} tail\nno xxxxx",
         'data: {"x":"xx"} tail\nno xxxxx'),
        ('text "ab\\q" {"a"', "text xxxxxx xxxx", "text xxxxxx xxxx"),
        ('{"a":"bc"}\n{"a":"bc"}\n', '{"a":"bc"}\n{"a":xxxx}\n', '{"a":"bc"}\n{"a":"xx"}\n'),
        ("[" * 5000, "x" * 5000, "x" * 5000),
    ],
)  # fmt: skip
def test_syntax_is_put_back(raw: str, masked: str, whole: str) -> None:
    """In what is JSON; other text is masked as it is."""
    assert whole_json(raw, masked) == whole


def test_traffic_is_searched_as_it_stands_and_by_key() -> None:
    """Strings of one key and block make one text."""
    lines = [
        '{"index":0,"delta":{"text":"se"}}',
        '{"index":1,"delta":{"text":"--"}}',
        '{"index":0,"delta":{"text":"cret"}}',
    ]
    views = [*traffic_views(["\n".join(lines).encode()])]

    assert "secret" in [view.text for view in views]
    assert views[0].text == "\n".join(lines)


def test_traffic_blocks_overlap() -> None:
    """Traffic of any length is searched in blocks."""
    data = b"x" * ((1 << 20) - 5) + b" needle-in-one-piece " + b"y" * 100
    views = [*traffic_views([data])]

    assert sum("needle-in-one-piece" in view.text for view in views) == 1
