"""Make and verify bundles, from a recorded question and answer or from a step in plain text."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from struct import error, iter_unpack, pack
from typing import Any

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from securesystemslib.signer import CryptoSigner

from ptycassette.cassette.manifest import canonical_json
from ptycassette.cassette.strict_json import parse_strict
from ptycassette.errors import (
    CassetteError,
    InvalidCassetteError,
    RecordError,
    RefusedError,
    UsageError,
)
from ptycassette.model.limits import Limits
from ptycassette.model.visible_text import visible
from ptycassette.seal.bundle.transcripts import tool_graph, transcript_of
from ptycassette.seal.trust import Trust, checked, strict_base64, weakness
from ptycassette.tape.providers.answers import answer_of
from ptycassette.tape.providers.neutral import ModelAnswer
from ptycassette.tape.providers.questions import messages_in, option_values, system_prompt

# The shapes of a bundle and of an actual record, as tables; every violation is reported.


VERSION = "0.1"
LIMITS = Limits(max_depth=64)
MAX_EXACT = 2**53 - 1
"""RFC 8785 writes numbers as doubles: a larger integer has no exact spelling."""
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
"""A step to be captured; it has in plain text what a bundle has as hashes."""
_NEEDED = {
    "byte": (("expected", "transcript_sha256"),),
    "semantic": (("expected", "semantic_embedding"), ("tolerance", "threshold")),
    "structural": (),
}
"""The required members of each level."""


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
        UsageError: it is empty, too long, all zero, or has a value that is not a 32-bit number.
    """
    try:
        text = base64.b64encode(pack(f"<{len(numbers)}f", *numbers)).decode()
    except (OverflowError, error, TypeError) as exc:
        raise UsageError(f"this is not an embedding: {exc}") from exc
    if embedding_of(text) is None:
        raise UsageError(
            f"this is not an embedding: it needs 1 to {_MAX_FLOATS} finite numbers, not all zero"
        )
    return text


def read_object(data: bytes, what: str) -> tuple[Any, list[str]]:
    """The JSON object in a file, and its faults: repeated keys, NaN, lone surrogates."""
    try:
        value = parse_strict(data, where=what, error=RecordError, limits=LIMITS)
    except CassetteError as exc:
        return None, [f"SchemaViolation:{what}: {exc.message}"]
    return value, []


def violations(value: Any, shape: Shape, what: str) -> list[str]:
    """The first fifty differences between a value and its shape."""
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


# Compare a bundle with an actual record: schema first, then everything else; report all errors.


class Demands(msgspec.Struct, frozen=True, kw_only=True):
    """What a bundle must prove.

    Attributes:
        trust: the trusted signers.
        allow_unsigned: accept a bundle without a signature.
        allow_any_key: accept a valid signature by any key.
        structural: the expected transcript. Without it the level ``structural``, which version 0.1
            does not define fully, is refused.
    """

    trust: Trust = Trust()
    allow_unsigned: bool = False
    allow_any_key: bool = False
    structural: Mapping[str, Any] | None = None


class BundleResult(msgspec.Struct, frozen=True, kw_only=True):
    """All errors (a code and a reason each), the warnings, and the signer."""

    errors: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    signer: str | None = None

    @property
    def ok(self) -> bool:
        """Whether there are no errors."""
        return not self.errors

    @property
    def exit_status(self) -> int:
        """0, or by the first error: 4 for a schema, 7 for a signature, else 1."""
        if not self.errors:
            return 0
        code = self.errors[0].partition(":")[0]
        return {"SchemaViolation": 4, **dict.fromkeys(_SIGNATURE_CODES, 7)}.get(code, 1)


_SIGNATURE_CODES = ("BadSignature", "Unsigned", "UntrustedKey")


def verify_bundle(
    bundle: bytes | Mapping[str, Any], actual: bytes | Mapping[str, Any], demands: Demands
) -> BundleResult:
    """Compare an actual record with a bundle; each is the bytes of a file, or the object in it."""
    given, errors = read_object(_as_file(bundle), "bundle")
    record, wrong = read_object(_as_file(actual), "actual")
    errors += wrong
    errors += [] if given is None else violations(given, BUNDLE, "bundle")
    errors += [] if record is None else violations(record, ACTUAL, "actual")
    if errors:
        return BundleResult(errors=tuple(errors))
    signer, errors = _check_signature(given, demands)
    errors += _check_inputs(given["inputs"], record["inputs"])
    errors += _check_output(given, record["output"], demands)
    return BundleResult(errors=tuple(errors), warnings=tuple(_drift(given, record)), signer=signer)


def apply_bundle(
    bundle: bytes | Mapping[str, Any],
    inputs: Mapping[str, Any],
    run: Callable[[Mapping[str, Any], Mapping[str, Any]], Mapping[str, Any]],
    demands: Demands,
) -> BundleResult:
    """Run the step again, and compare the result with the bundle.

    Args:
        bundle: the bytes of a file, or the object in it.
        inputs: ``system_prompt``, ``messages``, optionally ``tools``; a bundle has only their
            hashes.
        run: receives the bundle and the inputs, asks the model, and returns the output:
            ``transcript``, ``embedding`` or both. It is not called if the bundle is invalid, not
            trusted, or was made from other inputs.
        demands: what the bundle must prove.
    """
    given, errors = read_object(_as_file(bundle), "bundle")
    errors += [] if given is None else violations(given, BUNDLE, "bundle")
    record = {"inputs": inputs, "output": {}}
    errors += violations(record, ACTUAL, "actual")
    if errors:
        return BundleResult(errors=tuple(errors))
    _, errors = _check_signature(given, demands)
    errors += _check_inputs(given["inputs"], inputs)
    if errors:
        return BundleResult(errors=tuple(errors))
    return verify_bundle(given, {**record, "output": run(given, inputs)}, demands)


def _as_file(value: bytes | Mapping[str, Any]) -> bytes:
    return value if isinstance(value, bytes) else msgspec.json.encode(value)


def digest_of(value: Any) -> str:
    """``sha256:`` and the digest of the canonical text of a value (RFC 8785)."""
    return f"sha256:{sha256(canonical_json(value)).hexdigest()}"


def _check_signature(bundle: Mapping[str, Any], demands: Demands) -> tuple[str | None, list[str]]:
    """The signer's name in the trust file, and the errors."""
    signature = bundle.get("signature")
    if signature is None:
        missing = [] if demands.allow_unsigned else ["Unsigned:there is no signature"]
        return None, missing
    raw = strict_base64(signature["pubkey"]) or b""
    weak = weakness(raw)
    if weak is not None:
        return None, [f"BadSignature:a public key that {weak}"]
    unsigned = {name: value for name, value in bundle.items() if name != "signature"}
    public = Ed25519PublicKey.from_public_bytes(raw)
    try:
        public.verify(strict_base64(signature["sig"]) or b"", canonical_json(unsigned))
    except InvalidSignature:
        return None, ["BadSignature:it does not fit the bundle"]
    keyid = checked(public, where="bundle").keyid
    signer = next((one.name for one in demands.trust.keys if one.key.keyid == keyid), None)
    if signer is None and not demands.allow_any_key:
        return None, [f"UntrustedKey:{keyid[:16]}... is not trusted"]
    return signer, []


def _check_inputs(said: Mapping[str, str], given: Mapping[str, Any]) -> list[str]:
    wrong = [
        f"InputHashMismatch:{name}_sha256"
        for name in ("system_prompt", "messages", "tools")
        if name in given and f"{name}_sha256" in said
        if digest_of(given[name]) != said[f"{name}_sha256"]
    ]
    if "tools_sha256" in said and "tools" not in given:
        wrong.append("InputHashMismatch:tools_sha256: no tools were given")
    if "tools" in given and "tools_sha256" not in said:
        wrong.append("InputHashMismatch:tools_sha256: the bundle names no tools")
    return wrong


def _check_output(
    bundle: Mapping[str, Any], output: Mapping[str, Any], demands: Demands
) -> list[str]:
    match bundle["tolerance"]["level"]:
        case "byte":
            return _check_transcript(bundle["expected"], output.get("transcript"))
        case "semantic":
            threshold = bundle["tolerance"]["threshold"]
            return _check_embedding(bundle["expected"], output.get("embedding"), threshold)
        case _:
            return _check_structure(bundle["expected"], output.get("transcript"), demands)


def _check_transcript(expected: Mapping[str, str], transcript: Any) -> list[str]:
    if transcript is None:
        return ["TranscriptHashMismatch:there is no transcript"]
    same = digest_of(transcript) == expected["transcript_sha256"]
    return [] if same else ["TranscriptHashMismatch:another transcript"]


def _check_embedding(expected: Mapping[str, str], given: Any, threshold: float) -> list[str]:
    if given is None:
        return ["MissingEmbedding:there is no embedding"]
    one, two = embedding_of(expected["semantic_embedding"]), embedding_of(given)
    if one is None or two is None or len(one) != len(two):
        sizes = f"{len(one or ())} and {len(two or ())} numbers"
        return [f"EmbeddingDimensionMismatch:{sizes}"]
    cosine = likeness(one, two)
    if cosine >= threshold:  # false for NaN
        return []
    return [f"SemanticBelowThreshold:cosine {cosine:.4f}, and {threshold} is asked for"]


def likeness(one: Sequence[float], two: Sequence[float]) -> float:
    """The cosine of the angle between two vectors; each is scaled first, so nothing overflows."""
    first, second = max(map(abs, one)), max(map(abs, two))
    if not first or not second:
        return math.nan
    a, b = [x / first for x in one], [x / second for x in two]
    product = math.fsum(x * y for x, y in zip(a, b, strict=True))
    return product / (math.hypot(*a) * math.hypot(*b))


def _check_structure(expected: Mapping[str, str], given: Any, demands: Demands) -> list[str]:
    """Compare the tool calls with the expected transcript, which must match its hash."""
    if demands.structural is None:
        return ["UnsupportedTolerance:structural: name the expected transcript to compare calls"]
    if "transcript_sha256" not in expected:
        return ["UnsupportedTolerance:structural: the bundle has no hash of a transcript"]
    if digest_of(demands.structural) != expected["transcript_sha256"]:
        return ["TranscriptHashMismatch:the transcript that is said to be expected is another"]
    wanted, found = tool_graph(demands.structural), tool_graph(given)
    if wanted is None or found is None:
        return ["StructureMismatch:a transcript has no tool calls that can be read"]
    if wanted == found:
        return []
    same = [one == two for one, two in zip(wanted, found, strict=False)]
    number = next((n for n, equal in enumerate(same) if not equal), len(same))
    names = [visible(calls[number][0], limit=80) if number < len(calls) else "none"
             for calls in (wanted, found)]  # fmt: skip
    return [f"StructureMismatch:call {number + 1}: {names[0]} is expected, and it is {names[1]}"]


def _drift(bundle: Mapping[str, Any], record: Mapping[str, Any]) -> list[str]:
    """Warn if another build of the model answered."""
    said = bundle["model"].get("fingerprint")
    found = record.get("runtime", {}).get("fingerprint")
    if said is None or found is None or said == found:
        return []
    return [f"FingerprintDrift:{visible(said, limit=80)} then, {visible(found, limit=80)} now"]


_VENDORS = ("anthropic", "openai", "google", "mistral", "deepseek", "openrouter")
DEFAULT = 1
"""The providers' defaults for temperature and top-p, for a question without them."""


class Closeness(msgspec.Struct, frozen=True, kw_only=True):
    """How exact a replay must be.

    Attributes:
        level: ``byte``, ``structural`` or ``semantic``.
        embedding: the embedding of the expected answer; required by the level ``semantic``.
        threshold: for ``semantic``, the least cosine of the two embeddings, above 0 and up to 1.
    """

    level: str = "byte"
    embedding: tuple[float, ...] = ()
    threshold: float | None = None


class Exported(msgspec.Struct, frozen=True):
    """A bundle and its actual record: the inputs and output in plain text."""

    bundle: dict[str, Any]
    actual: dict[str, Any]


def exported(
    question: bytes,
    answer: Sequence[bytes],
    *,
    content_type: str | None,
    upstream: str,
    signer: CryptoSigner | None,
    closeness: Closeness | None = None,
    where: str,
) -> Exported:
    """Make a bundle from one exchange.

    Args:
        question: the body of the request, JSON.
        answer: the body of the answer, as in ``answer_of``.
        content_type: the type of the answer, as in ``answer_of``.
        upstream: the address that the question was sent to.
        signer: signs the bundle; None leaves it unsigned.
        closeness: how exact a replay must be; byte for byte when None.
        where: the name of the exchange, for errors.

    Raises:
        RefusedError: it is not a question to a model, or the answer is empty.
        UsageError: the embedding is invalid.
    """
    closeness = closeness or Closeness()
    asked = _document(question, where)
    said = answer_of(answer, content_type)
    transcript = transcript_of(said)
    if transcript is None:
        raise RefusedError("the answer has no text and calls no tool", where=where)
    inputs = _inputs(asked, where)
    step: dict[str, Any] = {
        "model": {"vendor": _vendor(upstream), "id": _model(asked, said, where)},
        "sampling": _sampling(asked),
        "inputs": inputs,
        "runtime": {"class": "cloud"},
        "expected": {"transcript": transcript},
        "tolerance": {"level": closeness.level},
    }
    if said.fingerprint:
        step["model"]["fingerprint"] = said.fingerprint
    if closeness.embedding:
        step["expected"]["semantic_embedding"] = embedding_text(closeness.embedding)
    if closeness.threshold is not None:
        step["tolerance"]["threshold"] = closeness.threshold
    try:
        return capture_bundle(step, signer=signer)
    except RecordError as wrong:
        raise RefusedError(f"a bundle cannot hold this: {wrong.message}", where=where) from wrong


def capture_bundle(
    step: Mapping[str, Any], *, signer: CryptoSigner | None = None, where: str = "step"
) -> Exported:
    """Make a bundle from a step in plain text; no tape is needed.

    Args:
        step: ``model``, ``sampling``, ``runtime`` and ``tolerance`` as in a bundle; ``inputs``
            with ``system_prompt``, ``messages`` and optionally ``tools``; ``expected`` with
            ``transcript``, ``semantic_embedding`` (base64 of float32) or both.
        signer: signs the bundle; None leaves it unsigned.
        where: the name of the step, for errors.

    Raises:
        RecordError: it is not a step of agent-rerun 0.1, or lacks what its level needs.
    """
    wrong = violations(step, STEP, "step")
    if wrong:
        raise RecordError(wrong[0], where=where)
    expected = dict(step["expected"])
    transcript, embedding = expected.pop("transcript", None), expected.get("semantic_embedding")
    if transcript is not None:
        expected["transcript_sha256"] = digest_of(transcript)
    bundle: dict[str, Any] = {
        "rerun_version": VERSION,
        **{name: step[name] for name in ("model", "sampling", "runtime", "tolerance")},
        "inputs": {f"{name}_sha256": digest_of(value) for name, value in step["inputs"].items()},
        "expected": expected,
    }
    actual: dict[str, Any] = {"inputs": dict(step["inputs"]), "output": {}}
    if transcript is not None:
        actual["output"]["transcript"] = transcript
    if embedding is not None:
        actual["output"]["embedding"] = embedding
    if "fingerprint" in step["model"]:
        actual["runtime"] = {"fingerprint": step["model"]["fingerprint"]}
    wrong = violations(bundle, BUNDLE, "bundle") + violations(actual, ACTUAL, "actual")
    if wrong:
        raise RecordError(wrong[0], where=where)
    if signer is not None:
        bundle["signature"] = _signature(bundle, signer)
    return Exported(bundle, actual)


def _document(question: bytes, where: str) -> dict[str, Any]:
    try:
        asked = parse_strict(question, where=where, error=RecordError, limits=LIMITS)
    except InvalidCassetteError as exc:
        raise RefusedError(f"not a question to a model: {exc.message}", where=where) from exc
    if not isinstance(asked, dict):
        raise RefusedError("not a question to a model: not a JSON object", where=where)
    return asked


def _inputs(asked: Mapping[str, Any], where: str) -> dict[str, Any]:
    messages = messages_in(asked)
    if messages is None:
        raise RefusedError("not a question to a model: it has no messages", where=where)
    inputs: dict[str, Any] = {"system_prompt": system_prompt(asked), "messages": messages}
    if isinstance(asked.get("tools"), list):
        inputs["tools"] = asked["tools"]
    return inputs


def _sampling(asked: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in ("temperature", "top_p", "seed", "max_tokens"):
        said = (value for value in option_values(asked, name) if value is not None)
        value = next(said, DEFAULT if name in {"temperature", "top_p"} else None)
        if value is not None:
            found[name] = value
    return found


def _model(asked: Mapping[str, Any], said: ModelAnswer, where: str) -> str:
    model = asked.get("model")
    found = model if isinstance(model, str) and model else said.model
    if not found:
        raise RefusedError("the model is not named in the question or the answer", where=where)
    return found


def _vendor(upstream: str) -> str:
    host = upstream.partition("://")[2].partition("/")[0].partition(":")[0].lower()
    return next((name for name in _VENDORS if name in host.split(".")[-2:][0]), host or "unknown")


def _signature(bundle: Mapping[str, Any], signer: CryptoSigner) -> dict[str, str]:
    made = signer.sign(canonical_json(bundle))
    public = bytes.fromhex(signer.public_key.keyval["public"])
    return {
        "alg": "ed25519",
        "pubkey": base64.b64encode(public).decode(),
        "sig": base64.b64encode(bytes.fromhex(made.signature)).decode(),
    }
