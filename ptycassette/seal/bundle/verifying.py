"""Check a bundle against an actual record: schema first, then everything else, all of it reported.

agent-rerun's own verifier checks a signature only if there is one, with the key that stands beside
it, ignores tools that the bundle does not name, and passes a threshold or an embedding that is
``NaN``. Here a bundle must be signed by a key that is trusted, and name all that was given; what
weakens that is asked for (``Demands``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from ptycassette.cassette._canonical_json import canonical_json
from ptycassette.model.visible_text import visible
from ptycassette.seal.bundle.schema import ACTUAL, BUNDLE, embedding_of, read_object, violations
from ptycassette.seal.bundle.transcripts import tool_graph
from ptycassette.seal.envelope import strict_base64
from ptycassette.seal.keys import checked, weakness
from ptycassette.seal.trust import Trust


class Demands(msgspec.Struct, frozen=True, kw_only=True):
    """What a bundle must prove.

    Attributes:
        trust: whose signatures count.
        allow_unsigned: a bundle without a signature passes.
        allow_any_key: the signature must fit, whoever made it.
        structural: the transcript that was expected; without it the level ``structural``, which
            version 0.1 leaves open, is refused.
    """

    trust: Trust = Trust()
    allow_unsigned: bool = False
    allow_any_key: bool = False
    structural: Mapping[str, Any] | None = None


class BundleResult(msgspec.Struct, frozen=True, kw_only=True):
    """All that is wrong, each a code and a reason; what is odd; and who signed it."""

    errors: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    signer: str | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.errors

    @property
    def exit_status(self) -> int:
        """0, 4 for a schema, 7 for a signature, else 1: of the first error."""
        if not self.errors:
            return 0
        code = self.errors[0].partition(":")[0]
        return {"SchemaViolation": 4, **dict.fromkeys(_SIGNATURE_CODES, 7)}.get(code, 1)


_SIGNATURE_CODES = ("BadSignature", "Unsigned", "UntrustedKey")


def verify_bundle(
    bundle: bytes | Mapping[str, Any], actual: bytes | Mapping[str, Any], demands: Demands
) -> BundleResult:
    """Hold an actual record against a bundle; each is the bytes of a file, or the object in it."""
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
    """Take the step again, and hold what came out against the bundle.

    Args:
        bundle: the bytes of a file, or the object in it.
        inputs: ``system_prompt``, ``messages``, maybe ``tools``: a bundle has their hashes alone.
        run: is given the bundle and the inputs, asks the model, and returns the output:
            ``transcript``, ``embedding`` or both. It is not called if the bundle is not valid or
            trusted, or was made of other inputs.
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
    """Who signed it, by their name in the trust file, and what is wrong."""
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
    """Hold the tool calls against those of the expected transcript, which the hash must confirm."""
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
