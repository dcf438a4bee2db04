"""Files that a stranger made to cost time or memory: up to five megabytes each, by kind of text.

Each attack is a function of a size in bytes. A cassette is a directory, of which an attack
replaces one file.
"""

from __future__ import annotations

import json
import sqlite3
import struct
import zlib
from collections.abc import Callable

from ptycassette.model.records import JournalEvent, Noted, Output, Resized, Typed
from ptycassette.model.screen import Size

__all__ = [
    "CASSETTE",
    "CHECKS",
    "DATABASES",
    "HISTORY",
    "IMPORTS",
    "JSON",
    "JSON_LINES",
    "PATTERNS",
    "PROBE",
    "SCENARIO",
    "SCRIPT",
    "SHOWN",
    "TEXT",
    "TOML",
    "WHOLE",
    "YAML",
    "Attack",
    "traffic",
]

Attack = Callable[[int], bytes]
"""The bytes of a file of at most so many bytes."""


def _filled(unit: bytes, before: bytes = b"", after: bytes = b"") -> Attack:
    """As many of ``unit`` as there is room for."""
    return lambda size: before + unit * ((size - len(before) - len(after)) // len(unit)) + after


def _numbered(pattern: str, before: str = "", after: str = "") -> Attack:
    """Different ones: ``%d`` counts."""

    def make(size: int) -> bytes:
        length = len(pattern % 1_000_000)
        middle = "".join(pattern % number for number in range(size // (length + 1)))
        return (before + middle + after).encode()

    return make


def _both(opening: bytes, closing: bytes, before: bytes = b"", after: bytes = b"") -> Attack:
    """Nesting that is closed again."""

    def make(size: int) -> bytes:
        depth = size // (len(opening) + len(closing))
        return before + opening * depth + closing * depth + after

    return make


TEXT: dict[str, Attack] = {
    "nothing": _filled(b"\0"),
    "newlines": _filled(b"\n"),
    "one-line": _filled(b"a"),
    "quotes": _filled(b'"'),
    "backslashes": _filled(b"\\", b'"'),
    "spaces": _filled(b" ", b"", b"x"),
    "no-utf8": _filled(b"\xff"),
    "wide": _filled("\U0001f600".encode()),
}
JSON: dict[str, Attack] = {
    "lists": _filled(b"["),
    "lists-closed": _both(b"[", b"]"),
    "objects-closed": _both(b'{"a":', b"}", after=b"0"),
    "many-lists": _filled(b"[],", b"[", b"0]"),
    "many-objects": _filled(b"{},", b"[", b"0]"),
    "many-texts": _filled(b'"",', b"[", b"0]"),
    "many-keys": _numbered('"%d":0,', "{", '"x":0}'),
    "same-key": _filled(b'"a":0,', b"{", b'"a":0}'),
    "long-key": _filled(b"k", b'{"', b'":1}'),
    "long-text": _filled(b"x", b'{"a":"', b'"}'),
    "escapes": _filled(b"\\u0041", b'{"a":"', b'"}'),
    "surrogates": _filled(b"\\ud83d\\ude00", b'{"a":"', b'"}'),
    "integer": _filled(b"9", b'{"a":', b"}"),
    "fraction": _filled(b"9", b'{"a":0.', b"}"),
    "exponent": _filled(b"9", b'{"a":1e', b"}"),
    "numbers": _filled(b"1e308,", b"[", b"0]"),
}
JSON_LINES: dict[str, Attack] = {
    **{f"line-{name}": attack for name, attack in JSON.items()},
    "empty-lines": _filled(b"\n"),
    "empty-objects": _filled(b"{}\n"),
    "empty-lists": _filled(b"[]\n"),
    "numbers-alone": _filled(b"1\n"),
    "nested-lines": _filled(b"[" * 900 + b"]" * 900 + b"\n"),
}
YAML: dict[str, Attack] = {
    "lists": _filled(b"["),
    "lists-closed": _both(b"[", b"]"),
    "mappings": _filled(b"{a: "),
    "dashes": _filled(b"- "),
    "questions": _filled(b"? "),
    "values": _filled(b"a,", b"[", b"a]"),
    "keys": _numbered("k%d: 1\n"),
    "plain": _filled(b"a "),
    "folded": _filled(b"a\n", b"a: >\n "),
    "indents": lambda size: b"".join(b" " * n + b"a:\n" for n in range(int((2 * size) ** 0.5) - 3)),
    "comments": _filled(b"#\n"),
    "directives": _filled(b"%TAG ! !\n"),
    "documents": _filled(b"---\n"),
    "anchors": _numbered("- &a%d x\n"),
    "quoted": _filled(b"''", b"a: '", b"'"),
    "escapes": _filled(b"\\x41", b'a: "', b'"'),
    "digits": _filled(b"9", b"a: "),
    "sixties": _filled(b":1", b"a: 1"),
    "underscores": _filled(b"_", b"a: 1"),
    "long-key": _filled(b"k", b"", b": 1"),
}
TOML: dict[str, Attack] = {
    "lists": _filled(b"[", b"a="),
    "lists-closed": _both(b"[", b"]", b"a="),
    "tables": _filled(b"{a=", b"a="),
    "dotted": _filled(b"a.", b"", b"a=1"),
    "dotted-quoted": _filled(b'"a".', b"", b'"a"=1'),
    "dotted-lines": _numbered("a.b.c.d.e.f.g.h.k%d=1\n"),
    "dotted-32": _numbered("a." * 31 + "k%d=1\n"),
    "dotted-inline": _filled(b"a." * 31 + b"b=1,", b"a={", b"c=1}"),
    "dotted-in-table": _filled(b"a.", b"a={", b"b=1}"),
    "dotted-spaced": _filled(b"a . ", b"a={", b"b=1}"),
    "dotted-words": _filled(b"a.\"b\".'c'.", b"a={", b"b=1}"),
    "quotes-open": _filled(b'"', b"a = "),
    "header": _filled(b"a.", b"[", b"a]"),
    "headers": _numbered("[t%d]\n"),
    "headers-deep": _numbered("[" + "a." * 31 + "t%d]\n"),
    "array-headers": _filled(b"[[a]]\n"),
    "values": _filled(b"0,", b"a=[", b"0]"),
    "inline-tables": _filled(b"{},", b"a=[", b"0]"),
    "keys": _numbered("k%d=1\n"),
    "comments": _filled(b"#\n"),
    "digits": _filled(b"9", b"a="),
    "hexadecimal": _filled(b"f", b"a=0x"),
    "fraction": _filled(b"9", b"a=0."),
    "underscores": _filled(b"1_", b"a=", b"1"),
    "dates": _filled(b"2026-01-01,", b"a=[", b"0]"),
    "multiline": _filled(b"\\\n", b'a="""', b'"""'),
    "escapes": _filled(b"\\u0041", b'a="', b'"'),
    "long-key": _filled(b"k", b"", b"=1"),
    "unknown-field": _filled(b"k", b"version = 1\n", b"=1"),
    "variables": _filled(b"${a}", b"version=1\na='", b"'"),
    "dollars": _filled(b"$${", b"version=1\na='", b"'"),
}
SCRIPT: dict[str, Attack] = {
    "types": _filled(b"type a\n"),
    "keys": _filled(b"enter ", b"key "),
    "note-deep": _filled(b"[", b"note "),
    "note-closed": _both(b"[", b"]", b"note "),
    "notes": _filled(b"note {}\n"),
    "unknown": _filled(b"a", b"", b" b"),
    "text-escapes": _filled(b"\\u0041", b'type "', b'"'),
    "digits": _filled(b"9", b"timeout "),
    "size": _filled(b"9", b"resize "),
    "patterns": _numbered("wait-regex .{900}%d\n"),
    "line-ends": _filled("\u2028".encode()),
}

PROBE: dict[str, Attack] = {
    "patterns": _numbered(
        "[[steps]]\nwait = { regex = '.{900}%d' }\n",
        "version = 1\nname = 'x'\nharness = 'x'\nsource = 'x'\n",
    ),
}
HISTORY: dict[str, Attack] = {
    "openings": _filled(b"#### a\n\nb\n\n"),
    "pairs": _filled(b"#### a\n\nb\n\n> "),
    "tokens": _filled(b"> Tokens: 1 sent, "),
    "token-lines": _filled(b"> Tokens: 1 sent, 2 received.\n"),
}
"""For the patterns that read the history of a chat."""

PATTERNS: dict[str, str] = {
    "plus-of-plus": "(a+)+$",
    "alternatives": "(a|a)*$",
    "back-reference": r"(a*)*\1b",
    "look-ahead": "(?=(a+))+$",
    "counted": "(a?){1000}c",
    "repeated": "((a{100}){100}){100}",
    "nested": "(" * 4000 + ")" * 4000,
    "restarting": "(?s)a.*b|a",
    "classes": "(?i)" + r"[\x{0}-\x{10ffff}]" * 400,
    "letters": r"\p{L}{1000}",
    "long": "a" * 900_000,
}
"""Regular expressions, to be held against letters a."""


def _scenario(pattern: str, *, names: int = 0, **normaliser: str) -> bytes:
    """A scenario with that pattern in a predicate, or in a normaliser that is applied so often."""
    query: dict[str, object] = {"type": "frame_contains", "regex": pattern}
    document: dict[str, object] = {"name": "x", "groups": {"g": [query]}}
    if names:
        document["normalisers"] = {"n": {"pattern": pattern, **normaliser}}
        query |= {"regex": "b", "normalise": ["n"] * names}
    return json.dumps(document).encode()


def _many(predicate: dict[str, object]) -> Attack:
    """As many predicates as there may be."""

    def make(size: int) -> bytes:
        listed = [predicate | {"name": str(number)} for number in range(size // 200)]
        return json.dumps({"name": "x", "groups": {"g": listed[:3000]}}).encode()

    return make


def _fixed(data: bytes) -> Attack:
    return lambda _: data


SCENARIO: dict[str, Attack] = {
    **{f"pattern-{name}": _fixed(_scenario(text)) for name, text in PATTERNS.items()},
    **{f"rewrite-{name}": _fixed(_scenario(text, names=1)) for name, text in PATTERNS.items()},
    "rewrite-growing": _fixed(_scenario("a", names=40, replace="aa")),
    "rewrite-doubling": _fixed(_scenario("(?s).+", names=40, replace=r"\g<0>\g<0>")),
    "rewrite-long": _fixed(_scenario("a", names=1, replace="b" * 900_000)),
    "patterns": _many({"type": "title", "regex": ".{900}"}),
    "paths": _many({"type": "service_json", "json_path": "$..*", "equals": 1}),
    "long-path": _fixed(
        json.dumps({"name": "x", "groups": {"g": [
            {"type": "service_json", "json_path": "$" + ".a" * 400_000}]}}).encode()
    ),
    "deep-path": _fixed(
        json.dumps({"name": "x", "groups": {"g": [
            {"type": "service_json", "json_path": "$" + "[?(@" * 5_000}]}}).encode()
    ),
}  # fmt: skip

_EACH_OF_MANY: dict[str, dict[str, object]] = {
    "text": {"type": "frame_never_contains", "text": "aab"},
    "text-any-case": {"type": "frame_never_contains", "text": "aab", "ignore_case": True},
    "text-row": {"type": "frame_eventually_contains", "text": "b", "row": 0},
    "pattern": {"type": "frame_never_contains", "regex": "a+b"},
    "pattern-large": {"type": "frame_contains", "regex": "(a?){40}c"},
    "normalised": {"type": "frame_contains", "text": "b", "normalise": ["path", "duration", "pid"]},
    "stable": {"type": "frame_stable_for", "stable_for_ms": 1900},
    "stable-text": {"type": "frame_stable_for", "stable_for_ms": 1900, "text": "a"},
    "size": {"type": "size_eventually", "rows": 1, "cols": 1},
    "style": {"type": "style", "text": "a", "fg": 1},
    "title": {"type": "title", "regex": "b"},
    "link": {"type": "link", "text": "b"},
    "clipboard": {"type": "clipboard", "text": "b"},
    "bytes": {"type": "input_bytes", "bytes_hex": "61" * 1000 + "62"},
    "typed": {"type": "input_text", "regex": "b"},
    "resizes": {"type": "resize_order", "before_kind": "input", "after_kind": "final"},
    "json": {"type": "service_json", "json_path": "$..*", "equals": 1},
    "json-one": {"type": "service_json", "json_path": "$.a.b.c", "equals": 1},
    "metadata": {"type": "final_metadata", "metadata_key": "a", "equals": 1},
    "gaps": {"type": "timing_gap", "min_ms": 0},
    "order": {"type": "raw_output_order"},
}
CHECKS: dict[str, Attack] = {name: _many(predicate) for name, predicate in _EACH_OF_MANY.items()}
"""Thousands of predicates, for a recording of thousands of events."""

_CAST = b'{"version":2,"width":80,"height":24}\n'
_CALL = (
    "- request: {body: '%s', method: POST, uri: 'https://a.invalid/v1', headers: {%s}}\n"
    "  response: {body: {string: '{}'}, headers: {}, status: {code: 200}}\n"
)
_WORDS = "the file was read again, and nothing in it had changed. "
_ENTRY = (
    '{"startedDateTime":"2026-01-01T00:00:00Z","time":1,"request":{"method":"POST","url":'
    '"https://a.invalid/v1","postData":{"text":"%s"}},"response":{"status":200,"content":'
    '{"text":"{}"}}},'
)


def _repeated(anchor: str, call: str) -> Attack:
    return _filled(call.encode(), f"{anchor}\ninteractions:\n".encode())


def _laughs(size: int) -> bytes:
    lists = "".join(f"b{n}: &b{n} [{', '.join([f'*b{n - 1}'] * 9)}]\n" for n in range(1, 12))
    return f"b0: &b0 [x, x, x]\n{lists}interactions:\n{_CALL % ('', 'a: *b11')}".encode()[:size]


def _packed_points(size: int) -> bytes:
    point = b'{"data":"a","time":1},'
    return zlib.compress(b'{"tracePoints":[' + point * (size * 10 // len(point)) + b"{}]}")


_IN_JSON: dict[str, Attack] = {name: JSON[name] for name in (
    "lists", "many-lists", "many-objects", "many-keys", "long-text", "escapes", "numbers",
)}  # fmt: skip
IMPORTS: dict[str, dict[str, Attack]] = {
    "har": {
        **_IN_JSON,
        "entries-of-lists": _filled(b"[],", b'{"log":{"entries":[', b"{}]}}"),
        "honest": _filled(
            (_ENTRY % (_WORDS * 200)).encode(),
            b'{"log":{"version":"1.2","entries":[',
            (_ENTRY % "").encode()[:-1] + b"]}}",
        ),
    },
    "vcr": {
        **_IN_JSON,
        **YAML,
        "laughs": _laughs,
        "alias-list": _repeated(f"x: &x [{', '.join('a' * 5000)}]", _CALL % ("", "a: *x, b: *x")),
        "alias-text": _repeated(f"x: &x '{'a' * 100_000}'", _CALL % ("", "a: *x, b: *x")),
        "calls": _filled((_CALL % ("", "")).encode(), b"interactions:\n"),
        "honest": _filled((_CALL % (_WORDS * 200, "a: [b]")).encode(), b"interactions:\n"),
    },
    "cendor": {
        **_IN_JSON,
        "tools": _filled(
            b'{"seq":1,"kind":"tool","request":{"name":"x"},"response":1},',
            b'{"version":2,"entries":[',
            b'{"seq":1,"kind":"x","request":{}}]}',
        ),
    },
    "asciicast": {
        **_IN_JSON,
        **{
            f"events-{code}": _filled(b'[0,"%s","9x9"]\n' % code.encode(), _CAST + b'[0,"o","a"]\n')
            for code in "oimrz"
        },
        "one-document": _filled(
            b'[0,"a"],', b'{"version":1,"width":80,"height":24,"stdout":[', b'[0,"a"]]}'
        ),
        "honest": _filled(f'[1,"o","{_WORDS}"]\n'.encode(), _CAST),
    },
    "ttyrec": {
        "tiny": _filled(struct.pack("<III", 1, 0, 1) + b"a"),
        "empty": _filled(struct.pack("<III", 1, 0, 0), struct.pack("<III", 1, 0, 1) + b"a"),
        "resizes": _filled(struct.pack("<III", 1, 0, 9) + b"\x1b[8;9;99t"),
        "honest": _filled(struct.pack("<III", 1, 0, len(_WORDS)) + _WORDS.encode()),
    },
    "typescript": {
        "tiny": _filled(b"0.1 1\n"),
        "empty": _filled(b"0 0\n", b"0 1\n"),
        "signals": _filled(b"S 0 SIGINT\n"),
        "facts": _filled(b"H 0 A B\n"),
        "blank": _filled(b"\n"),
        "honest": lambda size: b"0.1 60\n" * min(size // 67, 80_000),
    },
    "tui-test": {"nothing": TEXT["nothing"], "points": _packed_points},
    "trace": {
        **_IN_JSON,
        **JSON_LINES,
        "calls": _filled(b'{"messages":[],"response":"x","model":"m"}\n'),
        "tools": _filled(b'{"tool":"x","args":{},"result":1}\n'),
        "honest": _filled(
            b'{"messages":[{"role":"user","content":"%s"}],"response":"x","model":"m"}\n'
            % (_WORDS * 20).encode()
        ),
    },
    "otel": {
        **_IN_JSON,
        "spans": _filled(
            b'{"startTimeUnixNano":"1"},',
            b'{"resourceSpans":[{"scopeSpans":[{"spans":[',
            b'{"startTimeUnixNano":"1"}]}]}]}',
        ),
    },
    "vhs": {**TEXT, "types": _filled(b'Type "a"\n'), "keys": _filled(b"Enter\n")},
}
"""By format, for the reader of an import; ``honest`` is what its tool writes. For a typescript it
is the timing."""


def _database(*statements: str) -> Attack:
    """A database of an agent's sessions that was written by a stranger."""

    def make(size: int) -> bytes:
        database = sqlite3.connect(":memory:")
        for statement in [
            "create table session(id, parent_id)",
            "create table message(id, session_id, data)",
            "create table part(id, message_id, session_id, time_created, data)",
        ]:
            database.execute(statement)
        for statement in statements:
            database.execute(statement.replace("SIZE", str(size)))
        database.commit()
        return bytes(database.serialize())

    return make


_ONE = "insert into session values('s', null)"
_COUNTED = "with recursive n(i) as (select 1 union all select i + 1 from n where i < {})"
DATABASES: dict[str, Attack] = {
    "views": _database(
        "drop table part",
        _ONE,
        "insert into message values('m', 's', '{}')",
        f"create view part as {_COUNTED.format(2_000_000)}"
        " select i as id, 'm' as message_id, 's' as session_id, i as time_created, '{}' as data"
        " from n",
    ),
    "generated": _database(
        "drop table message",
        "create table message(id, session_id, data as (hex(zeroblob(9000000))))",
    ),
    "repeated": _database(
        _ONE,
        "insert into message values('m', 's', '\"' || hex(zeroblob(SIZE / 4)) || '\"')",
        f"insert into part {_COUNTED.format(20_000)} select i, 'm', 's', i, '{{}}' from n",
    ),
    "crossed": _database(
        f"insert into session {_COUNTED.format(20_000)} select 's', null from n",
        "insert into message values('m', 's', '{}')",
        f"insert into part {_COUNTED.format(20_000)} select i, 'm', 's', i, '{{}}' from n",
    ),
    "dense": _database(
        _ONE,
        "insert into message values('m', 's', '[' || replace(hex(zeroblob(SIZE / 6)), '00', '[],')"
        " || '0]')",
        "insert into part values('p', 'm', 's', 1, '{}')",
    ),
    "rows": _database(
        _ONE,
        "insert into message values('m', 's', '{\"role\":\"user\"}')",
        f"insert into part {_COUNTED.format(45_000)}"
        ' select i, \'m\', \'s\', i, \'{"type":"text","text":"a"}\' from n',
    ),
}

_TIMED = b'{"seq":%d,"t_ms":0,'
_FRAME = b'"size":{"Rows":1,"Cols":1},"text":[%s],"cursor":{"Row":0,"Col":0,"Visible":true},%s%s'
_RANGE = b'"raw_start":0,"raw_end":0,"parser_offset":0'


def _records(rest: bytes) -> Attack:
    """Records with numbers in order from 1, each with the same content."""

    def make(size: int) -> bytes:
        length = len(_TIMED % 100_000 + rest) + 2
        return b"".join(_TIMED % n + rest + b"}\n" for n in range(1, size // length))

    return make


def _record(attack: Attack, rest: bytes) -> Attack:
    """One record, whose ``%s`` is filled."""
    return lambda size: _TIMED % 1 + rest.replace(b"%s", attack(size - len(rest) - 40)) + b"}\n"


def _style_runs(size: int) -> bytes:
    run = b'{"col":0,"length":1,"bold":true},'
    styles = b',"styles":[[' + run * (size // len(run)) + run[:-1] + b"]]"
    return _TIMED % 1 + _FRAME % (b'""', _RANGE, styles) + b"}\n"


_EVENT = "service-events.jsonl"
_FRAMES = "frames.jsonl"
CASSETTE: dict[str, tuple[str, Attack]] = {
    **{
        f"{name}:{kind}": (name, attack)
        for name in ("manifest.json", "final.json", "scrub-report.json")
        for kind, attack in JSON.items()
    },
    **{
        f"event:{kind}": (_EVENT, _record(attack, b'"payload":%s')) for kind, attack in JSON.items()
    },
    **{
        f"{name}:{kind}": (name, attack)
        for name in ("input.jsonl", "output.jsonl", _FRAMES)
        for kind, attack in JSON_LINES.items()
    },
    "events": (_EVENT, _records(b'"payload":0')),
    "events-spaced": (_EVENT, _records(b'"payload": 0')),
    "events-extreme": (_EVENT, _records(b'"payload":[' + b"1e308," * 99 + b"0]")),
    "inputs": ("input.jsonl", _records(b'"kind":"input","bytes":"YQ=="')),
    "resizes": ("input.jsonl", _records(b'"kind":"resize","size":{"Rows":9,"Cols":9}')),
    "chunks": ("output.jsonl", _records(b'"offset":0,"length":0')),
    "frames": (_FRAMES, _records(_FRAME % (b'""', _RANGE, b""))),
    "frame-rows": (_FRAMES, _record(_filled(b'"",'), _FRAME % (b'%s""', _RANGE, b""))),
    "frame-row": (_FRAMES, _record(_filled(b"a"), _FRAME % (b'"%s"', _RANGE, b""))),
    "frame-styles": (_FRAMES, _style_runs),
    "frame-cells": (
        _FRAMES,
        _record(_filled(b"{},"), _FRAME % (b'""', _RANGE, b',"cells":[[%s{}]]')),
    ),
    "input-long": (
        "input.jsonl",
        _record(_filled(b"YWFh"), b'"kind":"input","bytes":"%s"'),
    ),
    "input-keys": (
        "input.jsonl",
        _record(_filled(b"G1tE"), b'"kind":"input","bytes":"%s"'),
    ),
}
"""By the file of the cassette that is replaced."""
WHOLE: dict[str, Callable[[int], JournalEvent]] = {
    "outputs": lambda n: Output(n, b"a"),
    "lines": lambda n: Output(n, b"%d\r\n" % n),
    "lines-over-pipes": lambda n: Output(n, b"%d\n" % n, "stderr" if n % 3 else "stdout"),
    "keys": lambda n: Typed(n, b"a"),
    "lines-typed": lambda n: Typed(n, b"a\r"),
    "escapes-typed": lambda n: Typed(n, b"\x1b[D"),
    "rubouts": lambda n: Typed(n, b"a" if n % 2 else b"\x7f"),
    "resizes": lambda n: Resized(n, Size(24 + n % 2, 80)),
    "notes": lambda n: Noted(n, n),
    "turns": lambda n: Output(n, b"done %d\r\n" % n) if n % 2 else Typed(n, b"go\r"),
    "marks": lambda n: Output(n, ("a" + "\u0301" * 24).encode()),
    "marked-cells": lambda n: Output(n, ("a\u0301" * 16).encode()),
    "long-line": lambda n: Output(n, b"x" * 50),
    "erased-line": lambda n: Output(n, b"\x1b[2Kx" * 2),
}
"""Cassettes that are valid: fifty thousand events of one kind, which is five megabytes."""
SIGNALS: dict[str, Callable[[int], JournalEvent]] = {
    "bells": lambda n: Output(n, b"\x07" * 100),
    "titles": lambda n: Output(n, b"\x1b]2;a\x07" * 16),
    "alternate-screens": lambda n: Output(n, b"\x1b[?1049h\x1b[?1049l" * 6),
    "clears": lambda n: Output(n, b"\x1b[2J" * 25),
    "line-feeds": lambda n: Output(n, b"\n\t" * 50),
    "resets": lambda n: Output(n, b"\x1bc" * 50),
    "aborted": lambda n: Output(n, b"\x1b[\x18\x1b]\x18" * 3),
    "malformed": lambda n: Output(n, b"\x1b[<>!z\xc2\x9b\0m" * 2),
}
"""The same of output that is all signals, or none: what ``events --signals`` reads."""
SHOWN = (
    *("events", "events-extreme", "inputs", "input-long", "chunks"),
    *("frames", "frame-rows", "frame-row", "frame-styles", "frame-cells"),
)
"""What commands meet in files of a cassette; readers meet everything."""


def traffic(size: int) -> bytes:
    """A HAR of questions that all differ, for cassettes with a tape."""
    entries = ((_ENTRY % f"question {number}") for number in range(size // 1000))
    return f'{{"log":{{"version":"1.2","entries":[{"".join(entries)[:-1]}]}}}}'.encode()
