"""Recorded secrets told apart from others: which have digests, who compares them, what it costs."""

from __future__ import annotations

import random
import string

import msgspec
import pytest

from ptycassette.cassette.timeline import match as match_secrets
from ptycassette.cassette.timeline.match import (
    LEAST_BITS,
    MOST_SECRETS,
    Entry,
    EntryMatcher,
    Matching,
    digest_of,
    guessing_bits,
    input_digests,
    masked_digests,
    read_entries,
    read_secrets,
    secret_spans,
    secrets_named,
    stored_secrets,
    word_digests,
)
from ptycassette.errors import ManifestError
from ptycassette.keys.reader import KeyReader
from ptycassette.model.records import (
    Command,
    ContentDigest,
    EmulatorId,
    Harness,
    InputRecord,
    Manifest,
    Provenance,
    Terminal,
    Timing,
)

ID = "00000000-0000-4000-8000-000000000001"


def token(seed: int, length: int = 36) -> str:
    """What looks drawn at random."""
    return "".join(random.Random(seed).choices(string.ascii_letters + string.digits, k=length))


def conceal(text: str) -> str:
    """What a recording makes of a text: both tokens become masks."""
    for seed in range(3):
        text = text.replace(token(seed), "x" * 36)
    return text


def entries(data: bytes, *, masked: bool = False) -> tuple[Entry, ...]:
    """The entries of one input record."""
    record = InputRecord(seq=3, t_ms=0, kind="input", bytes=data, masked=masked)
    return read_entries([record])


def manifest(optional: dict[str, object]) -> Manifest:
    """A manifest with these extensions."""
    return Manifest(
        version=1,
        id=ID,
        content_digest=ContentDigest(""),
        harness=Harness(name="x"),
        command=Command(workdir_policy="inherited"),
        terminal=Terminal(initial_rows=2, initial_cols=9, emulator=EmulatorId("x", "1")),
        timing=Timing(resolution_ms=1, clock_policy="x", replay_default="realtime"),
        provenance=Provenance(os="x", arch="x", recorded_at="", recorder_version=""),
        optional=optional,
    )


def compared(sent: bytes, **options: str) -> EntryMatcher:
    """A line with the first token recorded, another line sent."""
    typed = f"take {token(0)} now\r"
    (raw,), (shown,) = entries(typed.encode()), entries(conceal(typed).encode())
    found = stored_secrets(input_digests(ID, [(raw, shown)]), [])
    secrets = read_secrets(manifest(found), where="here")
    matcher = Matching(conceal=conceal, **options).matcher(shown, secrets)  # type: ignore[arg-type]
    for key in KeyReader().feed(sent):
        if matcher.state == "open":
            matcher.feed(key)
    return matcher


@pytest.mark.parametrize(
    ("strategy", "state"),
    [("prompt", "mismatch"), ("exact", "mismatch"), ("normalised", "matched"), ("any", "matched")],
)
def test_another_secret_is_another_input_where_texts_are_compared(
    strategy: str, state: str
) -> None:
    """And only there."""
    matcher = compared(f"take {token(1)} now\r".encode(), strategy=strategy)

    assert (matcher.state, matcher.only_secret) == (state, state == "mismatch")


@pytest.mark.parametrize("strategy", ["prompt", "exact"])
@pytest.mark.parametrize(
    ("sent", "options"),
    [
        (f"take {token(0)} now\r", {}),
        (f"take {'x' * 36} now\r", {}),
        (f"take {token(1)} now\r", {"secrets": "any"}),
    ],
)
def test_the_same_secret_the_masks_and_any_on_demand_match(
    strategy: str, sent: str, options: dict[str, str]
) -> None:
    """Whoever recorded can replay, and so can whoever knows no secret."""
    assert compared(sent.encode(), strategy=strategy, **options).state == "matched"


def test_another_text_around_another_secret_is_no_matter_of_secrets() -> None:
    """The message would lie."""
    matcher = compared(f"take {token(1)} then\r".encode())

    assert (matcher.state, matcher.only_secret) == ("mismatch", False)


def masked(typed: bytes, sent: bytes, **options: str) -> EntryMatcher:
    """A line that was typed unseen, another one sent."""
    real = InputRecord(seq=3, t_ms=0, kind="input", bytes=typed, masked=True)
    stars = bytes(byte if byte in b"\r\n" else 0x2A for byte in typed)
    shown = entries(stars, masked=True)
    found = stored_secrets(masked_digests(ID, shown, [real]), [])
    secrets = read_secrets(manifest(found), where="here")
    matcher = Matching(**options).matcher(shown[0], secrets)  # type: ignore[arg-type]
    for key in KeyReader().feed(sent):
        if matcher.state == "open":
            matcher.feed(key)
    return matcher


@pytest.mark.parametrize(
    ("sent", "state", "options"),
    [
        (token(0), "matched", {}),
        ("y\x7f" + token(0), "matched", {}),
        ("*" * 36, "matched", {}),
        ("x" * 5, "matched", {}),
        (token(1), "mismatch", {}),
        (token(0) + "y", "mismatch", {}),
        (token(0)[:-1], "mismatch", {}),
        (token(1), "matched", {"secrets": "any"}),
        (token(1), "matched", {"strategy": "any"}),
    ],
)
def test_what_was_typed_unseen_is_compared_by_its_digest(
    sent: str, state: str, options: dict[str, str]
) -> None:
    """Where nobody can guess it: a driver that sends another token is noticed."""
    matcher = masked(f"{token(0)}\r".encode(), f"{sent}\r".encode(), **options)

    assert (matcher.state, matcher.only_secret) == (state, state == "mismatch")


def test_what_was_typed_unseen_and_can_be_guessed_has_no_digest() -> None:
    """Any other matches, and that it was not compared is known."""
    matcher = masked(b"hunter2\r", b"something else\r")

    assert (matcher.state, matcher.unchecked) == ("matched", True)
    assert not masked(b"hunter2\r", b"*******\r").unchecked
    assert not masked(f"{token(0)}\r".encode(), f"{token(0)}\r".encode()).unchecked


def test_of_lines_in_one_record_none_is_compared_with_another() -> None:
    """A digest names an input by its last record."""
    both = f"{token(0)}\r{token(1)}\r".encode()

    assert masked(both, f"{token(2)}\r".encode()).state == "matched"


@pytest.mark.parametrize("length", [24, 36, 64])
def test_most_random_tokens_have_digests(length: int) -> None:
    """At least nine of ten."""
    strong = sum(guessing_bits(token(seed, length)) >= LEAST_BITS for seed in range(200))

    assert strong >= 180


@pytest.mark.parametrize(
    "text",
    [
        "1234",
        "4111 1111 1111 1111",
        "+49 170 12345678",
        "2026-11-23T20:08:24Z",
        "hunter2",
        "hunter2" * 20,
        "Passw0rd-Summer2026-Berlin!",
        "correct-horse-battery-staple-and-some-more-words-behind-it",
        "my dog is called Rex, and he is brown and was born in 2019",
        "jane.roe1985" + "@" + "corp-internal.example",
        "/home/jane.roe/Projects/2026/acme-corp/src/main.py",
        "postgres://admin:Secret123" + "@" + "db-01.prod.internal:5432/main1",
        "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJKLMNOPQRSTUVWXYZ",
        "0" * 64,
        "",
    ],
)
def test_what_people_choose_has_no_digest(text: str) -> None:
    """A dictionary would find it."""
    assert guessing_bits(text) < LEAST_BITS


def test_a_secret_that_was_asked_for_has_no_digest_anywhere() -> None:
    """People choose such, whatever it looks like; typed unseen it is not looked at at all."""
    typed = f"take {token(0)} now\r"
    pair = (entries(typed.encode())[0], entries(conceal(typed).encode())[0])
    unseen = (pair[0], entries(conceal(typed).encode(), masked=True)[0])

    assert len(input_digests(ID, [pair])) == 1
    assert input_digests(ID, [pair], apart_from=[token(0)[3:20]]) == []
    assert input_digests(ID, [unseen]) == []


def test_a_digest_holds_thirty_two_bits_and_is_the_cassettes_own() -> None:
    """So of a strong secret many values fit it, and no table of digests helps."""
    assert len(bytes.fromhex(digest_of(ID, token(0)))) == 4
    assert digest_of(ID, token(0)) != digest_of(ID[:-1] + "2", token(0))


def test_where_a_line_was_masked() -> None:
    """A character that equals its mask by accident belongs to the secret."""
    assert secret_spans("a abxd b cde", "a xxxx b xxx") == [(2, 6), (9, 12)]
    assert secret_spans("longer", "short") == []


def test_only_so_many_secrets_get_digests() -> None:
    """Saving takes no longer than a second for them."""
    pairs = [
        (entries(f"{token(n)}\r".encode())[0], entries(b"x" * 36 + b"\r")[0]) for n in range(20)
    ]

    assert len({found.digest for found in input_digests(ID, pairs)}) == MOST_SECRETS


def test_a_run_computes_only_so_many_digests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a cassette lists."""
    computed: list[str] = []
    monkeypatch.setattr(match_secrets, "digest_of", lambda _, text: computed.append(text) or "00")
    stored = [
        {"entry": 1, "seq": 3, "start": n, "end": n + 1 + n % 7, "digest": "00"} for n in range(400)
    ]
    secrets = read_secrets(
        manifest({"secret_digests": {"scheme": "scrypt-1", "inputs": stored}}), where="here"
    )
    holds = secrets and secrets.of_entry(entries(b"x" * 410 + b"\r")[0])

    assert holds is not None
    assert holds(token(0, 420))
    assert len(computed) == 2 * MOST_SECRETS


@pytest.mark.parametrize(
    "value",
    [
        7,
        {"scheme": "scrypt-1", "inputs": 1},
        {"scheme": "scrypt-1", "inputs": [{"entry": 1}]},
        {"scheme": "scrypt-1", "argv": [{"word": -1, "digest": ""}]},
        {"scheme": "scrypt-1", "argv": [{"word": 1, "digest": ""}] * 513},
    ],
)
def test_what_is_malformed_is_an_error(value: object) -> None:
    """Going on would compare less than the recording says."""
    with pytest.raises(ManifestError, match="secret_digests"):
        read_secrets(manifest({"secret_digests": value}), where="here")


def test_a_scheme_of_a_later_version_is_left_alone() -> None:
    """It is an extension that a reader may ignore."""
    assert read_secrets(manifest({"secret_digests": {"scheme": "later-2"}}), where="") is None


def test_arguments_are_told_apart_word_by_word() -> None:
    """What stands in the recorded form counts for nothing: it is public."""
    argv = ["sh", f"--token={token(0)}", f"--public={token(1)}", "1234"]
    shown = ["sh", "--token=[token]", f"--public={token(1)}", "[pin]"]
    words = word_digests(ID, argv, shown)
    secrets = read_secrets(manifest(stored_secrets([], words)), where="")

    assert [word.word for word in words] == [1]
    assert word_digests(ID, [f"a {token(1)} 1234"], [f"a {token(1)} [pin]"]) == []
    assert secrets is not None
    assert secrets.in_argv(argv)
    assert not secrets.in_argv(["sh", f"--token={token(2)}"])
    assert not secrets.in_argv(["sh"])


def test_digests_survive_json() -> None:
    """They are plain data."""
    typed = f"{token(0)}\r"
    found = input_digests(ID, [(entries(typed.encode())[0], entries(b"x" * 36 + b"\r")[0])])
    value = stored_secrets(found, [])

    assert msgspec.json.decode(msgspec.json.encode(value)) == value
    assert stored_secrets([], []) == {}


def test_an_unknown_way_is_refused() -> None:
    """With the ones there are."""
    with pytest.raises(ValueError, match="same or any"):
        secrets_named("none")
