"""Sessions over a script: no process, no thread, no clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ptycassette.errors import (
    InputRefusedError,
    SessionClosedError,
    SessionError,
    StorageError,
    WaitTimeoutError,
)
from ptycassette.model.records import JournalEvent, Noted, Output, Resized, Signalled, Typed
from ptycassette.model.screen import Size
from ptycassette.recording.session.async_session import AsyncSession
from ptycassette.recording.session.base import SUBMIT_PAUSE_S
from ptycassette.recording.session.session import Session
from ptycassette.scrub.io.process_secrets import remembered
from ptycassette.terminal.emulator import answering, default_emulator
from ptycassette.terminal.query_profiles import DUMB, XTERM, QueryProfile
from ptycassette.testing import LineMode, ManualClock, ScriptedPty


class Tap:
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.events: list[JournalEvent] = []
        self.idle = 0
        self.takes_secrets = False

    def on_output(self, t_us: int, data: bytes) -> None:
        """Keep a chunk."""
        self.events.append(Output(t_us, data))

    def on_event(self, event: JournalEvent) -> None:
        """Keep an event."""
        self.events.append(event)

    def on_idle(self) -> None:
        """Count."""
        self.idle += 1

    @property
    def typed(self) -> list[Typed]:
        """The inputs."""
        return [event for event in self.events if isinstance(event, Typed)]


class Stage:
    """A script, its clock, and the session over it."""

    def __init__(self) -> None:
        self.clock = ManualClock(start_us=5_000_000)
        self.pty = ScriptedPty(self.clock)
        self.tap = Tap()

    def session(self, **options: Any) -> Session:
        """A sync session over the script."""
        return Session.over(self.pty, clock=self.clock, sleeper=self.clock, tap=self.tap, **options)

    def async_session(self) -> AsyncSession:
        """An async session over the script."""
        return AsyncSession.over(self.pty, clock=self.clock, sleeper=self.clock, tap=self.tap)


@pytest.fixture
def stage() -> Stage:
    """An empty script, to be filled by the test."""
    return Stage()


def test_output_reaches_the_tap_with_the_time_since_the_start(stage: Stage) -> None:
    """Microseconds from 0, whatever the clock said before."""
    stage.pty.say("one").say("two", after_s=0.25)
    with stage.session() as session:
        session.wait_for_text("onetwo")

    assert stage.tap.events == [Output(0, b"one"), Output(250_000, b"two")]
    assert stage.tap.idle == 2


def test_everything_reaches_the_tap_in_the_order_in_which_it_happened(stage: Stage) -> None:
    """Output, input, resize, signal, note."""
    stage.pty.say("?").expect("y").say("ok", after_s=0.1).expect_signal("int").say("!")
    with stage.session() as session:
        session.wait_for_text("?")
        session.send(b"y")
        session.wait_for_text("ok")
        session.resize(Size(10, 40))
        session.note({"a": 1})
        session.signal("SIGINT")
        session.wait_for_text("!")

    assert stage.tap.events == [
        Output(0, b"?"),
        Typed(0, b"y", source="driver"),
        Output(100_000, b"ok"),
        Resized(100_000, Size(10, 40)),
        Noted(100_000, {"a": 1}),
        Signalled(100_000, "int"),
        Output(100_000, b"!"),
    ]
    assert (stage.pty.sizes, stage.pty.signals) == ([Size(10, 40)], ["int"])


def test_the_screen_is_rendered_in_its_new_size(stage: Stage) -> None:
    """What came before the resize is rendered in the old size, what comes after in the new."""
    stage.pty.say("abcdef")
    with stage.session(size=Size(3, 4)) as session:
        before = session.screen()
        session.resize(Size(3, 10))
        stage.pty.say("\r\n123456")

        assert before.rows == ("abcd", "ef", "")
        assert session.wait_for_text("123456").size == session.size == Size(3, 10)


def test_submit_pauses_before_enter(stage: Stage) -> None:
    """Two inputs, at least 50 ms apart: agent CLIs take one write for a paste."""
    with stage.session() as session:
        session.submit("hello")

    text, enter = stage.tap.typed
    assert (text.data, enter.data, enter.key) == (b"hello", b"\r", "enter")
    assert enter.t_us - text.t_us == SUBMIT_PAUSE_S * 1e6 >= 50_000


def sent(data: bytes, *, t_us: int = 0, **more: Any) -> Typed:
    """Input of the driver."""
    return Typed(t_us, data, source="driver", **more)


PAUSE_US = int(SUBMIT_PAUSE_S * 1e6)
Drive = Callable[[Session], object]
INPUT: dict[str, tuple[Callable[[ScriptedPty], object], Drive, bytes, list[Typed]]] = {
    # The program, what a driver does, what the program gets, and what the tap is told.
    # A terminal sends CR for Enter.
    "newlines that are typed are the Enter key": (
        lambda pty: pty, lambda session: session.type("a\nb\r\n", source="user"), b"a\rb\r",
        [Typed(0, b"a\rb\r", source="user")]),
    # ICANON without ECHO: as many asterisks as bytes; where the line ends stays visible.
    "a password is masked for the tap": (
        lambda pty: pty.mode(LineMode(canonical=True, echo=False)),
        lambda session: (
            session.send(b"pass\r"), session.send_key("x"), session.send_key("enter")),
        b"pass\rx\r",
        [sent(b"****\r", masked=True), sent(b"*", masked=True),
         sent(b"\r", key="enter", masked=True)]),
    # A full-screen program reads so; nothing about it is secret.
    "raw input without echo is not": (
        lambda pty: pty.mode(LineMode(canonical=False, echo=False)),
        lambda session: session.send(b"dd"), b"dd", [sent(b"dd")]),
    # DSR 6: where the cursor is. The answer is input of the terminal.
    "the terminal answers queries itself": (
        lambda pty: pty.say("ab\x1b[6n").expect("R").say("thanks"),
        lambda session: session.wait_for_text("thanks"), b"\x1b[1;3R",
        [Typed(0, b"\x1b[1;3R", source="terminal")]),
    # DECSET 2004, also when it is split over two reads.
    "what is submitted is pasted where the program brackets pastes": (
        lambda pty: pty.say("\x1b[?20").say("04h> "),
        lambda session: (session.wait_for_text("> "), session.submit("a\nb")),
        b"\x1b[200~a\rb\x1b[201~\r",
        [sent(b"\x1b[200~a\rb\x1b[201~", paste=True), sent(b"\r", key="enter", t_us=PAUSE_US)]),
}  # fmt: skip


@pytest.mark.parametrize("case", INPUT)
def test_what_is_sent_and_what_the_tap_is_told(stage: Stage, case: str) -> None:
    """The program gets all of it."""
    program, drive, written, told = INPUT[case]
    program(stage.pty)
    with stage.session() as session:
        drive(session)

    assert stage.pty.written == written
    assert stage.tap.typed == told


def test_keys_follow_the_mode_that_the_program_set(stage: Stage) -> None:
    """DECCKM on, off, and reset by RIS."""
    stage.pty.say("\x1b[?1h1").expect("\x1bOA").say("\x1b[?1l2").expect("\x1b[A")
    stage.pty.say("\x1b[?1h3").expect("\x1bOA").say("\x1bc4")
    with stage.session() as session:
        for shown in "123":
            session.wait_for_text(shown)
            session.send_key("up")
        session.wait_for_text("4")
        session.send_key("Up")

    assert stage.pty.written == b"\x1bOA\x1b[A\x1bOA\x1b[A"
    assert {event.key for event in stage.tap.typed} == {"up"}


@pytest.mark.parametrize("takes_secrets", [False, True])
def test_what_a_driver_says_is_secret_is_masked_in_any_mode(
    stage: Stage, *, takes_secrets: bool
) -> None:
    """A tap that is private is told the bytes; any other gets asterisks."""
    stage.tap.takes_secrets = takes_secrets
    with stage.session() as session:
        session.send_secret("ab\n")
        session.submit_secret("cd")

    assert stage.pty.written == b"ab\rcd\r"
    assert [(event.data, event.masked) for event in stage.tap.typed] == [
        (b"ab\r" if takes_secrets else b"**\r", True),
        (b"cd" if takes_secrets else b"**", True),
        (b"\r", True),
    ]


def test_what_was_typed_unseen_is_remembered_for_traces(stage: Stage) -> None:
    """Also where nothing is recorded."""
    with stage.session() as session:
        session.send_secret("never-in-a-trace\n")

    assert "never-in-a-trace" in [secret.text for secret in remembered()]


@pytest.mark.parametrize(
    ("sends", "refused"),
    [
        ([b"x" * 4095 + b"\r"], False),
        ([b"x" * 4096 + b"\r"], True),
        ([b"x" * 4096], True),
        ([b"x" * 4000, b"x" * 95 + b"\r"], False),
        ([b"x" * 4000, b"x" * 96], True),
        ([b"x" * 2000, b"x" * 2000, b"x" * 96], True),
        ([b"x" * 4000 + b"\r", b"x" * 4000 + b"\r"], False),
        ([b"x" * 4000 + b"\n" + b"x" * 90, b"x" * 4000], False),
        ([b"a\r" * 5000], False),
    ],
)
def test_lines_that_the_kernel_would_cut_are_refused(
    stage: Stage,
    sends: list[bytes],
    refused: bool,
) -> None:
    """Counted since the last end of a line, over all sends; the last of these decides."""
    stage.pty.mode(LineMode(canonical=True))
    *before, last = sends
    with stage.session() as session:
        for data in before:
            session.send(data)
        if refused:
            with pytest.raises(InputRefusedError, match="4095 and throws the rest away"):
                session.send(last)
        else:
            session.send(last)

    assert stage.pty.written == b"".join(before if refused else sends)


def test_long_lines_pass_in_raw_mode_and_do_not_count_later(stage: Stage) -> None:
    """Only canonical mode cuts; who reads raw has taken everything."""
    stage.pty.expect("end").mode(LineMode(canonical=True)).say("now")
    with stage.session() as session:
        session.send(b"x" * 9000 + b"end")
        session.wait_for_text("now")
        session.send(b"y" * 4095)

    assert len(stage.pty.written) == 9003 + 4095


def test_a_full_input_queue_is_waited_for(stage: Stage) -> None:
    """What the terminal takes is recorded piece by piece, output meanwhile too."""
    stage.pty.takes(3).say("busy", after_s=0.1).takes(3, after_s=0.1).takes(None, after_s=0.1)
    with stage.session() as session:
        session.send(b"abcdefgh")

    assert stage.pty.written == b"abcdefgh"
    assert stage.tap.events == [
        Typed(0, b"abc", source="driver"),
        Output(100_000, b"busy"),
        Typed(200_000, b"def", source="driver"),
        Typed(300_000, b"gh", source="driver"),
    ]


def test_input_that_nobody_reads_times_out(stage: Stage) -> None:
    """The error says so, and the rest is not sent later."""
    stage.pty.takes(2).takes(None, after_s=60)
    with stage.session() as session:
        with pytest.raises(WaitTimeoutError, match="for the program to read its input"):
            session.send(b"abcd", timeout_s=5)
        session.wait_stable(60_000, timeout_s=120)

    assert stage.pty.written == b"ab"


def test_a_signal_overtakes_input_that_is_stuck(stage: Stage) -> None:
    """Input waits in the line; a signal is no input."""
    stage.pty.takes(0).expect_signal("int").takes(None)
    with stage.session() as session:
        with pytest.raises(WaitTimeoutError):
            session.send(b"abcd", timeout_s=1)
        session.signal("int")
        session.send(b"e")

    assert stage.pty.written == b"e"


@pytest.mark.parametrize(
    ("wait", "said"),
    [
        (lambda s: s.wait_for_text("$ "), "$ "),
        (lambda s: s.wait_for_text("a\nb"), "a\r\nb"),
        (lambda s: s.wait_for_regex(r"^v\d+$"), "x\r\nv12"),
        (lambda s: s.wait_for_predicate(lambda screen: screen.title == "t"), "\x1b]2;t\x07"),
        (lambda s: s.wait_for_cursor(2, 3), "\x1b[3;4H"),
        (lambda s: s.wait_for_cursor(col=7), "1234567"),
    ],
)
def test_waits_end_with_what_they_wait_for(
    stage: Stage, wait: Callable[[Session], object], said: str
) -> None:
    """At the moment at which it is there, not before."""
    stage.pty.say("-", after_s=1).say("\r" + said, after_s=1)
    with stage.session() as session:
        wait(session)

        assert session.elapsed_us == 2_000_000


def test_text_that_is_only_shown_elsewhere_in_the_row_is_no_prompt(stage: Stage) -> None:
    """A blank in the text must be a blank on the screen."""
    stage.pty.say("$5")
    with stage.session() as session, pytest.raises(WaitTimeoutError):
        session.wait_for_text("$ ", timeout_s=1)


def test_a_wait_that_runs_out_of_time_shows_the_screen(stage: Stage) -> None:
    """What was waited for, how long, and what was there; hostile text is escaped."""
    stage.pty.say("here \u202e I am")
    with stage.session() as session, pytest.raises(WaitTimeoutError) as caught:
        session.wait_for_text("gone", timeout_s=3)

    assert "waited 3 s for the text 'gone'" in str(caught.value)
    assert "| here" in str(caught.value)
    assert "\u202e" not in str(caught.value)


def shown_token() -> tuple[str, str]:
    """A token, and what shows it on two rows."""
    token = "gh" + "p_" + "Zk3x" * 9
    return token, "x" * 60 + " " + token


@pytest.mark.parametrize("ends", [False, True])
def test_an_error_of_a_wait_shows_no_secret(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, ends: bool
) -> None:
    """Neither what looks like one nor what the environment holds, on the screen or in the text."""
    token, line = shown_token()
    value = "word" + "Of8Passage2"
    monkeypatch.setenv("SOME_API_TOKEN", value)
    stage.pty.say(f"{line}\r\n{value}\r\nhere")
    if ends:
        stage.pty.exits(0)
    wrong = SessionClosedError if ends else WaitTimeoutError
    with stage.session() as session, pytest.raises(wrong) as caught:
        session.wait_for_text(f"{value} gone", timeout_s=3)
    text = str(caught.value)

    assert "| here" in text
    assert "gone" in text
    assert value not in text
    assert [piece for piece in (token[:12], token[-12:]) if piece in text] == []


def test_input_that_is_not_read_shows_no_secret(stage: Stage) -> None:
    """As a wait does."""
    token, line = shown_token()
    stage.pty.takes(0).say(line).takes(None, after_s=60)
    with stage.session() as session:
        session.wait_for_text("xxx", timeout_s=3)
        with pytest.raises(WaitTimeoutError) as caught:
            session.send(b"abcd", timeout_s=1)

    assert "read its input" in str(caught.value)
    assert token[-12:] not in str(caught.value)


def test_an_error_of_a_wait_is_told_when_scrubbing_is_not_configured(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without the screen, which cannot be scrubbed then."""
    (tmp_path / "wrong.toml").write_text("nonsense = [")
    monkeypatch.setenv("PTYCASSETTE_SCRUB_CONFIG", str(tmp_path / "wrong.toml"))
    stage.pty.say("here")
    with stage.session() as session, pytest.raises(WaitTimeoutError) as caught:
        session.wait_for_text("gone", timeout_s=3)

    assert "waited 3 s" in str(caught.value)
    assert "not shown, as it cannot be scrubbed" in str(caught.value)
    assert "| here" not in str(caught.value)


def test_a_wait_ends_when_the_program_does(stage: Stage) -> None:
    """There is nothing to wait for any more; the error says how it ended."""
    stage.pty.say("bye", after_s=1).exits(3)
    with stage.session() as session, pytest.raises(SessionClosedError) as caught:
        session.wait_for_text("never", timeout_s=100)

    assert "the program ended with status 3" in str(caught.value)
    assert "| bye" in str(caught.value)
    assert session.elapsed_us == 1_000_000


def test_what_a_program_wrote_last_is_found_after_its_end(stage: Stage) -> None:
    """Waits look at the last screen of an ended session."""
    stage.pty.say("last words").exits(0)
    with stage.session() as session:
        status = session.wait_exit()

        assert session.wait_for_text("last words").text == session.screen().text
        assert (status.code, session.finished) == (0, True)


def test_wait_stable_starts_anew_with_every_change(stage: Stage) -> None:
    """Output that changes nothing on the screen does not count."""
    stage.pty.say("a", after_s=0.1).say("b", after_s=0.15).say("\x07", after_s=0.1)
    with stage.session() as session:
        assert session.wait_stable(200).text == "ab"
        assert session.elapsed_us == 450_000


def test_wait_exit_tells_code_and_signal_apart(stage: Stage) -> None:
    """A signal has a name and the code -1."""
    stage.pty.exits(signal="kill", after_s=2)
    with stage.session() as session:
        status = session.wait_exit()

    assert (status.code, status.signal, status.exited, status.signaled) == (
        -1,
        "killed",
        False,
        True,
    )


def test_nothing_can_be_sent_after_the_end(stage: Stage) -> None:
    """Every kind of input says that the session is over."""
    stage.pty.exits(1)
    with stage.session() as session:
        session.wait_exit()
        for act in (
            lambda: session.send(b"x"),
            lambda: session.resize(Size(2, 2)),
            lambda: session.signal("int"),
        ):
            with pytest.raises(SessionClosedError, match="ended with status 1"):
                act()


def test_ending_is_idempotent(stage: Stage) -> None:
    """terminate, kill and close may come in any number."""
    session = stage.session()
    first = session.terminate()

    assert session.kill() == session.terminate() == first
    assert first.signal == "terminated"
    session.close()
    session.close()
    assert stage.pty.closed


def _failing(*_: object) -> None:
    raise StorageError("disk full")


@pytest.mark.parametrize("part", ["on_output", "on_event"])
def test_a_tap_that_fails_ends_the_session(stage: Stage, part: str) -> None:
    """What cannot be recorded must not go on; the cause is the tap's own error."""
    setattr(stage.tap, part, _failing)
    stage.pty.say("x", after_s=1)
    session = stage.session()
    with pytest.raises((SessionError, StorageError), match="disk full") as caught:
        session.wait_for_text("x") if part == "on_output" else session.send(b"x")

    assert isinstance(caught.value.__cause__ or caught.value, StorageError)
    assert session.finished
    with pytest.raises(SessionError, match="disk full"):
        session.close()
    assert stage.pty.closed


def test_bad_arguments_reach_the_caller_and_not_the_session(stage: Stage) -> None:
    """An unknown key or signal, a predicate that raises."""
    stage.pty.say("x")
    with stage.session() as session:
        with pytest.raises(ValueError, match="no such key"):
            session.send_key("nope")
        with pytest.raises(ValueError, match="no such signal"):
            session.signal("nope")
        with pytest.raises(ZeroDivisionError):
            session.wait_for_predicate(lambda _: bool(1 // 0))

        assert session.wait_for_text("x")


@pytest.mark.asyncio
async def test_the_async_face_does_the_same(stage: Stage) -> None:
    """Every method once, over the same script."""
    stage.pty.say("\x1b[?1h> ").expect("hi\r").say("hello", after_s=1).expect("\x1bOA")
    stage.pty.say("v1", after_s=1).expect_signal("int").say("!").exits(2, after_s=1)
    async with stage.async_session() as session:
        await session.wait_for_text("> ")
        await session.submit("hi")
        await session.wait_for_regex("hel+o")
        await session.resize(Size(5, 50))
        await session.send_key("up")
        await session.wait_for_predicate(lambda screen: "v1" in screen.text)
        await session.wait_for_cursor(0)
        await session.note(1)
        await session.type("t")
        await session.paste("p")
        await session.send(b"s")
        await session.signal("int")
        await session.wait_for_text("!")
        with pytest.raises(WaitTimeoutError):
            await session.wait_for_text("never", timeout_s=0.5)
        status = await session.wait_exit()

        assert (await session.screen()).size == Size(5, 50)
    assert status.code == 2
    assert stage.pty.written == b"hi\r\x1bOAtps"


@pytest.mark.asyncio
async def test_async_ending_is_idempotent(stage: Stage) -> None:
    """terminate, kill, close."""
    session = stage.async_session()
    first = await session.terminate()

    assert await session.kill() == first
    await session.close()
    await session.close()
    assert stage.pty.closed


@pytest.mark.asyncio
async def test_async_waits_are_told_of_the_end(stage: Stage) -> None:
    """As in the sync face."""
    stage.pty.exits(1, after_s=1)
    async with stage.async_session() as session:
        await session.wait_stable(5000)
        with pytest.raises(SessionClosedError, match="status 1"):
            await session.wait_for_text("never")


@pytest.mark.asyncio
async def test_async_input_that_nobody_reads_times_out(stage: Stage) -> None:
    """As in the sync face."""
    stage.pty.takes(0).takes(None, after_s=60)
    async with stage.async_session() as session:
        with pytest.raises(WaitTimeoutError, match="read its input"):
            await session.send(b"abcd", timeout_s=1)


@pytest.mark.asyncio
async def test_async_input_that_is_cancelled_is_not_sent_later(stage: Stage) -> None:
    """What the terminal has not taken yet is taken back."""
    stage.pty.takes(1).takes(None, after_s=60)
    async with stage.async_session() as session:
        sending = asyncio.create_task(session.send(b"abc", timeout_s=10))
        await asyncio.sleep(0)
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        await session.wait_stable(61_000, timeout_s=120)

    assert stage.pty.written == b"a"


@pytest.mark.parametrize(("profile", "sent"), [(XTERM, b"\x1b[27u"), (DUMB, b"\x1b")])
def test_keys_follow_kittys_protocol_only_where_the_emulator_confirms_it(
    stage: Stage, profile: QueryProfile, sent: bytes
) -> None:
    """A terminal that does not have it ignores what the program wants."""
    stage.pty.say(b"\x1b[>1uready")
    with stage.session(emulator=answering(default_emulator, profile)) as session:
        session.wait_for_text("ready")
        session.send_key("escape")

    assert bytes(stage.pty.written) == sent


def test_typed_text_follows_kittys_protocol_too(stage: Stage) -> None:
    """Where a program wants all keys as sequences."""
    stage.pty.say(b"\x1b[>8uready")
    with stage.session() as session:
        session.wait_for_text("ready")
        session.type("a\n")

    assert bytes(stage.pty.written) == b"\x1b[97u\x1b[13u"


def test_the_focus_is_reported_to_programs_that_asked(stage: Stage) -> None:
    """DECSET 1004; before that nothing is sent. It is no input of the driver."""
    stage.pty.say("one").say(b"\x1b[?1004htwo", after_s=1)
    with stage.session() as session:
        session.wait_for_text("one")
        session.focus()
        session.wait_for_text("two")
        session.focus()
        session.focus(gained=False)

    assert [(typed.data, typed.source) for typed in stage.tap.typed] == [
        (b"\x1b[I", "terminal"),
        (b"\x1b[O", "terminal"),
    ]
