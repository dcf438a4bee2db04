"""The lines of ``tape.jsonl``, and the rules on each line and between lines.

The rules on bodies hold without unpacking one: a line has the length of each body, which may not
be much longer than its packed form. So unpacking all bodies costs no more than the file allows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

import msgspec

from ptycassette.cassette.layout import RecordCodec, is_sha256
from ptycassette.errors import ManifestError, TapeError
from ptycassette.model.limits import INT64_MAX, Limits
from ptycassette.model.re2_engine import lazy_pattern
from ptycassette.model.records import Manifest
from ptycassette.model.resolved_types import resolved
from ptycassette.model.tape import TAPE, BodyPlace, TapeAnswer, TapeEntry

TAPE_KEY = "tape"
"""The entry of ``optional`` that says that there is a tape."""
TAPE_VERSION = 1

_DIGEST = lazy_pattern(r"[0-9a-f]{8}")
_MOST_RATIO = 32
_ALWAYS_UNPACKED = 64 << 10


class TapeDeclared(msgspec.Struct, frozen=True, kw_only=True):
    """``optional.tape``: ``key`` is that of the HMACs in the entries, in hexadecimal."""

    version: int
    entries: int = 0
    key: str = ""


def tape_facts(manifest: Manifest) -> Mapping[str, Any]:
    """All that the manifest holds about the tape; empty without one."""
    table = (manifest.optional or {}).get(TAPE_KEY)
    return table if isinstance(table, dict) else {}


def declared_tape(manifest: Manifest, *, where: str) -> TapeDeclared | None:
    """The tape that the manifest declares; None without one, or with one of a newer version.

    Raises:
        ManifestError: it is malformed.
    """
    table = (manifest.optional or {}).get(TAPE_KEY)
    if table is None:
        return None
    try:
        declared = msgspec.convert(table, resolved(TapeDeclared))
    except msgspec.ValidationError as exc:
        raise ManifestError(f"optional.tape: {exc}", where=where) from exc
    if declared.version < 1 or declared.entries < 0:
        raise ManifestError("optional.tape: version or entries is out of range", where=where)
    return declared if declared.version == TAPE_VERSION else None


def most_unpacked(packed: int) -> int:
    """How long a body may be of which so many packed bytes are stored."""
    return _ALWAYS_UNPACKED + _MOST_RATIO * packed


def moments_of(entry: TapeEntry) -> Iterable[tuple[int, str]]:
    """The service events that an entry names: their ``seq`` and their type."""
    yield entry.seq, "model-request"
    if entry.answer is not None:
        yield entry.answer.seq, "model-answer"
    if entry.end_seq is not None:
        yield entry.end_seq, "model-end"


def check_entries_fit(
    entry: TapeEntry, number: int, bodies_size: int, *, place: str, limits: Limits
) -> None:
    """Check an entry against its number and the file of bodies.

    Raises:
        TapeError: it does not fit.
    """
    where = f"{place} line {number}"
    if entry.entry != number:
        raise TapeError(f"entry {entry.entry} where {number} is due", where=where)
    if entry.within is not None and not 1 <= entry.within < number:
        raise TapeError(f"a message within entry {entry.within}", where=where)
    for body in (entry.body, entry.answer.body if entry.answer is not None else None):
        if body is None:
            continue
        if body.at + body.packed > bodies_size:
            raise TapeError(
                f"a body at {body.at} of {body.packed} bytes is beyond the {bodies_size} there are",
                where=where,
            )
        if body.bytes > min(limits.max_body_bytes, most_unpacked(body.packed)):
            raise TapeError(
                f"a body of {body.bytes} bytes out of {body.packed}: more than a reader accepts",
                where=where,
                hint="no recorder writes this: check the origin of the file, and record it again",
            )


def _fault(entry: TapeEntry) -> str | None:
    """The problem with a single entry, or None."""
    answer = entry.answer
    ends = (entry.end_seq, entry.end_us)
    numbers = (entry.entry, entry.seq, entry.connection)
    if not all(1 <= number <= INT64_MAX for number in numbers) or not 0 <= entry.t_us <= INT64_MAX:
        return "entry, seq, connection or t_us is out of range"
    if (entry.kind == "message") != (entry.within is not None):
        return f"kind {entry.kind} and within {entry.within} do not fit"
    if any(end is not None and not 0 <= end <= INT64_MAX for end in ends):
        return "end_seq or end_us is out of range"
    after = [entry.seq, *([] if answer is None else [answer.seq])]
    after += [] if entry.end_seq is None else [entry.end_seq]
    if any(one >= two for one, two in pairwise(after)):
        return "seq, answer.seq and end_seq do not ascend"
    return _body_fault(entry.body) or _tokens_fault(entry) or _answer_fault(answer)


def _tokens_fault(entry: TapeEntry) -> str | None:
    length = _length(entry.body)
    for token in entry.tokens:
        if min(token.offset, token.length, token.name) < 0:
            return "a token's offset, length or name is negative"
        if not token.where and token.offset + token.length > length:
            return f"a token ends at {token.offset + token.length}, behind the body"
    named = {(token.type, token.name) for token in entry.tokens}
    for one in entry.digests:
        if not _DIGEST.fullmatch(one.digest):
            return "a digest of a masked value is not 8 hexadecimal digits"
        if (one.type, one.name) not in named:
            return f"a digest of the {one.type} {one.name}, which is not among its tokens"
    return None


def _answer_fault(answer: TapeAnswer | None) -> str | None:
    if answer is None:
        return None
    if not 1 <= answer.seq <= INT64_MAX or not 0 <= answer.t_us <= INT64_MAX:
        return "answer.seq or answer.t_us is out of range"
    if answer.status is not None and not 100 <= answer.status <= 999:
        return f"status {answer.status}"
    total, t_us = 0, answer.t_us
    for chunk in answer.chunks:
        if chunk.length < 0 or not t_us <= chunk.t_us <= INT64_MAX:
            return "a chunk of negative length, or before the one in front of it"
        t_us = chunk.t_us
        total += chunk.length
    if total != _length(answer.body):
        return f"chunks of {total} bytes for a body of {_length(answer.body)}"
    return _body_fault(answer.body)


def _body_fault(body: BodyPlace | None) -> str | None:
    if body is None:
        return None
    if not is_sha256(body.sha256) or min(body.at, body.packed) < 0 or body.bytes < 1:
        return "a body has no proper sha256, bytes, at or packed"
    if max(body.at, body.packed, body.bytes) > INT64_MAX // 2:
        return "a body is out of range"
    return None


def _length(body: BodyPlace | None) -> int:
    return 0 if body is None else body.bytes


TAPE_CODEC: RecordCodec[Any] = RecordCodec(
    TAPE, kind="service-event", struct=TapeEntry, fault=_fault
)
