"""Make bundles from the exchanges in a cassette, and read and check files with bundles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from securesystemslib.signer import CryptoSigner

from ptycassette.cassette.io.reader import open_cassette
from ptycassette.errors import NotFoundError, RecordError, UsageError
from ptycassette.model.records import NOT_JSON
from ptycassette.model.resolved_types import resolved
from ptycassette.model.visible_text import visible, visible_json
from ptycassette.seal.bundle.exporting import (
    BundleResult,
    Closeness,
    Demands,
    Exported,
    capture_bundle,
    exported,
    read_object,
    verify_bundle,
)
from ptycassette.seal.trust import Trust
from ptycassette.system.files.whole_file import read_plain

_MAX_BUNDLE_BYTES = 1 << 20
_MAX_ACTUAL_BYTES = 64 << 20


def bundle_of(
    path: str,
    entry: int,
    *,
    signer: CryptoSigner | None = None,
    closeness: Closeness | None = None,
) -> Exported:
    """A bundle of one exchange of a cassette's tape.

    Args:
        path: the cassette; every byte of it is checked.
        entry: the number of the exchange, as ``ptycassette tape`` lists it.
        signer: signs the bundle; None leaves it unsigned.
        closeness: how exact a replay must be; byte for byte when None.

    Raises:
        NotFoundError: the tape has no such entry.
        RefusedError: it is not a question to a model.
        CassetteError: the cassette cannot be read, or has no tape.
    """
    where = f"{visible(path)}, entry {entry}"
    with open_cassette(path) as cassette:
        tape = cassette.tape()
        upstreams: dict[int, str] = {}
        for exchange in tape:
            one = exchange.entry
            upstreams[one.entry] = one.upstream or upstreams.get(one.within or 0, "")
            if one.entry == entry:
                headers = dict((one.answer.headers if one.answer else None) or ())
                is_message = one.kind == "message"
                return exported(
                    exchange.question(),
                    [data for _, data in exchange.pieces()],
                    content_type=None if is_message else headers.get("content-type", ""),
                    upstream=upstreams[entry],
                    signer=signer,
                    closeness=closeness,
                    where=where,
                )
        count = len(tape)
    raise NotFoundError(
        "there is no such entry", where=where, hint=f"the tape has {count}: ptycassette tape"
    )


def bundle_of_step(path: str, *, signer: CryptoSigner | None = None) -> Exported:
    """A bundle of the step in a JSON file; see ``capture_bundle``.

    Raises:
        CassetteError: the file cannot be read, or is not a step.
    """
    where = visible(path)
    data = read_plain(path, max_bytes=_MAX_ACTUAL_BYTES)
    step, wrong = read_object(data, "step")
    if wrong:
        raise RecordError(wrong[0].partition(":")[2], where=where)
    return capture_bundle(step, signer=signer, where=where)


def read_embedding(path: str) -> tuple[float, ...]:
    """The numbers in a file, a JSON list.

    Raises:
        CassetteError: the file cannot be read, or is not such a list.
    """
    data = read_plain(path, max_bytes=_MAX_BUNDLE_BYTES)
    try:
        return msgspec.json.decode(data, type=resolved(tuple[float, ...]))
    except NOT_JSON as exc:
        raise UsageError(f"not a JSON list of numbers: {exc}", where=visible(path)) from exc


def check_bundle(
    bundle: str,
    actual: str,
    *,
    trust: Trust,
    allow_unsigned: bool = False,
    allow_any_key: bool = False,
    structural: str | None = None,
) -> BundleResult:
    """Compare a file with an actual record to a file with a bundle; see ``Demands``.

    Raises:
        UsageError: the expected transcript is not a transcript.
        CassetteError: a file cannot be read, or is too large.
    """
    expected: Mapping[str, Any] | None = None
    if structural is not None:
        data = read_plain(structural, max_bytes=_MAX_ACTUAL_BYTES)
        expected, wrong = read_object(data, "transcript")
        if wrong or not isinstance(expected, dict):
            raise UsageError("not a transcript", where=visible(structural))
    return verify_bundle(
        read_plain(bundle, max_bytes=_MAX_BUNDLE_BYTES),
        read_plain(actual, max_bytes=_MAX_ACTUAL_BYTES),
        Demands(
            trust=trust,
            allow_unsigned=allow_unsigned,
            allow_any_key=allow_any_key,
            structural=expected,
        ),
    )


def written(value: Mapping[str, Any]) -> bytes:
    """A bundle or a record as the text of a file."""
    return visible_json(msgspec.json.format(msgspec.json.encode(value), indent=2)) + b"\n"
