"""Keys: which are refused, which files are read, who is trusted where."""

from __future__ import annotations

import base64
import hashlib
import os
import stat
import subprocess
from pathlib import Path
from shutil import which

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from ptycassette.errors import ExistsError, RefusedError, UsageError
from ptycassette.seal.io.key_files import read_signer, read_trust, write_new_key
from ptycassette.seal.trust import (
    SealStatus,
    new_private_key,
    public_key,
    signer_of,
    trust_of,
    weakness,
)

from .conftest import SealedCase

P = 2**255 - 19
D = -121665 * pow(121666, -1, P) % P
Point = tuple[int, int]


def add(one: Point, two: Point) -> Point:
    """The sum of two points of the curve, straight from RFC 8032, section 5.1."""
    (x1, y1), (x2, y2) = one, two
    product = D * x1 * x2 * y1 * y2 % P
    x = (x1 * y2 + x2 * y1) * pow(1 + product, -1, P)
    y = (y1 * y2 + x1 * x2) * pow(1 - product, -1, P)
    return x % P, y % P


def point(raw: bytes) -> Point | None:
    """The point that 32 bytes encode; None if they encode none."""
    y = int.from_bytes(raw, "little")
    sign, y = y >> 255, (y & (2**255 - 1)) % P
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * pow(2, (P - 1) // 4, P) % P
    if x * x % P != square:
        return None
    return (x if x % 2 == sign else -x % P), y


def small_order_points() -> list[bytes]:
    """All spellings of points whose order divides 8, found by multiplying points with L."""
    order = 2**252 + 27742317777372353535851937790883648493
    found: set[Point] = set()
    for seed in range(64):
        start = point(hashlib.sha256(bytes([seed])).digest())
        if start is None:
            continue
        total, power, left = (0, 1), start, order
        while left:
            total = add(total, power) if left & 1 else total
            power, left = add(power, power), left >> 1
        found.add(total)
    ys = {y for _, y in found}
    assert len(found) == 8
    spelt = ys | {y + P for y in ys if y + P < 2**255}
    return [(y | sign << 255).to_bytes(32, "little") for y in sorted(spelt) for sign in (0, 1)]


def line_of(raw: bytes) -> str:
    """A key as a line of OpenSSH."""
    key = Ed25519PublicKey.from_public_bytes(raw)
    return key.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


def test_no_point_of_small_order_is_trusted() -> None:
    """Every one of them, in every spelling; anybody could sign with it."""
    points = small_order_points()
    trusted = [raw.hex() for raw in points if weakness(raw) is None]

    assert len(points) == 14
    assert trusted == []
    with pytest.raises(UsageError, match="small order"):
        public_key(line_of(bytes([1, *[0] * 31])), where="trust.toml")


def test_a_key_of_small_order_verifies_what_nobody_signed() -> None:
    """So the library does not refuse it: we have to."""
    identity = bytes([1, *[0] * 31])

    Ed25519PublicKey.from_public_bytes(identity).verify(identity + bytes(32), b"anything")


def test_a_misspelt_point_is_refused() -> None:
    """``y`` of the field's size or more."""
    assert weakness((P + 3).to_bytes(32, "little")) is not None
    assert weakness((2**256 - 1).to_bytes(32, "little")) is not None
    assert weakness(hashlib.sha256(b"x").digest()) is None


@pytest.mark.parametrize("text", ["", "ssh-ed25519", "ssh-rsa AAAA", "-----BEGIN PUBLIC KEY-----"])
def test_what_is_no_public_key_is_refused(text: str) -> None:
    """With a hint how to make one."""
    with pytest.raises(UsageError, match="not a public key"):
        public_key(text, where="trust.toml")


def test_a_new_key_is_its_owners_alone(tmp_path: Path) -> None:
    """Whatever the umask; the public key is for all, and nothing is replaced."""
    old = os.umask(0)
    try:
        public = write_new_key(str(tmp_path / "a.key"))
    finally:
        os.umask(old)
    signer, read = read_signer(str(tmp_path / "a.key"))

    assert stat.S_IMODE((tmp_path / "a.key").stat().st_mode) == 0o600
    assert read.keyid == public.keyid == signer.public_key.keyid
    assert (tmp_path / "a.key.pub").read_text() == f"{public.line}\n"
    with pytest.raises(ExistsError):
        write_new_key(str(tmp_path / "a.key"))


def test_a_public_key_that_is_there_is_no_reason_to_leave_half_a_pair(tmp_path: Path) -> None:
    """Nothing is written then."""
    (tmp_path / "a.key.pub").write_text("mine")
    with pytest.raises(ExistsError):
        write_new_key(str(tmp_path / "a.key"))

    assert not (tmp_path / "a.key").exists()


def test_no_private_key_is_written_into_a_cassette(sealed: SealedCase) -> None:
    """Where it would be committed."""
    with pytest.raises(RefusedError, match="inside of a cassette"):
        write_new_key(str(sealed.path / "a.key"))


def test_a_key_may_come_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As CI has it."""
    public = write_new_key(str(tmp_path / "a.key"))
    monkeypatch.setenv("PTYCASSETTE_SEAL_KEY", (tmp_path / "a.key").read_text())

    assert read_signer(None)[1].keyid == public.keyid
    monkeypatch.delenv("PTYCASSETTE_SEAL_KEY")
    with pytest.raises(UsageError, match="no key"):
        read_signer(None)


@pytest.mark.parametrize(
    "argv",
    [
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "KEY"],
        ["openssl", "genpkey", "-algorithm", "ed25519", "-out", "KEY"],
    ],
    ids=["ssh-keygen", "openssl"],
)
def test_keys_of_other_tools_are_read(argv: list[str], tmp_path: Path) -> None:
    """Private ones, and the public ones that belong to them."""
    if which(argv[0]) is None:
        pytest.skip(f"{argv[0]} is not installed")
    key = tmp_path / "KEY"
    subprocess.run(argv, cwd=tmp_path, check=True)
    if argv[0] == "openssl":
        made = ["openssl", "pkey", "-in", "KEY", "-pubout", "-out", "KEY.pub"]
        subprocess.run(made, cwd=tmp_path, check=True)
    _, public = read_signer(str(key))

    assert public_key(key.with_suffix(".pub").read_text(), where="").keyid == public.keyid


@pytest.mark.parametrize(
    ("argv", "why"),
    [
        (["ssh-keygen", "-q", "-t", "ed25519", "-N", "phrase", "-f", "KEY"], "passphrase"),
        (["ssh-keygen", "-q", "-t", "ecdsa", "-N", "", "-f", "KEY"], "not an Ed25519 key"),
    ],
)
def test_a_private_key_that_is_not_taken_says_why(
    argv: list[str], why: str, tmp_path: Path
) -> None:
    """One with a passphrase, one of another kind."""
    if which(argv[0]) is None:
        pytest.skip(f"{argv[0]} is not installed")
    subprocess.run(argv, cwd=tmp_path, check=True)
    with pytest.raises(UsageError, match=why):
        read_signer(str(tmp_path / "KEY"))


def trust_file(folder: Path, text: str) -> Path:
    """A trust file."""
    path = folder / "trust.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("paths", "status"),
    [
        ('["."]', SealStatus.TRUSTED),
        ('["other", "."]', SealStatus.TRUSTED),
        ('["other"]', SealStatus.UNKNOWN_KEY),
        ('["log"]', SealStatus.UNKNOWN_KEY),  # no part of a name
        ("[]", SealStatus.UNKNOWN_KEY),
    ],
)
def test_a_key_counts_below_its_paths(paths: str, status: SealStatus, sealed: SealedCase) -> None:
    """Relative to the trust file."""
    text = f'[keys.release]\npublic_key = "{sealed.key.public.line}"\npaths = {paths}\n'
    sealed.trust = read_trust(trust_file(sealed.folder, text))

    assert sealed.check().status is status


def test_a_link_does_not_lead_below_the_paths_of_a_key(sealed: SealedCase) -> None:
    """Where a cassette really is counts."""
    (sealed.folder / "allowed").symlink_to(sealed.folder)
    text = f'[keys.release]\npublic_key = "{sealed.key.public.line}"\npaths = ["allowed"]\n'
    trust = trust_file(sealed.folder, text.replace('"allowed"', '"there"'))
    (sealed.folder / "there").mkdir()
    (sealed.folder / "there" / "in").symlink_to(sealed.folder)
    sealed.trust = read_trust(trust)

    assert not sealed.check(sealed.folder / "there" / "in" / "login").ok


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("keys = 1", "Expected `object`"),
        ("[key.a]", "did you mean"),
        ("[keys.a]", "public_key"),
        ('[keys.a]\npublic_key = "x"\npath = []', "did you mean 'paths'"),
        ('[keys.a]\npublic_key = "x"', "keys.a: not a public key"),
        ("[keys", "not TOML"),
    ],
)
def test_a_wrong_trust_file_says_what_is_wrong(text: str, why: str, tmp_path: Path) -> None:
    """None is taken for an empty one."""
    with pytest.raises(UsageError) as raised:
        read_trust(trust_file(tmp_path, text))

    assert why in str(raised.value)


def test_a_key_has_one_name(sealed: SealedCase) -> None:
    """Two entries for it could allow different paths."""
    entry = {"public_key": sealed.key.public.line}
    with pytest.raises(UsageError, match="the same key"):
        trust_of({"keys": {"a": entry, "b": entry}}, where="t", directory_of=str)


@pytest.mark.parametrize("paths", ['["allowed"]', '["allowed/deeper"]', '["in/../allowed"]'])
def test_a_link_in_place_of_a_path_widens_nothing(paths: str, sealed: SealedCase) -> None:
    """A pull request could make a key for one folder count everywhere."""
    (sealed.folder / "allowed").symlink_to(sealed.folder)
    (sealed.folder / "deeper").symlink_to(sealed.folder)
    text = f'[keys.release]\npublic_key = "{sealed.key.public.line}"\npaths = {paths}\n'
    sealed.trust = read_trust(trust_file(sealed.folder, text))

    assert sealed.check().status is SealStatus.UNKNOWN_KEY


@pytest.mark.parametrize("separator", ["\n", "\n\n", "\r\n"])
def test_an_entry_has_one_key(separator: str) -> None:
    """The libraries would take the first one and say nothing."""
    lines = [signer_of(new_private_key(), where="k")[1].line for _ in range(2)]
    entry = {"public_key": separator.join(lines)}

    with pytest.raises(UsageError, match="more than one public key"):
        trust_of({"keys": {"a": entry}}, where="t", directory_of=str)


@pytest.mark.parametrize("curve", [0x6E, 0x6F, 0x71])
def test_a_key_that_names_another_curve_is_refused(curve: int, tmp_path: Path) -> None:
    """32 bytes are too few for some (RFC 8410 3), which the library finds out too late."""
    lines = new_private_key().decode().splitlines()
    der = base64.b64decode("".join(lines[1:-1])).replace(
        b"\x2b\x65\x70", bytes([0x2B, 0x65, curve])
    )
    key = tmp_path / "KEY"
    key.write_text("\n".join([lines[0], base64.b64encode(der).decode(), lines[-1], ""]))

    with pytest.raises(UsageError, match=r"not a private key|not an Ed25519 key"):
        read_signer(str(key))
