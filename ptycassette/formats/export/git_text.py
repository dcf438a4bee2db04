"""Show the files of a cassette as text for a diff that people can read.

Digests, numbers and times change with every recording, so a diff of the files themselves would
show all lines. This text has only the screens, the typed input and the messages.

Git starts a process for each version of each file. So this imports nothing that is slow to load:
Python's ``json`` instead of msgspec, and no ``typing``.
"""

from __future__ import annotations

import json
from binascii import a2b_base64

from ptycassette.model.visible_text import visible, visible_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

_WIDE = 10_000
_MOST_VALUES = 500_000
"""A line with more values is shown unchanged, like one that is not JSON."""

_CHANGING = frozenset(
    {"id", "sha256", "content_digest", "artifacts", "manifest_digest", "recorded_at", "git_sha"}
    | {"seq", "t_ms", "t_us", "duration_ms", "binary_path_digest_sha256", "captured_at"}
)
"""Fields that change with every recording."""


def git_lines(data: bytes) -> Iterator[str]:
    """The lines for a file of a cassette; its content decides which file it is.

    A line that is not JSON, and output, are shown with everything that acts on a terminal escaped.
    """
    document = _parsed(data) if data[:2] == b"{\n" else None
    if isinstance(document, dict) and not _kind(document):
        yield from _document(document)
        return
    before: str | None = None
    for line in data.splitlines():
        record = _parsed(line)
        kind = _kind(record) if isinstance(record, dict) else None
        if kind is None:
            yield visible_bytes(line, limit=_WIDE)
            continue
        shown = kind(record)
        if shown and (kind is not _frame or shown != before):
            yield from shown.split("\n")
        before = shown


def _parsed(data: bytes) -> Any:
    """The JSON value; None if it is not JSON, repeats a key or contains a lone surrogate."""
    if sum(map(data.count, (b",", b"[", b"{"))) > _MOST_VALUES:
        return None
    try:
        value = json.loads(
            data.decode(), object_pairs_hook=_without_repetition, parse_constant=_refused
        )
        if b"\\u" in data:  # a lone surrogate, perhaps
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return value


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _refused(name: str) -> None:
    raise ValueError(name)


def _kind(record: Mapping[str, Any]) -> Callable[[Any], str] | None:
    """The function that shows a record, chosen by the fields that only its kind has."""
    if "cursor" in record and isinstance(record.get("text"), list):
        return _frame
    if record.get("kind") in ("input", "resize", "signal"):  # no set: it may be a list
        return _input
    if "offset" in record and "length" in record:
        return _chunk
    if "payload" in record:
        return _event
    return _entry if "entry" in record and "connection" in record else None


def _frame(record: Mapping[str, Any]) -> str:
    rows = [visible(str(row), limit=_WIDE) for row in record["text"]]
    while rows and not rows[-1]:
        rows.pop()
    title = record.get("title")
    head = f"screen: {visible(str(title))}" if title else "screen"
    return "\n".join([head, *(f"  {row}".rstrip() for row in rows)])


def _input(record: Mapping[str, Any]) -> str:
    match record["kind"]:
        case "resize":
            size = _members(record.get("size"))
            return f"resize {visible(str(size.get('Cols')))}x{visible(str(size.get('Rows')))}"
        case "signal":
            return f"signal {visible(str(record.get('signal')))}"
    try:
        data = a2b_base64(record.get("bytes") or "", strict_mode=True)
    except (TypeError, ValueError):
        data = b""
    source = record.get("source")
    by = "" if source in (None, "user", "driver") else f"  ({visible(str(source))})"
    return f"input {visible_bytes(data, limit=_WIDE)}{by}"


def _members(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _chunk(record: Mapping[str, Any]) -> str:
    """Nothing: the division of output into chunks means nothing to people."""
    del record
    return ""


def _event(record: Mapping[str, Any]) -> str:
    return f"event {_json(record['payload'])}"


def _entry(record: Mapping[str, Any]) -> str:
    answer = _members(record.get("answer"))
    words = (record.get("method"), record.get("target"), record.get("kind"), answer.get("status"))
    return "tape " + " ".join(visible(str(word)) for word in words if word is not None)


def _document(document: Mapping[str, Any]) -> Iterator[str]:
    for line in json.dumps(_lasting(document), indent=2, ensure_ascii=False).split("\n"):
        yield visible(line, limit=_WIDE)


def _json(value: Any) -> str:
    text = json.dumps(_lasting(value), separators=(",", ":"), ensure_ascii=False)
    return visible(text, limit=_WIDE)


def _lasting(value: Any) -> Any:
    """A JSON value without the parts that change with every recording."""
    if isinstance(value, dict):
        return {name: _lasting(one) for name, one in value.items() if name not in _CHANGING}
    return [_lasting(one) for one in value] if isinstance(value, list) else value
