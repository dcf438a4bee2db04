"""A sealed cassette, the key that sealed it, and who is trusted."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from securesystemslib.signer import CryptoSigner

from ptycassette.model.records import ExitStatus, Finished, Output
from ptycassette.seal.io.sealing import KeySealer, check_seal, seal_cassette
from ptycassette.seal.trust import (
    PublicKey,
    SealVerdict,
    Trust,
    TrustedKey,
    new_private_key,
    signer_of,
)
from ptycassette.testing import write_cassette


class Pair(NamedTuple):
    """A private key and its public key."""

    signer: CryptoSigner
    public: PublicKey


def new_pair() -> Pair:
    """A key that nobody has seen."""
    return Pair(*signer_of(new_private_key(), where="new"))


class SealedCase:
    """A cassette ``login`` with the seal of a trusted key."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "login"
        self.seal = folder / "login.seal.json"
        self.key, self.stranger = new_pair(), new_pair()
        self.trust = Trust((TrustedKey("release", self.key.public),), "trust.toml")
        self.write("login")
        self.seal_it()

    def write(self, name: str, text: bytes = b"hello\r\n") -> Path:
        """A cassette beside it."""
        done = Finished(t_us=2, exit=ExitStatus(code=0, exited=True, signaled=False))
        write_cassette(self.folder / name, Output(1, text), done)
        return self.folder / name

    def seal_it(self, pair: Pair | None = None, path: Path | None = None) -> None:
        """Seal it, or another one, whatever seal is there."""
        done = seal_cassette(str(path or self.path), KeySealer(*(pair or self.key)), overwrite=True)
        assert done.ok, done.error

    def check(self, path: Path | None = None) -> SealVerdict:
        """What a check says of it."""
        return check_seal(str(path or self.path), self.trust)

    @property
    def envelope(self) -> dict[str, Any]:
        """The JSON of the seal."""
        value = json.loads(self.seal.read_text())
        assert isinstance(value, dict)
        return value

    def put(self, envelope: Any) -> None:
        """Write another seal."""
        text = envelope if isinstance(envelope, str) else json.dumps(envelope)
        self.seal.write_text(text)

    def sign_again(self, payload: bytes, kind: str, pair: Pair | None = None) -> None:
        """A seal with this payload, well signed."""
        pae = b"DSSEv1 %d %b %d %b" % (len(kind), kind.encode(), len(payload), payload)
        signature = (pair or self.key).signer.sign(pae)
        sig = base64.b64encode(bytes.fromhex(signature.signature)).decode()
        self.put(
            {
                "payload": base64.b64encode(payload).decode(),
                "payloadType": kind,
                "signatures": [{"keyid": signature.keyid, "sig": sig}],
            }
        )


@pytest.fixture
def sealed(tmp_path: Path) -> SealedCase:
    """A sealed cassette."""
    return SealedCase(tmp_path)


@pytest.fixture
def pair() -> Callable[[], Pair]:
    """Make keys."""
    return new_pair
