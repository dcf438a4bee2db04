"""What a seal says: an in-toto Statement, version 1, whose subjects are the files of a cassette.

in-toto's rule for readers holds: fields that this version does not know are ignored. They are
signed like the rest. What two readers could read differently is refused: a repeated key, a subject
that is there twice.
"""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec

from ptycassette.cassette.layout import MANIFEST
from ptycassette.cassette.strict_json import parse_strict
from ptycassette.errors import CassetteError, RecordError, TamperedError
from ptycassette.model.json_values import NOT_JSON
from ptycassette.model.limits import Limits
from ptycassette.model.resolved_types import resolved
from ptycassette.model.visible_text import visible

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:ptycassette:seal:v1"
LIMITS = Limits(max_depth=8)
S = TypeVar("S", bound=msgspec.Struct)
_SHA256 = re.compile(r"[0-9a-f]{64}")


class _Digest(msgspec.Struct, frozen=True):
    sha256: str


class _Subject(msgspec.Struct, frozen=True):
    name: str
    digest: _Digest


class _Predicate(msgspec.Struct, frozen=True):
    cassette: str
    id: str
    sealed_at: str
    sealed_by: str


class _Statement(msgspec.Struct, frozen=True, rename={"type": "_type"}):
    type: str
    subject: tuple[_Subject, ...]
    predicateType: str  # noqa: N815 - in-toto's own name
    predicate: _Predicate


class SealStatement(msgspec.Struct, frozen=True, kw_only=True):
    """What is sealed.

    Attributes:
        cassette: the path of the directory from the top of its work tree, with ``/``. In seals of
            ptycassette 0.2 and before it is the name alone.
        id: the ``id`` in its manifest.
        digests: the SHA-256 of every file in it, by name.
        sealed_at: RFC 3339, by the clock of whoever sealed it.
        sealed_by: the program and its version.
    """

    cassette: str
    id: str
    digests: dict[str, str]
    sealed_at: str
    sealed_by: str


def encode_statement(statement: SealStatement) -> bytes:
    """The JSON text that is signed; subjects in the order of their names."""
    subjects = tuple(
        _Subject(name, _Digest(digest)) for name, digest in sorted(statement.digests.items())
    )
    predicate = _Predicate(
        statement.cassette, statement.id, statement.sealed_at, statement.sealed_by
    )
    return msgspec.json.encode(_Statement(STATEMENT_TYPE, subjects, PREDICATE_TYPE, predicate))


def decode_statement(payload: bytes, *, where: str) -> SealStatement:
    """The statement in the payload of an envelope.

    Raises:
        TamperedError: it is no statement of ours.
    """
    found = exact(payload, _Statement) or _looked_at(payload, where)
    if found.type != STATEMENT_TYPE or found.predicateType != PREDICATE_TYPE:
        shown = visible(f"{found.type} with {found.predicateType}", limit=200)
        raise TamperedError(f"the seal is no statement about a cassette but {shown}", where=where)
    digests = {subject.name: subject.digest.sha256 for subject in found.subject}
    if len(digests) != len(found.subject):
        raise TamperedError("the statement names a file twice", where=where)
    if MANIFEST not in digests:
        raise TamperedError(f"the statement does not name {MANIFEST}", where=where)
    if not found.predicate.cassette:
        raise TamperedError("the statement names no cassette", where=where)
    if not all(map(_SHA256.fullmatch, digests.values())):
        raise TamperedError("the statement has a digest that is no SHA-256", where=where)
    return SealStatement(
        cassette=found.predicate.cassette,
        id=found.predicate.id,
        digests=digests,
        sealed_at=found.predicate.sealed_at,
        sealed_by=found.predicate.sealed_by,
    )


def _looked_at(payload: bytes, where: str) -> _Statement:
    """A statement in another spelling than ours, or with more in it."""
    try:
        return msgspec.convert(strict_object(payload, where=where), resolved(_Statement))
    except msgspec.ValidationError as exc:
        raise TamperedError(f"the statement: {visible(str(exc), limit=300)}", where=where) from exc


def exact(data: bytes, kind: type[S], *, indent: int = -1) -> S | None:
    """A struct that is written exactly as ``data``; None if it is not.

    What comes back as the same bytes has no key twice, no other fields and one spelling, so
    nothing else needs to be looked at (decision 0011).
    """
    try:
        found = msgspec.json.decode(data, type=resolved(kind))
    except NOT_JSON:
        return None
    text = msgspec.json.encode(found)
    same = data == (text if indent < 0 else msgspec.json.format(text, indent=indent) + b"\n")
    return found if same else None


def strict_object(data: bytes, *, where: str) -> dict[str, Any]:
    """A JSON object, read as strictly as a document of a cassette.

    Raises:
        TamperedError: it is not one.
    """
    try:
        value = parse_strict(data, where=where, error=RecordError, limits=LIMITS)
    except CassetteError as exc:
        raise TamperedError(f"the seal is damaged: {exc.message}", where=where) from exc
    if not isinstance(value, dict):
        raise TamperedError("the seal is damaged: no JSON object", where=where)
    return value
