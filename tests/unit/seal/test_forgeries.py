"""What a forger may try, and what a check calls it."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Callable

import pytest

from ptycassette.cassette.layout import GIT_ATTRIBUTES
from ptycassette.seal.trust import PAYLOAD_TYPE, SealStatus

from .conftest import SealedCase

Forge = Callable[[SealedCase], None]
FORGERIES: dict[str, tuple[SealStatus, Forge]] = {}
ORDER = 2**252 + 27742317777372353535851937790883648493


def forgery(status: SealStatus) -> Callable[[Forge], Forge]:
    """Put a function on the list, with what its work is to be called."""

    def listed(function: Forge) -> Forge:
        FORGERIES[function.__name__] = (status, function)
        return function

    return listed


@forgery(SealStatus.UNSIGNED)
def stripped(case: SealedCase) -> None:
    """The seal is removed."""
    case.seal.unlink()


@forgery(SealStatus.UNKNOWN_KEY)
def sealed_by_a_stranger(case: SealedCase) -> None:
    """The seal is replaced by one of another key."""
    case.seal_it(case.stranger)


@forgery(SealStatus.UNKNOWN_KEY)
def recorded_and_sealed_by_a_stranger(case: SealedCase) -> None:
    """Both are replaced."""
    shutil.rmtree(case.path)
    case.write("login", b"forged\r\n")
    case.seal_it(case.stranger)


@forgery(SealStatus.TAMPERED)
def strangers_seal_under_a_trusted_keyid(case: SealedCase) -> None:
    """A stranger signs, and says that the trusted key did."""
    case.seal_it(case.stranger)
    envelope = case.envelope
    envelope["signatures"][0]["keyid"] = case.key.public.keyid
    case.put(envelope)


@forgery(SealStatus.TAMPERED)
def recorded_again(case: SealedCase) -> None:
    """Another recording, whole and valid, behind the old seal."""
    shutil.rmtree(case.path)
    case.write("login", b"forged\r\n")


@forgery(SealStatus.TAMPERED)
def one_byte_of_white_space(case: SealedCase) -> None:
    """The manifest says the same in other bytes."""
    with (case.path / "manifest.json").open("ab") as file:
        file.write(b"\n")


@forgery(SealStatus.TAMPERED)
def a_file_more(case: SealedCase) -> None:
    """A file is added."""
    (case.path / "note.txt").write_text("hello")


@forgery(SealStatus.TAMPERED)
def a_file_less(case: SealedCase) -> None:
    """A file is removed."""
    (case.path / "output.raw").unlink()


@forgery(SealStatus.TAMPERED)
def the_seal_of_another_cassette(case: SealedCase) -> None:
    """A recording that was sealed under another name takes its place, with its own seal."""
    other = case.write("logout", b"bye\r\n")
    case.seal_it(path=other)
    shutil.rmtree(case.path)
    other.rename(case.path)
    (case.folder / "logout.seal.json").rename(case.seal)


@forgery(SealStatus.TAMPERED)
def signature_of_another_payload(case: SealedCase) -> None:
    """The statement is changed to fit the files, the signature stays."""
    recorded_again(case)
    old = case.envelope
    case.seal_it()
    new = case.envelope
    case.put({**new, "signatures": old["signatures"]})


@forgery(SealStatus.TAMPERED)
def another_payload_type_signed(case: SealedCase) -> None:
    """The trusted key signed the same bytes as something else."""
    payload = base64.b64decode(case.envelope["payload"])
    case.sign_again(payload, "application/json")


@forgery(SealStatus.TAMPERED)
def payload_type_swapped(case: SealedCase) -> None:
    """A signature of the same bytes under another type is passed off as one of a statement."""
    another_payload_type_signed(case)
    case.put({**case.envelope, "payloadType": PAYLOAD_TYPE})


@forgery(SealStatus.TAMPERED)
def payload_type_renamed(case: SealedCase) -> None:
    """The signature fits, and the envelope says that something else was signed."""
    case.put({**case.envelope, "payloadType": "application/json"})


@forgery(SealStatus.TAMPERED)
def another_predicate(case: SealedCase) -> None:
    """The trusted key made a statement of another kind about the same files."""
    payload = json.loads(base64.b64decode(case.envelope["payload"]))
    payload["predicateType"] = "https://slsa.dev/provenance/v1"
    case.sign_again(json.dumps(payload).encode(), PAYLOAD_TYPE)


@forgery(SealStatus.TAMPERED)
def a_key_twice_in_the_statement(case: SealedCase) -> None:
    """Two subjects lists, of which readers take different ones."""
    text = base64.b64decode(case.envelope["payload"]).decode()
    twice = text.replace('"subject":', '"subject":[],"subject":', 1)
    case.sign_again(twice.encode(), PAYLOAD_TYPE)


@forgery(SealStatus.TAMPERED)
def a_subject_twice(case: SealedCase) -> None:
    """One file with two digests."""
    payload = json.loads(base64.b64decode(case.envelope["payload"]))
    payload["subject"].insert(0, {**payload["subject"][0], "digest": {"sha256": "0" * 64}})
    case.sign_again(json.dumps(payload).encode(), PAYLOAD_TYPE)


@forgery(SealStatus.TAMPERED)
def no_manifest_among_the_subjects(case: SealedCase) -> None:
    """A statement that leaves the manifest open."""
    payload = json.loads(base64.b64decode(case.envelope["payload"]))
    payload["subject"] = [one for one in payload["subject"] if one["name"] != "manifest.json"]
    case.sign_again(json.dumps(payload).encode(), PAYLOAD_TYPE)
    (case.path / "manifest.json").rename(case.folder / "elsewhere")


@forgery(SealStatus.TAMPERED)
def a_key_twice_in_the_envelope(case: SealedCase) -> None:
    """Two payloads, of which readers take different ones."""
    case.put(json.dumps(case.envelope).replace('{"payload"', '{"payload": "", "payload"', 1))


@forgery(SealStatus.TAMPERED)
def no_signatures(case: SealedCase) -> None:
    """An envelope that nobody signed."""
    case.put({**case.envelope, "signatures": []})


@forgery(SealStatus.TAMPERED)
def a_field_more_in_the_envelope(case: SealedCase) -> None:
    """Something that is not signed."""
    case.put({**case.envelope, "certificate": "x"})


@forgery(SealStatus.TAMPERED)
def loose_base64(case: SealedCase) -> None:
    """The alphabet for addresses, which the library would take, too."""
    case.sign_again(b'{"_type": "\xc3\xbf\xc3\xbe??>>"}', PAYLOAD_TYPE)
    envelope = case.envelope
    loose = envelope["payload"].replace("+", "-").replace("/", "_")
    assert loose != envelope["payload"]
    case.put({**envelope, "payload": loose})


@forgery(SealStatus.TAMPERED)
def base64_with_bits_left_over(case: SealedCase) -> None:
    """Another spelling of the same signature: its last character has four bits too many."""
    envelope = case.envelope
    sig = envelope["signatures"][0]["sig"]
    assert sig.endswith("==")
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    envelope["signatures"][0]["sig"] = f"{sig[:-3]}{alphabet[alphabet.index(sig[-3]) + 1]}=="
    case.put(envelope)


@forgery(SealStatus.TAMPERED)
def base64_in_lines(case: SealedCase) -> None:
    """Another spelling of the same payload, as mail has it."""
    envelope = case.envelope
    case.put({**envelope, "payload": f"{envelope['payload'][:64]}\n{envelope['payload'][64:]}"})


@forgery(SealStatus.TAMPERED)
def a_signature_that_is_not_reduced(case: SealedCase) -> None:
    """S + L in place of S (RFC 8032, section 5.1.7): the same signature in other bytes."""
    envelope = case.envelope
    raw = base64.b64decode(envelope["signatures"][0]["sig"])
    s = int.from_bytes(raw[32:], "little") + ORDER
    envelope["signatures"][0]["sig"] = base64.b64encode(
        raw[:32] + s.to_bytes(32, "little")
    ).decode()
    case.put(envelope)


@forgery(SealStatus.TAMPERED)
def a_short_signature(case: SealedCase) -> None:
    """63 bytes."""
    envelope = case.envelope
    envelope["signatures"][0]["sig"] = base64.b64encode(b"\0" * 63).decode()
    case.put(envelope)


@forgery(SealStatus.TAMPERED)
def two_signatures_of_one_key(case: SealedCase) -> None:
    """One that fits and one that does not."""
    envelope = case.envelope
    bad = {**envelope["signatures"][0], "sig": base64.b64encode(b"\0" * 64).decode()}
    case.put({**envelope, "signatures": [*envelope["signatures"], bad]})


@forgery(SealStatus.TAMPERED)
def two_signatures_of_one_key_the_good_one_last(case: SealedCase) -> None:
    """Whichever a reader takes."""
    two_signatures_of_one_key(case)
    case.put({**case.envelope, "signatures": case.envelope["signatures"][::-1]})


@forgery(SealStatus.TAMPERED)
def a_short_signature_of_a_stranger(case: SealedCase) -> None:
    """It is no signature, whoever made it."""
    a_short_signature(case)
    envelope = case.envelope
    envelope["signatures"][0]["keyid"] = "0" * 64
    case.put(envelope)


@forgery(SealStatus.TAMPERED)
def no_json(case: SealedCase) -> None:
    """Half a seal."""
    case.put(case.seal.read_text()[:100])


@forgery(SealStatus.TAMPERED)
def a_link_for_a_seal(case: SealedCase) -> None:
    """It leads to a good seal, and may lead elsewhere tomorrow."""
    case.seal.rename(case.folder / "real.json")
    case.seal.symlink_to("real.json")


@forgery(SealStatus.TAMPERED)
def a_giant(case: SealedCase) -> None:
    """More than anybody should read."""
    case.put(" " * (2 << 20))


@forgery(SealStatus.TAMPERED)
def deep(case: SealedCase) -> None:
    """Brackets without end."""
    case.put("[" * 100_000)


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_is_refused(name: str, sealed: SealedCase) -> None:
    """Each is called what it is, with an error that ends with 7."""
    status, forge = FORGERIES[name]
    assert sealed.check().ok
    forge(sealed)
    found = sealed.check()

    assert not found.ok
    assert found.status is status, found.error
    assert found.error is not None
    assert found.error.exit_status == 7


def test_a_seal_is_an_in_toto_statement(sealed: SealedCase) -> None:
    """Subjects are all files of the recording, the manifest too, by what another tool computes."""
    envelope = sealed.envelope
    statement = json.loads(base64.b64decode(envelope["payload"]))

    assert envelope["payloadType"] == "application/vnd.in-toto+json"
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert {one["name"] for one in statement["subject"]} == {
        path.name for path in sealed.path.iterdir() if path.name != GIT_ATTRIBUTES
    }


def test_a_field_that_a_later_version_adds_is_ignored(sealed: SealedCase) -> None:
    """As in-toto asks of readers; it is signed, too."""
    payload = json.loads(base64.b64decode(sealed.envelope["payload"]))
    payload["predicate"]["reviewed_by"] = "someone"
    sealed.sign_again(json.dumps(payload).encode(), PAYLOAD_TYPE)

    assert sealed.check().ok


def test_one_of_several_signatures_is_enough(sealed: SealedCase) -> None:
    """A stranger's beside it does no harm, and is no signer."""
    envelope = sealed.envelope
    sealed.seal_it(sealed.stranger)
    other = {**sealed.envelope["signatures"][0], "sig": base64.b64encode(b"\1" * 64).decode()}
    sealed.put({**envelope, "signatures": [other, *envelope["signatures"]]})
    found = sealed.check()

    assert found.ok
    assert found.signers == ("release",)
