"""Make a bundle: of one question to a provider and its answer, or of a step in the plain."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from securesystemslib.signer import CryptoSigner

from ptycassette.cassette._canonical_json import canonical_json
from ptycassette.cassette.strict_json import parse_strict
from ptycassette.errors import InvalidCassetteError, RecordError, RefusedError
from ptycassette.seal.bundle.schema import (
    ACTUAL,
    BUNDLE,
    LIMITS,
    STEP,
    VERSION,
    embedding_text,
    violations,
)
from ptycassette.seal.bundle.transcripts import ModelAnswer, answer_of
from ptycassette.seal.bundle.verifying import digest_of

_VENDORS = ("anthropic", "openai", "google", "mistral", "deepseek", "openrouter")
DEFAULT = 1
"""Temperature and top-p where a question says neither: what the providers take then."""


class Closeness(msgspec.Struct, frozen=True, kw_only=True):
    """How exact a replay must be.

    Attributes:
        level: ``byte``, ``structural`` or ``semantic``.
        embedding: of the expected answer; the level ``semantic`` needs it.
        threshold: at ``semantic``, the least cosine of the two embeddings, above 0 and up to 1.
    """

    level: str = "byte"
    embedding: tuple[float, ...] = ()
    threshold: float | None = None


class Exported(msgspec.Struct, frozen=True):
    """A bundle, and the actual record that it was made of: its inputs and output in the plain."""

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
    """The bundle of one exchange.

    Args:
        question: the body of the request, JSON.
        answer: that of the answer, as in ``answer_of``.
        content_type: of the answer, as there.
        upstream: where the question was sent.
        signer: signs it; nobody when None.
        closeness: how exact a replay must be; byte for byte when None.
        where: what errors call the exchange.

    Raises:
        RefusedError: it is no question to a model, or the answer says nothing.
        UsageError: the embedding is none.
    """
    closeness = closeness or Closeness()
    asked = _document(question, where)
    said = answer_of(answer, content_type)
    transcript = said.transcript()
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
    """The bundle of a step that is given in the plain; no tape is needed.

    Args:
        step: ``model``, ``sampling``, ``runtime`` and ``tolerance`` as in a bundle; ``inputs``
            with ``system_prompt``, ``messages`` and maybe ``tools``; ``expected`` with
            ``transcript``, ``semantic_embedding`` (base64 of float32) or both.
        signer: signs it; nobody when None.
        where: what errors call the step.

    Raises:
        RecordError: it is no step of agent-rerun 0.1, or not what its level needs.
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
        raise RefusedError(f"no question to a model: {exc.message}", where=where) from exc
    if not isinstance(asked, dict):
        raise RefusedError("no question to a model: no JSON object", where=where)
    return asked


def _inputs(asked: Mapping[str, Any], where: str) -> dict[str, Any]:
    for name in ("messages", "input", "contents"):  # chat and Anthropic, responses, Gemini
        messages = asked.get(name)
        if isinstance(messages, str):
            messages = [{"role": "user", "content": messages}]
        if isinstance(messages, list):
            break
    else:
        raise RefusedError("no question to a model: it has no messages", where=where)
    inputs: dict[str, Any] = {"system_prompt": _system_prompt(asked, messages)}
    inputs["messages"] = messages
    if isinstance(asked.get("tools"), list):
        inputs["tools"] = asked["tools"]
    return inputs


def _system_prompt(asked: Mapping[str, Any], messages: list[Any]) -> str:
    """What stands in a field of its own; else the texts of system messages, which stay there."""
    for name in ("system", "instructions", "systemInstruction", "system_instruction"):
        if name in asked:
            return _plain(asked[name])
    roles = {"system", "developer"}
    own = (one for one in messages if isinstance(one, dict) and one.get("role") in roles)
    return "\n".join(_plain(one.get("content")) for one in own)


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        value = value.get("parts")
    if isinstance(value, list):
        texts = (one.get("text") for one in value if isinstance(one, dict))
        return "\n".join(text for text in texts if isinstance(text, str))
    return value if isinstance(value, str) else ""


def _sampling(asked: Mapping[str, Any]) -> dict[str, Any]:
    given = asked.get("generationConfig")
    config = given if isinstance(given, dict) else asked
    found: dict[str, Any] = {}
    for name, names in {
        "temperature": ("temperature",),
        "top_p": ("top_p", "topP"),
        "seed": ("seed",),
        "max_tokens": (
            "max_tokens",
            "max_completion_tokens",
            "max_output_tokens",
            "maxOutputTokens",
        ),
    }.items():
        said = (config[one] for one in names if config.get(one) is not None)
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
