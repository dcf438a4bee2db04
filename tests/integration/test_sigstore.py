"""Seals of identities, made by and verified with Sigstore's own client, against an own instance.

The public instance cannot be tried without its servers; that its trusted root is found without
them is.
"""

from __future__ import annotations

import base64
import json
import os
import random
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("sigstore")

from sigstore.models import Bundle, TrustedRoot
from sigstore.verify import Verifier
from sigstore.verify.policy import Identity

from benchmarks.safety_inputs import spoilt_json
from ptycassette.cassette.layout import GIT_ATTRIBUTES
from ptycassette.model.records import ExitStatus, Finished, Output
from ptycassette.seal.io.key_files import read_trust
from ptycassette.seal.io.sealing import IdentitySealer, check_seal, seal_cassette
from ptycassette.seal.trust import SealStatus, SealVerdict, Trust, TrustedIdentity
from ptycassette.testing import write_cassette
from tests.sigstore_instance import ISSUER, Instance, listening, token

pytestmark = pytest.mark.integration

JOB = "https://ci.invalid/me/repo/.github/workflows/record.yml@refs/heads/main"
TRUSTED, UNKNOWN, TAMPERED = SealStatus.TRUSTED, SealStatus.UNKNOWN_KEY, SealStatus.TAMPERED


class Case:
    """A cassette ``login`` that a job has sealed, and the files of the instance."""

    def __init__(self, folder: Path, instance: Instance) -> None:
        self.folder, self.instance = folder, instance
        self.path, self.seal = folder / "login", folder / "login.seal.json"
        self.config, self.root = folder / "config.json", folder / "trusted_root.json"
        self.config.write_text(json.dumps(instance.config()))
        self.root.write_text(json.dumps(instance.trusted_root()))
        done = Finished(t_us=2, exit=ExitStatus(code=0, exited=True, signaled=False))
        write_cassette(self.path, Output(1, b"hello\r\n"), done)
        self.sealer = IdentitySealer(self.config)
        done_it = seal_cassette(str(self.path), self.sealer)
        assert done_it.ok, done_it.error
        self.bundle: dict[str, Any] = json.loads(self.seal.read_text())

    def check(self, **changed: Any) -> SealVerdict:
        """What a check says, of a trust in the job alone."""
        own = TrustedIdentity(name="ci", identity=JOB, issuer=ISSUER, trusted_root=str(self.root))
        own = msgspec.structs.replace(own, **changed)
        return check_seal(str(self.path), Trust(identities=(own,), where="trust.toml"))

    def put(self, change: Callable[[dict[str, Any]], None]) -> None:
        """Write the seal again, changed."""
        bundle = json.loads(json.dumps(self.bundle))
        change(bundle)
        self.seal.write_text(json.dumps(bundle))


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    """Sealed once."""
    with listening() as instance, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SIGSTORE_IDENTITY_TOKEN", token(JOB))
        return Case(tmp_path_factory.mktemp("sigstore"), instance)


@pytest.fixture(autouse=True)
def as_sealed(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """The seal as it was made; and no network: whoever asks for one fails."""
    case.seal.write_text(json.dumps(case.bundle))

    def no_network(*_: object, **__: object) -> None:
        raise AssertionError("somebody asked the network")

    monkeypatch.setattr(socket, "getaddrinfo", no_network)
    monkeypatch.setattr(socket.socket, "connect", no_network)


def test_a_job_that_is_trusted_has_sealed(case: Case) -> None:
    """Every byte, and without a network. A seal of one's own that holds is kept."""
    verdict = case.check()

    assert (verdict.status, verdict.signers, verdict.keyids) == (TRUSTED, ("ci",), (JOB,))
    assert seal_cassette(str(case.path), case.sealer).kept
    (case.path / "extra").write_text("")
    assert case.check().status is TAMPERED
    (case.path / "extra").unlink()


def test_sigstores_own_verifier_takes_the_seal(case: Case) -> None:
    """The file is a bundle as it is, and its payload an in-toto Statement."""
    verifier = Verifier(trusted_root=TrustedRoot.from_file(str(case.root)))
    bundle = Bundle.from_json(case.seal.read_bytes())
    kind, payload = verifier.verify_dsse(bundle, Identity(identity=JOB, issuer=ISSUER))

    assert kind == "application/vnd.in-toto+json"
    names = {one["name"] for one in json.loads(payload)["subject"]}
    assert names == {file.name for file in case.path.iterdir()} - {GIT_ATTRIBUTES}


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"identity": JOB.replace("main", "other")}, "do not match"),
        ({"issuer": "https://other.invalid"}, "OIDCIssuer"),
        ({"directories": ("/elsewhere",)}, "do not count at this place"),
        ({"trusted_root": None}, "no identity counts"),
    ],
    ids=["identity", "issuer", "place", "instance"],
)
def test_who_is_not_trusted_is_named(case: Case, changed: dict[str, Any], says: str) -> None:
    """Another workflow or branch, another issuer, another place, another instance."""
    verdict = case.check(**changed)

    assert verdict.status is UNKNOWN
    assert says in str(verdict.error)


def _other_payload(bundle: dict[str, Any]) -> None:
    envelope = bundle["dsseEnvelope"]
    payload = base64.b64decode(envelope["payload"]).replace(b'"id":"', b'"id":"x')
    envelope["payload"] = base64.b64encode(payload).decode()


def _other_signature(bundle: dict[str, Any]) -> None:
    one = bundle["dsseEnvelope"]["signatures"][0]
    one["sig"] = base64.b64encode(base64.b64decode(one["sig"])[:-1] + b"x").decode()


def _two_signatures(bundle: dict[str, Any]) -> None:
    bundle["dsseEnvelope"]["signatures"] *= 2


def _other_type(bundle: dict[str, Any]) -> None:
    bundle["dsseEnvelope"]["payloadType"] = "text/plain"


def _no_entry(bundle: dict[str, Any]) -> None:
    bundle["verificationMaterial"]["tlogEntries"] = []


def _other_time(bundle: dict[str, Any]) -> None:
    bundle["verificationMaterial"]["tlogEntries"][0]["integratedTime"] = "1600000000"


def _other_log(bundle: dict[str, Any]) -> None:
    entry = bundle["verificationMaterial"]["tlogEntries"][0]
    entry["canonicalizedBody"] = base64.b64encode(b'{"a":1}').decode()


@pytest.mark.parametrize(
    ("change", "status"),
    [
        (_other_payload, TAMPERED), (_other_signature, TAMPERED), (_two_signatures, TAMPERED),
        (_other_type, TAMPERED), (_no_entry, TAMPERED), (_other_time, UNKNOWN),
        (_other_log, UNKNOWN),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)  # fmt: skip
def test_a_changed_bundle_is_refused(
    case: Case, change: Callable[[dict[str, Any]], None], status: SealStatus
) -> None:
    """What is not in the log at a time at which its certificate was valid counts for nobody."""
    case.put(change)

    assert case.check().status is status


def test_an_identity_of_another_instance_is_not_trusted(case: Case, tmp_path: Path) -> None:
    """Whoever has a CA of their own can name any job."""
    other = tmp_path / "other_root.json"
    other.write_text(json.dumps(Instance().trusted_root()))

    assert case.check(trusted_root=str(other)).status is UNKNOWN


def test_the_trust_file_names_identities(case: Case) -> None:
    """With the file of trusted roots beside it; a client trust config will do, too."""
    file = case.folder / "trust.toml"
    table = f'[identities.ci]\nidentity = "{JOB}"\nissuer = "{ISSUER}"\n'
    for name in ("trusted_root.json", "config.json"):
        file.write_text(f'{table}trusted_root = "{name}"\n')
        assert check_seal(str(case.path), read_trust(file)).signers == ("ci",)


@pytest.mark.slow
def test_the_command_seals_and_verifies(case: Case, tmp_path: Path) -> None:
    """Without a key; without an identity nothing is sealed."""
    shutil.copytree(case.path, tmp_path / "logout")

    def ran(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
        environment = {name: value for name, value in os.environ.items() if name != "CI"}
        environment = {k: v for k, v in environment.items() if not k.startswith("GITHUB")} | more
        argv = (sys.executable, "-m", "ptycassette", *words)
        return subprocess.run(
            argv, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    with listening() as instance:
        (tmp_path / "config.json").write_text(json.dumps(instance.config()))
        words = ("seal", "--identity", "--sigstore", "config.json", "logout")
        nobody = ran(*words)
        sealed = ran(*words, SIGSTORE_IDENTITY_TOKEN=token(JOB))
    table = f'[identities.ci]\nidentity = "{JOB}"\nissuer = "{ISSUER}"\n'
    (tmp_path / "trust.toml").write_text(f'{table}trusted_root = "config.json"\n')
    verified = ran("verify", "--sealed", "--trust", "trust.toml", "logout")

    assert (nobody.returncode, sealed.returncode, verified.returncode) == (2, 0, 0), sealed.stderr
    assert "no identity" in nobody.stderr
    assert "logout: sealed\n  by     ci\n" in verified.stdout


def _spoilt_certificate(der: bytes, chance: random.Random) -> bytes:
    data = bytearray(der)
    for _ in range(chance.randint(1, 3)):
        data[chance.randrange(len(data))] ^= chance.randint(1, 255)
    return bytes(data) if data != der else _spoilt_certificate(der, chance)


# OIDs of a key on a curve, and of the curve P-256, in DER: other numbers are other kinds of keys.
KEY_KINDS = (bytes.fromhex("06072a8648ce3d0201"), bytes.fromhex("06082a8648ce3d030107"))


def test_a_hostile_certificate_is_damage_and_no_bug(case: Case) -> None:
    """The libraries raise what they do not declare for keys, versions and extensions."""
    certificate = case.bundle["verificationMaterial"]["certificate"]["rawBytes"]
    der = base64.b64decode(certificate)
    chance = random.Random(1)
    others = [_spoilt_certificate(der, chance) for _ in range(400)]
    others += [der.replace(kind, kind[:-1] + b"\x7f") for kind in KEY_KINDS]
    for other in others:
        raw = base64.b64encode(other).decode()
        case.put(lambda one: one["verificationMaterial"]["certificate"].update(rawBytes=raw))  # noqa: B023

        assert case.check().status in {TAMPERED, UNKNOWN}


def test_a_hostile_bundle_is_damage_and_no_bug(case: Case) -> None:
    """One place of its tree changed, or two; what is trusted says what was sealed."""
    chance = random.Random(2)
    sealed = case.bundle["dsseEnvelope"]["payload"]
    for _ in range(300):
        data = spoilt_json(json.dumps(case.bundle).encode(), chance) or b""
        case.seal.write_bytes(data)
        verdict = case.check()

        assert verdict.status in {TAMPERED, UNKNOWN, TRUSTED}
        if verdict.status is TRUSTED:
            assert json.loads(data)["dsseEnvelope"]["payload"] == sealed
