"""Bundles of agent-rerun: its own vectors, and what its own verifier lets through."""

from __future__ import annotations

import base64
import json
import math
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ptycassette.cassette.manifest import canonical_json
from ptycassette.seal.bundle.exporting import Demands, digest_of, likeness, verify_bundle
from ptycassette.seal.trust import Trust, TrustedKey, checked

SEED = bytes([1]) * 32
"""Of the key that signed the vectors: anybody has it."""
KEY = Ed25519PrivateKey.from_private_bytes(SEED)
TRUST = Trust((TrustedKey("vectors", checked(KEY.public_key(), where="")),), "trust.toml")
NAMES = [
    "c1-byte-replay-passes", "c2-below-threshold-rejected", "c2-semantic-replay-passes",
    "c3-mutated-bundle-rejected", "c4-messages-mismatch-rejected",
    "embedding-dim-mismatch-rejected", "fingerprint-drift-warning",
    "schema-violation-rerun-version", "strictness-extra-bundle-field",
    "strictness-extra-inputs-field", "structural-unsupported",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_vector_of_agent_rerun_is_judged_as_it_says(name: str, reference: Path) -> None:
    """With all that we demand beyond its rules: a key that is trusted."""
    folder = reference / "agent-rerun-vectors" / name
    expected = json.loads((folder / "expected.json").read_bytes())
    found = verify_bundle(
        (folder / "bundle.rr").read_bytes(),
        (folder / "actual.json").read_bytes(),
        Demands(trust=TRUST),
    )

    assert found.ok is expected["verified"], found.errors
    for word in expected["errorContains"]:
        assert any(word in error for error in found.errors), found.errors
    for word in expected.get("warningContains", ()):
        assert any(word in warning for warning in found.warnings)


def floats(*numbers: float) -> str:
    """An embedding."""
    return base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()


class Step:
    """A bundle and an actual record that fit; change them, then check."""

    def __init__(self) -> None:
        self.transcript = {
            "messages": [{"role": "assistant", "content": "hi"}],
            "tool_calls": [{"id": "1", "name": "read", "args_hash": digest_of({"path": "a"})}],
        }
        self.actual: dict[str, Any] = {
            "inputs": {"system_prompt": "be kind", "messages": [{"role": "user", "content": "hi"}]},
            "output": {"transcript": self.transcript, "embedding": floats(1, 2)},
        }
        self.bundle: dict[str, Any] = {
            "rerun_version": "0.1",
            "model": {"vendor": "anthropic", "id": "m"},
            "sampling": {"temperature": 0, "top_p": 1},
            "inputs": {
                "system_prompt_sha256": digest_of("be kind"),
                "messages_sha256": digest_of(self.actual["inputs"]["messages"]),
            },
            "runtime": {"class": "cloud"},
            "expected": {
                "transcript_sha256": digest_of(self.transcript),
                "semantic_embedding": floats(1, 2),
            },
            "tolerance": {"level": "byte"},
        }
        self.demands = Demands(trust=TRUST)
        self.text: Callable[[str], str] = str
        self.key: Ed25519PrivateKey | None = KEY

    def semantic(self, threshold: float = 0.9) -> None:
        """Ask for likeness."""
        self.bundle["tolerance"] = {"level": "semantic", "threshold": threshold}

    def signed(self) -> dict[str, Any]:
        """The bundle with its signature."""
        if self.key is None or "signature" in self.bundle:
            return self.bundle
        return {
            **self.bundle,
            "signature": {
                "alg": "ed25519",
                "pubkey": base64.b64encode(self.key.public_key().public_bytes_raw()).decode(),
                "sig": base64.b64encode(self.key.sign(canonical_json(self.bundle))).decode(),
            },
        }

    def errors(self) -> list[str]:
        """The codes of what is wrong."""
        bundle = self.text(json.dumps(self.signed()))
        found = verify_bundle(bundle.encode(), json.dumps(self.actual).encode(), self.demands)
        self.status = found.exit_status
        self.messages = found.errors
        return [error.partition(":")[0] for error in found.errors]


def strip(step: Step) -> None:
    """No signature."""
    step.key = None


def another_key(step: Step) -> None:
    """Signed again, with any key."""
    step.key = Ed25519PrivateKey.generate()


def small_order(step: Step) -> None:
    """A public key with which this signature fits anything."""
    identity = bytes([1, *[0] * 31])
    step.bundle["signature"] = {
        "alg": "ed25519",
        "pubkey": base64.b64encode(identity).decode(),
        "sig": base64.b64encode(identity + bytes(32)).decode(),
    }
    step.demands = Demands(trust=TRUST, allow_any_key=True)


def loose_base64(step: Step) -> None:
    """A signature without its padding."""
    step.text = lambda text: text.replace('=="}', '"}')


def line_in_base64(step: Step) -> None:
    """A signature in two lines."""
    step.text = lambda text: text.replace('"sig": "', '"sig": "\\n')


def nan_threshold(step: Step) -> None:
    """Nothing is below it."""
    step.semantic(0.5)
    step.text = lambda text: text.replace("0.5", "NaN")


def no_threshold(step: Step) -> None:
    """A semantic bundle must have one."""
    step.bundle["tolerance"] = {"level": "semantic"}


def zero_threshold(step: Step) -> None:
    """What has nothing in common passes it."""
    step.semantic(0)


def nan_embedding(step: Step) -> None:
    """Its likeness is not below anything."""
    step.semantic()
    step.actual["output"]["embedding"] = floats(math.nan, 1)


def empty_embedding(step: Step) -> None:
    """No direction."""
    step.semantic()
    step.actual["output"]["embedding"] = floats(0, 0)


def extra_tools(step: Step) -> None:
    """Tools were given that the bundle does not name."""
    step.actual["inputs"]["tools"] = [{"name": "rm"}]


def missing_tools(step: Step) -> None:
    """The bundle names tools, and none were given."""
    step.bundle["inputs"]["tools_sha256"] = digest_of([])


def extra_field(step: Step) -> None:
    """In the record."""
    step.actual["output"]["note"] = "x"


def key_twice(step: Step) -> None:
    """Of which readers take different ones."""
    step.text = lambda text: text.replace('{"level"', '{"level": "semantic", "level"', 1)


def large_integer(step: Step) -> None:
    """Two of them have the same canonical text by RFC 8785."""
    step.bundle["sampling"]["seed"] = 2**53


def boolean_number(step: Step) -> None:
    """True is 1 to some."""
    step.bundle["sampling"]["temperature"] = True


def another_transcript(step: Step) -> None:
    """Another answer."""
    step.actual["output"]["transcript"] = {"messages": []}


def no_transcript(step: Step) -> None:
    """No answer."""
    del step.actual["output"]["transcript"]


def another_prompt(step: Step) -> None:
    """Another system prompt."""
    step.actual["inputs"]["system_prompt"] = "be unkind"


def structural(step: Step) -> None:
    """Which version 0.1 leaves open."""
    step.bundle["tolerance"] = {"level": "structural"}


def changed_after_signing(step: Step) -> None:
    """One number."""
    step.bundle = step.signed()
    step.bundle["sampling"]["temperature"] = 0.5


REFUSED: list[tuple[Callable[[Step], None], str, int]] = [
    (strip, "Unsigned", 7),
    (another_key, "UntrustedKey", 7),
    (small_order, "BadSignature", 7),
    (changed_after_signing, "BadSignature", 7),
    (loose_base64, "SchemaViolation", 4),
    (line_in_base64, "SchemaViolation", 4),
    (nan_threshold, "SchemaViolation", 4),
    (no_threshold, "SchemaViolation", 4),
    (zero_threshold, "SchemaViolation", 4),
    (nan_embedding, "SchemaViolation", 4),
    (empty_embedding, "SchemaViolation", 4),
    (extra_field, "SchemaViolation", 4),
    (key_twice, "SchemaViolation", 4),
    (large_integer, "SchemaViolation", 4),
    (boolean_number, "SchemaViolation", 4),
    (extra_tools, "InputHashMismatch", 1),
    (missing_tools, "InputHashMismatch", 1),
    (another_prompt, "InputHashMismatch", 1),
    (another_transcript, "TranscriptHashMismatch", 1),
    (no_transcript, "TranscriptHashMismatch", 1),
    (structural, "UnsupportedTolerance", 1),
]


@pytest.mark.parametrize(
    ("change", "code", "status"), REFUSED, ids=[change.__name__ for change, _, _ in REFUSED]
)
def test_what_weakens_a_bundle_is_refused(
    change: Callable[[Step], None], code: str, status: int
) -> None:
    """By default; each with its code, and nothing else is wrong."""
    step = Step()
    assert step.errors() == []
    change(step)

    assert set(step.errors()) == {code}
    assert step.status == status


def test_all_errors_are_reported() -> None:
    """Those of the schema together; else of signature, inputs and output together."""
    step = Step()
    another_key(step)
    another_prompt(step)
    another_transcript(step)
    assert step.errors() == ["UntrustedKey", "InputHashMismatch", "TranscriptHashMismatch"]
    step.bundle["extra"] = step.bundle["sampling"]["extra"] = 1
    extra_field(step)

    assert step.errors() == ["SchemaViolation"] * 3


def test_what_is_refused_can_be_asked_for() -> None:
    """A bundle without a signature; one of any key."""
    step = Step()
    strip(step)
    step.demands = Demands(allow_unsigned=True)
    assert step.errors() == []
    another_key(step)
    step.demands = Demands(allow_any_key=True)

    assert step.errors() == []


def calls(*names: str) -> dict[str, Any]:
    """A transcript that calls tools."""
    found = [{"id": name, "name": name, "args_hash": digest_of({})} for name in names]
    return {"messages": [{"role": "assistant", "content": "x"}], "tool_calls": found}


@pytest.mark.parametrize(
    ("transcript", "codes"),
    [
        ({**calls("read", "write"), "messages": []}, []),
        (calls("write", "read"), ["StructureMismatch"]),
        (calls("read"), ["StructureMismatch"]),
        (calls("read", "write", "rm"), ["StructureMismatch"]),
        ({**calls("read", "write"), "tool_calls": [{"name": "read"}]}, ["StructureMismatch"]),
        ({"tool_calls": [{"name": "read", "args": {}}, {"name": "write", "args": {}}]}, []),
        ({"tool_calls": [{"name": "read", "args": {"a": 1}}, {"name": "write", "args": {}}]},
         ["StructureMismatch"]),
    ],
)  # fmt: skip
def test_the_level_structural_compares_tool_calls(
    transcript: dict[str, Any], codes: list[str]
) -> None:
    """Names, order and arguments; not what was said. The hash confirms what was expected."""
    step = Step()
    structural(step)
    expected = calls("read", "write")
    step.bundle["expected"] = {"transcript_sha256": digest_of(expected)}
    step.demands = Demands(trust=TRUST, structural=expected)
    step.actual["output"] = {"transcript": transcript}
    assert step.errors() == codes
    step.demands = Demands(trust=TRUST, structural=calls("rm"))

    assert step.errors() == ["TranscriptHashMismatch"]


def test_likeness_does_not_overflow() -> None:
    """With the largest numbers of a float32."""
    most = 3.4e38

    assert likeness([most, most], [most, most]) == pytest.approx(1)
    assert math.isnan(likeness([0.0], [1.0]))
