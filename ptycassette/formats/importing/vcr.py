"""Import cassettes of vcrpy, as YAML or JSON, version 1.

vcrpy notes no times, so the exchanges follow each other a millisecond apart. Its YAML may contain
aliases (our own may not). Each alias counts with everything that it repeats, because a file of a
kilobyte can repeat a list of lists a billion times. Depth and number of values are limited, too.
The safe loader refuses tags of Python objects.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import msgspec
import yaml

from ptycassette.formats.importing.asciicast import decoded
from ptycassette.formats.importing.har import (
    Call,
    Headers,
    Skipped,
    SkippedError,
    checked_status,
    checked_url,
    header_pairs,
    session_of_calls,
    unpacked,
)
from ptycassette.formats.importing.session import HALVES, BadImportError, ImportedSession
from ptycassette.model.records import without_halves
from ptycassette.model.visible_text import visible

MAX_DEPTH = 64
MAX_VALUES = 200_000
"""And one for each 50 bytes of the file. The loader takes 3 us and 450 bytes of memory for each."""
_BYTES_A_VALUE = 50
MAX_REPEATED = 16 << 20
"""Characters that aliases may add, or twice as many as the file has."""
_APART_US = 1000
_BODIES = ("parsed_body", "parsed_json", "body")
_FORM = "application/x-www-form-urlencoded"
_NO_BODY = frozenset({204, 205, 304})
_NO_BODY_READ = "bodies that the headers give a length, and that are not in the file"
_PAIRS = re.compile(
    rb"(?<!\\)((?:\\\\)*)\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})"
)


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML without numbers in base 60 (``1:30``), which may be slow to read; they stay text."""

    def whole_number(self, node: yaml.ScalarNode) -> Any:
        return node.value if ":" in node.value else self.construct_yaml_int(node)

    def number(self, node: yaml.ScalarNode) -> Any:
        return node.value if ":" in node.value else self.construct_yaml_float(node)


_NUMBERS = {
    "tag:yaml.org,2002:int": re.compile(
        r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]*|[1-9][0-9_]*)\Z"
    ),
    "tag:yaml.org,2002:float": re.compile(
        r"[-+]?(?:(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+][0-9]+)?"
        r"|\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z"
    ),
}
_Loader.yaml_implicit_resolvers = {
    first: [(tag, _NUMBERS.get(tag, pattern)) for tag, pattern in resolvers]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.whole_number)
_Loader.add_constructor("tag:yaml.org,2002:float", _Loader.number)


def read_vcr(data: bytes) -> ImportedSession:
    """The exchanges of a vcrpy cassette.

    Raises:
        BadImportError: it is not a vcrpy cassette.
    """
    document, halves = _document(data)
    interactions = document.get("interactions") if isinstance(document, dict) else None
    if not isinstance(interactions, list):
        raise BadImportError("there is no list of interactions in it")
    calls: list[Call] = []
    skipped = Skipped({HALVES: halves} if halves else {})
    for number, one in enumerate(interactions, 1):
        request, response = (
            (one.get("request"), one.get("response")) if isinstance(one, dict) else (None, None)
        )
        if not isinstance(request, dict) or not isinstance(response, dict):
            raise BadImportError(f"interaction {number} has no request and response")
        try:
            calls.append(_call(number, request, response, skipped))
        except SkippedError as reason:
            skipped.note(reason, f"interaction {number}")
    return session_of_calls(
        calls,
        skipped,
        dated=False,
        format_version=document.get("version"),
        made_by=document.get("recorded_with") or "vcrpy",
    )


def _document(data: bytes) -> tuple[Any, int]:
    """The document, and its number of lone surrogates."""
    if data.lstrip()[:1] == b"{":
        whole, halves = without_halves(data)
        return decoded(whole, "it is not JSON"), halves
    try:
        return _yaml(data), 0
    except BadImportError:
        # YAML writes each character as one escape; lone surrogates and JSON's pairs are refused.
        whole, halves = without_halves(_PAIRS.sub(_whole, data))
        if whole == data:
            raise
        return _yaml(whole), halves


def _whole(pair: re.Match[bytes]) -> bytes:
    """The character for an escaped surrogate pair, after the backslashes in front of it."""
    halves = bytes.fromhex((pair[2] + pair[3]).decode())
    return pair[1] + halves.decode("utf-16-be").encode()


def _yaml(data: bytes) -> Any:
    try:
        _check_size(data)
        return yaml.load(data, _Loader)  # noqa: S506 - a safe loader
    except BadImportError:
        raise
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as exc:
        raise BadImportError(f"{_line(exc)}: it is not YAML: {visible(_problem(exc))}") from exc


def _line(exc: Exception) -> str:
    mark = getattr(exc, "problem_mark", None) or getattr(exc, "context_mark", None)
    return "somewhere" if mark is None else f"line {mark.line + 1}"


def _problem(exc: Exception) -> str:
    return str(getattr(exc, "problem", None) or exc)


def _check_size(data: bytes) -> None:
    """Refuse a document that is too large, or too deep, which would crash the loader written in C.

    An alias counts with everything that it repeats, including all aliases in that.
    """
    most_values = MAX_VALUES + len(data) // _BYTES_A_VALUE
    most_chars = len(data) + max(MAX_REPEATED, 2 * len(data))
    values = chars = 0
    begun: list[tuple[str | None, int, int]] = []
    anchors: dict[str, tuple[int, int]] = {}
    for event in yaml.parse(data, _Loader):
        if isinstance(event, yaml.ScalarEvent):
            values, chars = values + 1, chars + len(event.value)
            if event.anchor is not None:
                anchors[event.anchor] = 1, len(event.value)
        elif isinstance(event, yaml.AliasEvent):
            more, longer = anchors.get(str(event.anchor), (1, 0))
            values, chars = values + more, chars + longer
        elif isinstance(event, yaml.CollectionStartEvent):
            begun.append((event.anchor, values, chars))
            values += 1
            if len(begun) > MAX_DEPTH:
                raise BadImportError(f"{_at(event)}: nested deeper than {MAX_DEPTH} levels")
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, values_before, chars_before = begun.pop()
            if anchor is not None:
                anchors[anchor] = values - values_before, chars - chars_before
        if values > most_values:
            raise BadImportError(
                f"{_at(event)}: more than {most_values} values, with those that aliases repeat;"
                " split the file"
            )
        if chars > most_chars:
            raise BadImportError(f"{_at(event)}: aliases repeat more than {most_chars} characters")


def _at(event: Any) -> str:
    return f"line {getattr(event.start_mark, 'line', 0) + 1}"


def _call(
    number: int, request: dict[str, Any], response: dict[str, Any], counted: Counter[str]
) -> Call:
    status = response.get("status")
    code = checked_status(status.get("code") if isinstance(status, dict) else status)
    if code is None:
        raise SkippedError("not a status of HTTP", "status")
    method = str(request.get("method") or "GET")
    headers, body = _side(request)
    answer_headers, answer = _side(response)
    answers = method != "HEAD" and code not in _NO_BODY
    counted.update(_missing(headers, body))
    counted.update(_missing(answer_headers, answer) if answers else ())
    begun_us = number * _APART_US
    return Call(
        begun_us=begun_us,
        answered_us=begun_us,
        ended_us=begun_us,
        method=method,
        url=checked_url(request.get("uri"), "uri"),
        headers=headers,
        body=body,
        status=code,
        answer_headers=answer_headers,
        answer=answer,
    )


def _side(said: dict[str, Any]) -> tuple[Headers, bytes]:
    """Headers and body of a request or an answer, unpacked.

    Some serialisers of cassettes store a JSON body as a parsed value beside ``body``.

    Raises:
        SkippedError: there is a body, and it cannot be read.
    """
    headers = _headers(said.get("headers"))
    there = [name for name in _BODIES if said.get(name) is not None]
    unknown = sorted(str(name) for name, value in said.items() if value is not None)
    if others := [name for name in unknown if "body" in name and name not in _BODIES]:
        raise SkippedError(
            f"a body in a form that is not known: {visible(others[0], limit=40)}", "body"
        )
    if not there:
        return headers, b""
    if there[0] != "body":
        return unpacked(headers, _written(said[there[0]], headers), parsed=True)
    return unpacked(headers, _body(said["body"], headers))


def _missing(headers: Headers, body: bytes) -> Iterator[str]:
    length = dict(headers).get("content-length", "")
    if not body and length.isdecimal() and int(length):
        yield _NO_BODY_READ


def _written(value: Any, headers: Headers) -> bytes:
    """The bytes of a body that the cassette stores as a parsed value.

    The result is the usual spelling of JSON that has the length in the headers, else the shortest.
    """
    kind = dict(headers).get("content-type", "").partition(";")[0].strip().lower()
    if isinstance(value, dict) and kind == _FORM:
        return urlencode(value, doseq=True).encode("utf-8", "replace")
    if isinstance(value, str) and "json" not in kind:
        return value.encode("utf-8", "surrogatepass")
    length = dict(headers).get("content-length", "")
    compact = msgspec.json.encode(value)
    for spelt in (compact, *_spellings(compact)):
        if str(len(spelt)) == length:
            return spelt
    return compact


def _spellings(compact: bytes) -> Iterator[bytes]:
    import json  # noqa: PLC0415 - seldom needed

    value = json.loads(compact)
    for ascii_only in (True, False):
        yield json.dumps(value, ensure_ascii=ascii_only).encode()
    yield json.dumps(value, separators=(",", ":")).encode()


def _headers(said: object) -> Headers:
    """Headers; each value is a text or a list of texts."""
    if not isinstance(said, dict):
        return ()
    return header_pairs(
        (name, value)
        for name, values in said.items()
        for value in (values if isinstance(values, list) else [values])
    )


def _body(said: object, headers: Headers) -> bytes:
    match said:
        case None | bytes() | str():
            return said.encode("utf-8", "surrogatepass") if isinstance(said, str) else said or b""
        case {"base64_string": str() | bytes() as packed}:
            try:
                return base64.b64decode(packed, validate=False)
            except (binascii.Error, ValueError) as exc:
                raise SkippedError("a body that is not base64", "body") from exc
        case {"string": inner}:
            return _body(inner, headers)
        case {"parsed_json": value} | {"parsed_body": value}:
            return _written(value, headers)
        case dict() | list() if _is_written(headers):
            return _written(said, headers)
        case _:
            raise SkippedError("a body that is neither text nor bytes", "body")


def _is_written(headers: Headers) -> bool:
    """Whether the headers show how a parsed body was written."""
    kind = dict(headers).get("content-type", "").lower()
    return "json" in kind or kind.startswith(_FORM)
