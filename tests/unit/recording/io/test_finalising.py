"""What was typed and is secret is learnt while a session is saved, and is in nothing saved."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from ptycassette import open_cassette
from ptycassette.errors import RunFailedError, SecretLeftError
from ptycassette.model.records import (
    ExitStatus,
    Finished,
    Harness,
    InputRecord,
    JournalEvent,
    Output,
    Resized,
    SessionMeta,
    Typed,
)
from ptycassette.model.screen import Size
from ptycassette.recording.io import finalising
from ptycassette.recording.io.finalising import Finaliser
from ptycassette.scrub.io.process_secrets import remembered
from ptycassette.testing import fixed_id

META = SessionMeta(
    id=fixed_id(1), argv=("x",), size=Size(5, 40), recorded_at="2026-01-01T00:00:00Z",
    harness=Harness(name="x"), os="linux", arch="amd64", recorder_version="test",
)  # fmt: skip
SECRET = "Zx4RkB9s" + "-p7"
STARS = b"*" * len(SECRET)
END = Finished(t_us=9, exit=ExitStatus(code=0, exited=True, signaled=False))


def saved(target: Path, *events: JournalEvent, known: tuple[str, ...] = ()) -> bytes:
    """The output of the cassette that events become."""
    Finaliser(known=known).publish(META, lambda: iter([*events, END]), target)
    return (target / "output.raw").read_bytes()


def inputs(target: Path) -> list[tuple[bytes, str | None, bool]]:
    """What a cassette says was typed: bytes, key, and whether it was unseen."""
    with open_cassette(target) as cassette:
        records = [event.record for event in cassette.events()]
    return [
        (record.bytes, record.key or None, record.masked is True)
        for record in records
        if isinstance(record, InputRecord) and isinstance(record.bytes, bytes)
    ]


def test_masked_input_is_hidden_and_sought_in_the_output(tmp_path: Path) -> None:
    """What was shown before it was typed is masked, too."""
    said = f"{SECRET} it is\r\n".encode()
    shown = saved(tmp_path / "c", Output(0, said), Typed(1, SECRET.encode() + b"\r", masked=True))

    assert shown == b"x" * len(SECRET) + b" it is\r\n"
    assert inputs(tmp_path / "c") == [(STARS + b"\r", None, True)]


def test_the_key_of_what_is_hidden_is_not_named(tmp_path: Path) -> None:
    """``x`` says as much as its byte."""
    saved(
        tmp_path / "c",
        Typed(1, b"x", key="x", masked=True),
        Typed(1, b"\r", key="enter", masked=True),
    )

    assert inputs(tmp_path / "c") == [(b"*", None, True), (b"\r", "enter", True)]


def test_the_screen_is_followed_through_resizes(tmp_path: Path) -> None:
    """A prompt that wraps in one size stands in one row in the next."""
    saved(
        tmp_path / "c",
        Resized(0, Size(5, 8)), Resized(0, Size(5, 40)), Output(1, b"\x1b[2J\x1b[HPassword: "),
        Typed(2, SECRET.encode() + b"\r"),
    )  # fmt: skip

    assert inputs(tmp_path / "c") == [(STARS + b"\r", None, True)]


def test_signs_that_follow_the_last_input_are_waited_for(tmp_path: Path) -> None:
    """Reading does not end with what was typed last."""
    typed = Typed(2, SECRET.encode() + b"\r")
    saved(tmp_path / "c", Output(1, b"> "), typed, Output(3, STARS))

    assert inputs(tmp_path / "c") == [(STARS + b"\r", None, True)]


def test_what_nobody_typed_is_left_as_it_is(tmp_path: Path) -> None:
    """Answers of the terminal among it."""
    answer = Typed(2, b"\x1b[1;1R", source="terminal")

    assert saved(tmp_path / "c", Output(1, b"Password: "), answer) == b"Password: "
    assert inputs(tmp_path / "c") == [(b"\x1b[1;1R", None, False)]


def test_what_was_typed_is_remembered_for_what_this_process_writes(tmp_path: Path) -> None:
    """Traces and logs."""
    saved(tmp_path / "c", Typed(1, b"remember-me-7\r", masked=True))

    assert "remember-me-7" in [secret.text for secret in remembered()]


def test_wide_characters_left_of_the_cursor_are_counted_in_cells(tmp_path: Path) -> None:
    """Each takes two; what stands to the right of the cursor is no part of the prompt."""
    prompt = "密码 password: abc\x1b[3D".encode()
    saved(tmp_path / "c", Output(1, prompt), Typed(2, SECRET.encode() + b"\r"))

    assert inputs(tmp_path / "c") == [(STARS + b"\r", None, True)]


@pytest.mark.parametrize("short", ["4937", "9f#", "a-b-c"])
def test_short_secrets_are_removed_as_words(tmp_path: Path, short: str) -> None:
    """Inside of other words they are ordinary text."""
    shown = saved(
        tmp_path / "c",
        Typed(1, short.encode() + b"\r", masked=True),
        Output(2, f"\r\nis {short}, not x{short}x\r\n".encode()),
    )

    assert f"is {short},".encode() not in shown
    assert f"x{short}x".encode() in shown


def test_a_secret_that_is_no_utf_8_is_removed(tmp_path: Path) -> None:
    """A terminal of another time types Latin-1."""
    secret = "p\u00e4ssw\u00f6rd-7".encode("latin-1")
    shown = saved(
        tmp_path / "c",
        Typed(1, secret + b"\r", masked=True),
        Output(2, b"is " + secret + b".\r\n"),
    )

    assert secret not in shown


def test_a_declared_value_that_is_too_short_does_not_keep_the_recording(tmp_path: Path) -> None:
    """It cannot be told apart."""
    shown = saved(tmp_path / "c", Output(1, b"ab abc\r\n"), known=("ab", "abc"))

    assert shown == b"ab xxx\r\n"


def test_a_diagnostic_without_streams_is_scrubbed_of_it_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arguments may repeat what was typed."""

    def refuse(*_: object, **__: object) -> None:
        raise SecretLeftError("left")

    monkeypatch.setattr(finalising, "finalise", refuse)
    meta = msgspec.structs.replace(META, argv=("x", SECRET))
    events: list[JournalEvent] = [Typed(1, SECRET.encode() + b"\r", masked=True), END]
    with pytest.raises(SecretLeftError):
        Finaliser().publish(meta, lambda: iter(events), tmp_path / "c")

    assert SECRET not in (tmp_path / "c.diagnostic" / "diagnostic.json").read_text()


def test_a_diagnostic_with_streams_is_scrubbed_of_it_too(tmp_path: Path) -> None:
    """A run that failed after a password was typed."""
    events = [
        Output(0, SECRET.encode()),
        Typed(1, SECRET.encode() + b"\r", masked=True),
        Finished(t_us=9, failure="timeout"),
    ]
    with pytest.raises(RunFailedError):
        Finaliser().publish(META, lambda: iter(events), tmp_path / "c")

    files = [path.read_bytes() for path in (tmp_path / "c.diagnostic").iterdir()]
    assert b"timeout" in b"".join(files)
    assert SECRET.encode() not in b"".join(files)
