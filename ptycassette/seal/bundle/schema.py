"""The shapes of a bundle and of an actual record, as tables; every violation is reported.

The specification refuses unknown fields at any level. Beyond it, what would make a check say
nothing is refused: thresholds that everything passes, embeddings that are no numbers, base64 in a
loose spelling, integers that RFC 8785 would round.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from struct import error, iter_unpack, pack
from typing import Any

from ptycassette.cassette.strict_json import parse_strict
from ptycassette.errors import CassetteError, RecordError, UsageError
from ptycassette.model.limits import Limits
from ptycassette.model.visible_text import visible
from ptycassette.seal.envelope import strict_base64

VERSION = "0.1"
LIMITS = Limits(max_depth=64)
MAX_EXACT = 2**53 - 1
"""RFC 8785 writes numbers as doubles: a larger integer has no one spelling."""
_HASH = re.compile(r"sha256:[0-9a-f]{64}")
_FLOAT_BYTES = 4
_MAX_FLOATS = 1 << 16
_MOST = 50

Check = Callable[[Any], bool]
Shape = Mapping[str, "Check | Shape"]


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _named(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _one_of(*names: str) -> Check:
    return lambda value: isinstance(value, str) and value in names


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)  # the parser: finite


def _integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _threshold(value: Any) -> bool:
    return _number(value) and 0 < value <= 1


def _hash(value: Any) -> bool:
    return isinstance(value, str) and _HASH.fullmatch(value) is not None


def _bytes(length: int) -> Check:
    return lambda value: len(strict_base64(value) or b"") == length


def _embedding(value: Any) -> bool:
    return embedding_of(value) is not None


def _texts(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(one, str) for one in value.values())


def _list(value: Any) -> bool:
    return isinstance(value, list)


def _object(value: Any) -> bool:
    return isinstance(value, dict)


BUNDLE: Shape = {
    "rerun_version": _one_of(VERSION),
    "model": {"vendor": _named, "id": _named, "fingerprint?": _text},
    "sampling": {
        "temperature": _number, "top_p": _number, "seed?": _integer, "max_tokens?": _integer,
    },
    "inputs": {"system_prompt_sha256": _hash, "messages_sha256": _hash, "tools_sha256?": _hash},
    "runtime": {
        "class": _one_of("cloud", "local-vllm", "local-transformers"), "tool_versions?": _texts,
    },
    "expected": {"transcript_sha256?": _hash, "semantic_embedding?": _embedding},
    "tolerance": {"level": _one_of("byte", "semantic", "structural"), "threshold?": _threshold},
    "signature?": {"alg": _one_of("ed25519"), "pubkey": _bytes(32), "sig": _bytes(64)},
}  # fmt: skip
ACTUAL: Shape = {
    "inputs": {"system_prompt": _text, "messages": _list, "tools?": _list},
    "output": {"transcript?": _object, "embedding?": _embedding},
    "runtime?": {"fingerprint?": _text},
}
STEP: Shape = {
    **{name: BUNDLE[name] for name in ("model", "sampling", "runtime", "tolerance")},
    "inputs": ACTUAL["inputs"],
    "expected": {"transcript?": _object, "semantic_embedding?": _embedding},
}
"""A step that is to be captured: what a bundle holds as hashes is in the plain."""
_NEEDED = {
    "byte": (("expected", "transcript_sha256"),),
    "semantic": (("expected", "semantic_embedding"), ("tolerance", "threshold")),
    "structural": (),
}
"""What must be there at which level."""


def embedding_of(text: Any) -> tuple[float, ...] | None:
    """The numbers of an embedding: base64 of little-endian float32, finite and not all zero."""
    data = strict_base64(text)
    if not data or len(data) % _FLOAT_BYTES or len(data) > _MAX_FLOATS * _FLOAT_BYTES:
        return None
    numbers = tuple(number for (number,) in iter_unpack("<f", data))
    return numbers if all(map(math.isfinite, numbers)) and any(numbers) else None


def embedding_text(numbers: Sequence[float]) -> str:
    """The base64 of an embedding; see ``embedding_of``.

    Raises:
        UsageError: it is empty, too long, all zero, or has what is no number of 32 bits.
    """
    try:
        text = base64.b64encode(pack(f"<{len(numbers)}f", *numbers)).decode()
    except (OverflowError, error, TypeError) as exc:
        raise UsageError(f"this is no embedding: {exc}") from exc
    if embedding_of(text) is None:
        raise UsageError(
            f"this is no embedding: it needs 1 to {_MAX_FLOATS} finite numbers, not all zero"
        )
    return text


def read_object(data: bytes, what: str) -> tuple[Any, list[str]]:
    """A JSON object in a file, and what is wrong with it: repeated keys, NaN, lone surrogates."""
    try:
        value = parse_strict(data, where=what, error=RecordError, limits=LIMITS)
    except CassetteError as exc:
        return None, [f"SchemaViolation:{what}: {exc.message}"]
    return value, []


def violations(value: Any, shape: Shape, what: str) -> list[str]:
    """Everything in which a value differs from its shape; the first fifty."""
    found = [f"SchemaViolation:{what}{text}" for text in _compare(value, shape, "")]
    if not found and shape is BUNDLE:
        for part, name in _NEEDED[value["tolerance"]["level"]]:
            if name not in value[part]:
                found.append(f"SchemaViolation:{what}.{part}.{name}: must be there at this level")
    if not found and not _is_exact(value):
        found.append(f"SchemaViolation:{what}: an integer beyond 2^53 has no one canonical text")
    return found[:_MOST]


def _compare(value: Any, shape: Shape, path: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{path}: not an object"
        return
    allowed = {name.rstrip("?"): check for name, check in shape.items()}
    for name in value:
        if name not in allowed:
            yield f"{path}.{visible(name, limit=80)}: not a field of version {VERSION}"
    for key, check in shape.items():
        name = key.rstrip("?")
        if name not in value:
            if name == key:
                yield f"{path}.{name}: missing"
        elif isinstance(check, Mapping):
            yield from _compare(value[name], check, f"{path}.{name}")
        elif not check(value[name]):
            yield f"{path}.{name}: {visible(repr(value[name]), limit=60)} is not allowed"


def _is_exact(value: Any) -> bool:
    stack = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, dict):
            stack += one.values()
        elif isinstance(one, list):
            stack += one
        elif isinstance(one, int) and abs(one) > MAX_EXACT:
            return False
    return True
