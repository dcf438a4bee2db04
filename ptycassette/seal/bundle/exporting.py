"""Make a bundle of one question to a provider and its answer."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from securesystemslib.signer import CryptoSigner

from ptycassette.cassette import canonical_json, parse_strict
from ptycassette.errors import InvalidCassetteError, RecordError, RefusedError
from ptycassette.seal.bundle.schema import ACTUAL, BUNDLE, LIMITS, VERSION, violations
from ptycassette.seal.bundle.transcripts import ModelAnswer, answer_of
from ptycassette.seal.bundle.verifying import digest_of

_VENDORS = ("anthropic", "openai", "google", "mistral", "deepseek", "openrouter")
DEFAULT = 1
"""Temperature and top-p where a question says neither: what the providers take then."""


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
    level: str = "byte",
    where: str,
) -> Exported:
    """The bundle of one exchange.

    Args:
        question: the body of the request, JSON.
        answer: that of the answer, as in ``answer_of``.
        content_type: of the answer, as there.
        upstream: where the question was sent.
        signer: signs it; nobody when None.
        level: ``byte`` or ``structural``.
        where: what errors call the exchange.

    Raises:
        RefusedError: it is no question to a model, or the answer says nothing.
    """
    asked = _document(question, where)
    said = answer_of(answer, content_type)
    transcript = said.transcript()
    if transcript is None:
        raise RefusedError("the answer has no text and calls no tool", where=where)
    actual = _actual(asked, said, transcript, where)
    bundle: dict[str, Any] = {
        "rerun_version": VERSION,
        "model": {"vendor": _vendor(upstream), "id": _model(asked, said, where)},
        "sampling": _sampling(asked),
        "inputs": {f"{name}_sha256": digest_of(value) for name, value in actual["inputs"].items()},
        "runtime": {"class": "cloud"},
        "expected": {"transcript_sha256": digest_of(transcript)},
        "tolerance": {"level": level},
    }
    if said.fingerprint:
        bundle["model"]["fingerprint"] = said.fingerprint
    if signer is not None:
        bundle["signature"] = _signature(bundle, signer)
    wrong = violations(bundle, BUNDLE, "bundle") + violations(actual, ACTUAL, "actual")
    if wrong:
        raise RefusedError(f"a bundle cannot hold this: {wrong[0]}", where=where)
    return Exported(bundle, actual)


def _document(question: bytes, where: str) -> dict[str, Any]:
    try:
        asked = parse_strict(question, where=where, error=RecordError, limits=LIMITS)
    except InvalidCassetteError as exc:
        raise RefusedError(f"no question to a model: {exc.message}", where=where) from exc
    if not isinstance(asked, dict):
        raise RefusedError("no question to a model: no JSON object", where=where)
    return asked


def _actual(
    asked: Mapping[str, Any], said: ModelAnswer, transcript: dict[str, Any], where: str
) -> dict[str, Any]:
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
    actual: dict[str, Any] = {"inputs": inputs, "output": {"transcript": transcript}}
    if said.fingerprint:
        actual["runtime"] = {"fingerprint": said.fingerprint}
    return actual


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
