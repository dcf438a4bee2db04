"""Judges from outside: Wycheproof on signatures, the author of RFC 8785 on canonical JSON."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from securesystemslib.exceptions import UnverifiedSignatureError
from securesystemslib.signer import Signature

from ptycassette.cassette.manifest import canonical_json
from ptycassette.errors import UsageError
from ptycassette.seal.trust import checked

VECTORS = Path(__file__).parents[2] / "vectors"
WYCHEPROOF = msgspec.json.decode((VECTORS / "wycheproof_ed25519.json").read_bytes())


def accepted(group: dict[str, Any], case: dict[str, Any]) -> bool:
    """Whether a signature counts: the key is one to trust, and it verifies."""
    raw = bytes.fromhex(group["publicKey"]["pk"])
    try:
        key = checked(Ed25519PublicKey.from_public_bytes(raw), where="vector").key
        signature = Signature(key.keyid, case["sig"])
        key.verify_signature(signature, bytes.fromhex(case["msg"]))
    except (UsageError, UnverifiedSignatureError, ValueError):
        return False
    return True


def test_wycheproof_on_ed25519() -> None:
    """Valid ones are accepted, invalid ones refused.

    Of what implementations may decide, keys of small order are refused: anybody can sign with them.
    Keys of mixed order need a secret as others do.
    """
    found = Counter(
        (case["result"], *case["flags"], accepted(group, case))
        if case["result"] == "acceptable"
        else (case["result"], accepted(group, case))
        for group in WYCHEPROOF["testGroups"]
        for case in group["tests"]
    )

    assert found == {
        ("valid", True): 117,
        ("invalid", False): 64,
        ("acceptable", "SmallOrderPublicKey", False): 8,
        ("acceptable", "MixedOrderPublicKey", True): 21,
    }


@pytest.mark.parametrize("name", [path.name for path in sorted((VECTORS / "jcs/input").iterdir())])
def test_the_author_of_the_standard_on_canonical_json(name: str) -> None:
    """Arrays, nesting, numbers, order of keys beyond ASCII."""
    value = msgspec.json.decode((VECTORS / "jcs/input" / name).read_bytes())

    assert canonical_json(value) == (VECTORS / "jcs/output" / name).read_bytes()
