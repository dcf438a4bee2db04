"""Code that decodes JSON handles all errors: bad syntax, bad UTF-8, and nesting without end."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from ptycassette.model.records import NOT_JSON, decoded_json

ROOT = Path(__file__).resolve().parents[2]
DECODERS = ("msgspec.json.decode", "msgspec.msgpack.decode", "json.loads", "foreign_json")
WHOLE = ({"NOT_JSON"}, {"Exception"}, {"ValueError", "RecursionError"})
OTHERWISE = {
    "ptycassette/model/toml_text.py": "a table that the package itself holds",
    "ptycassette/agents/harness/io/fake_provider.py": "a line that it wrote and checked",
    "ptycassette/agents/inprocess/calls.py": "what it encodes in that line; its callers handle it",
    "ptycassette/formats/importing/vcr.py": "what was encoded the line before",
    "ptycassette/model/records.py": "its callers handle it, which this test checks",
    "ptycassette/recording/io/options.py": "`installed_version` handles it",
    "ptycassette/replaying/standin/io/boot.py": "`main` leaves it to the real stand-in",
    "ptycassette/tape/io/_proxy_messages.py": "messages between two processes of ours",
    "ptycassette/tape/journal_codec.py": "`RecordDecoder` handles it",
    "ptycassette/tape/matching/question.py": "a string in quotes, which nests nothing",
    "ptycassette/tape/matching/_answers.py": "strings that its grammar has read",
    "ptycassette/cassette/timeline/match.py": "what was encoded the line before",
}


def handled(node: ast.AST) -> set[str]:
    """The names of errors in a clause."""
    return {
        one.id if isinstance(one, ast.Name) else one.attr
        for one in ast.walk(node)
        if isinstance(one, ast.Name | ast.Attribute)
    }


def calls(node: ast.AST, inside: set[str]) -> Iterator[tuple[int, set[str]]]:
    """The line of each call of a decoder, and the errors that are handled around it."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        inside = set()
    if isinstance(node, ast.Call) and ast.unparse(node.func) in DECODERS:
        yield node.lineno, inside
    within = inside
    if isinstance(node, ast.Try):
        within = inside.union(*(handled(one.type) for one in node.handlers if one.type))
    elif isinstance(node, ast.With) and ast.unparse(node.items[0]).startswith("suppress("):
        within = inside | handled(node.items[0])
    body = getattr(node, "body", [])
    for child in ast.iter_child_nodes(node):
        is_body = isinstance(body, list) and child in body
        yield from calls(child, within if is_body else inside)


def test_no_decoder_of_json_is_called_without_handling_all_it_raises() -> None:
    """``msgspec.DecodeError`` leaves out UTF-8 and nesting, so a stranger's file is a traceback."""
    bare: dict[str, list[int]] = {}
    for path in sorted([*ROOT.glob("ptycassette/**/*.py"), *ROOT.glob("viewer/**/*.py")]):
        for line, names in calls(ast.parse(path.read_text(encoding="utf-8")), set()):
            if not any(one <= names for one in WHOLE):
                bare.setdefault(str(path.relative_to(ROOT)), []).append(line)

    assert set(bare) == set(OTHERWISE), bare


@pytest.mark.parametrize(
    "data", [b'{"a": "\xff"}', b'{"\xff": 1}', b"[" * 5000, b'{"a":' * 5000, b"{", b"1e999", b""]
)
def test_what_a_decoder_raises_is_listed(data: bytes) -> None:
    """All of it, so that one name is enough."""
    with pytest.raises(NOT_JSON):
        msgspec.json.decode(data)
    assert decoded_json(data) is None
