"""The parts of a rerun that do no I/O: steps, screens, gates, the report."""

from __future__ import annotations

import getpass
import random
import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ptycassette.agents.harness.io.files import load_profile
from ptycassette.agents.rerun.exit_messages import (
    from_farewell,
    may_begin_above,
    scrolled_off,
    without_exit_messages,
)
from ptycassette.agents.rerun.gates import Gates
from ptycassette.agents.rerun.io.options import RerunOptions
from ptycassette.agents.rerun.io.preparing import located
from ptycassette.agents.rerun.report import (
    RequestMiss,
    RerunReport,
    ScreenChange,
    TapeDesk,
    VersionChange,
    report_json,
    report_lines,
    version_notes,
)
from ptycassette.agents.rerun.screens import ScreenJudge
from ptycassette.agents.rerun.script import script_of
from ptycassette.model.records import (
    Event,
    ExitStatus,
    FrameRecord,
    HeadSecret,
    InputRecord,
    OutputRecord,
)
from ptycassette.model.screen import Cursor, Size
from ptycassette.profiles.profile import ExitMessage
from ptycassette.scrub.session import default_scrubber
from ptycassette.tape.matching.misses import Miss
from ptycassette.tape.matching.question import Question
from tests.tapes import KEY, answered, asked, rules, tape

OK = ExitStatus(code=0, exited=True, signaled=False)


def frame(seq: int, *rows: str) -> Event:
    """A frame."""
    record = FrameRecord(
        seq=seq,
        t_ms=seq,
        size=Size(2, 20),
        text=rows,
        cursor=Cursor(0, 0, visible=True),
        raw_start=0,
        raw_end=0,
        parser_offset=0,
    )
    return Event(seq, seq * 1000, "frame", record)


def typed(seq: int, data: bytes, source: str | None = "driver") -> Event:
    """An input."""
    record = InputRecord(seq=seq, t_ms=seq, kind="input", bytes=data, source=source)
    return Event(seq, seq * 1000, "input", record, data)


def test_each_step_knows_the_screen_that_it_was_typed_on() -> None:
    """And whether one was sent right behind the one before it, so that nothing is waited for.

    Answers of the terminal are no steps: the terminal of the new run gives its own.
    """
    script = script_of(
        [
            typed(1, b"early"),
            frame(2, "ready>"),
            typed(3, b"\x1b[0n", source="terminal"),
            typed(4, b"hi"),
            typed(5, b"\r"),
            frame(6, "ready> hi"),
            typed(7, b"q"),
        ]
    )

    assert [
        (step.number, step.record.bytes, step.screen, step.follows) for step in script.steps
    ] == [
        (1, b"early", None, False),
        (2, b"hi", ("ready>",), False),
        (3, b"\r", ("ready>",), True),
        (4, b"q", ("ready> hi",), False),
    ]
    assert script.last_screen == ("ready> hi",)


def test_a_piece_waits_for_the_inputs_that_came_before_it() -> None:
    """However long ago they were; one at the same moment came after it."""
    gates = Gates([100, 200])

    assert gates.is_open(100)
    assert not gates.is_open(101)
    gates.sent = 1
    assert gates.is_open(200)
    assert not gates.is_open(201)
    gates.sent = 2
    assert gates.is_open(10**9)


@pytest.mark.parametrize(
    ("recorded", "now", "same"),
    [
        (["ready>"], ["ready>", "", ""], True),
        (["done at 10:15:00"], ["done at 23:59:59"], True),
        (["⠋ working 3s"], ["⠙ working 12s"], True),
        (["ready>"], ["ready> "], True),
        (["ready>"], ["Ready>"], False),
        (["a", "b"], ["b", "a"], False),
        (["", "a"], ["a"], False),
    ],
)
def test_screens_are_the_same_but_for_what_is_volatile(
    recorded: Sequence[str], now: Sequence[str], same: bool
) -> None:
    """Blank rows at the end do not count."""
    judge = ScreenJudge()

    assert judge.same(recorded, now) is same
    assert judge.awaited(recorded)(now) is same


@pytest.mark.parametrize(
    ("recorded", "now", "same"),
    [
        (["[STARTUP] a: 3ms", "ready>"], ["[STARTUP] b", "[STARTUP] c", "ready>"], True),
        (["[STARTUP] a", "ready>"], ["ready>"], True),
        (["say [STARTUP] a"], ["say [STARTUP] b"], False),
        (["[STARTUP] a", "ready>"], ["[STARTUP] a", "Ready>"], False),
        (["Worked for <1s"], ["Worked for 2s"], True),
    ],
)
def test_declared_rows_are_left_out_and_nothing_else(
    recorded: Sequence[str], now: Sequence[str], same: bool
) -> None:
    """In the report and while a screen is awaited."""
    judge = ScreenJudge(volatile=(r"^\[STARTUP\]",))

    assert judge.same(recorded, now) is same
    assert judge.awaited(recorded)(now) is same


@pytest.mark.parametrize(
    ("now", "same"),
    [
        ("  Press again to exit", True),
        ("  Press again to exit      ● low · /effort", True),
        ("", False),
        ("  Press again to quit      ● high · /effort", False),
        ("  Press again to exit      ● high · /effort now", False),
    ],
)
def test_of_a_pattern_with_a_group_the_rest_of_the_row_is_compared(now: str, same: bool) -> None:
    """So a key is not typed before the rest is there."""
    judge = ScreenJudge(volatile=(r"(● \w+ · /effort)$",))
    recorded = ["$", "  Press again to exit      ● high · /effort"]

    assert judge.same(recorded, ["$", now]) is same
    assert judge.awaited(recorded)(["$", now]) is same


STOPPED = ExitMessage(name="stopped", first="^Highlighting failed: ", rows=r"^ +at .+:\d+\)$")
TRACE = ["      at stop (a.js:1:2)", "      at run (node:b:3)"]


@pytest.mark.parametrize(
    ("rows", "left", "names"),
    [
        (["Highlighting failed: x", *TRACE, "", "bye"], ["bye"], ["stopped"]),
        ([*TRACE, "", "bye"], [*TRACE, "", "bye"], []),
        (["bye", "Highlighting failed: x", *TRACE], ["bye"], ["stopped"]),
        (["bye", *TRACE], ["bye", *TRACE], []),
        (["", "Highlighting is fine", ""], ["", "Highlighting is fine", ""], []),
        (["Highlighting failed: x", "buy walnuts", *TRACE], ["buy walnuts", *TRACE], ["stopped"]),
    ],
)
def test_a_declared_message_at_the_end_is_left_out_and_nothing_else(
    rows: list[str], left: list[str], names: list[str]
) -> None:
    """Rows of such a form elsewhere stay, a crash at the top of the screen, too."""
    assert without_exit_messages(rows, [STOPPED]) == (left, names)


@pytest.mark.parametrize(
    ("first", "left", "names"),
    [
        ("Highlighting failed: x", ["", "bye"], ["stopped"]),
        ("TypeError: x is no function", [TRACE[1], "", "", "bye"], []),
    ],
)
def test_a_message_whose_first_row_went_off_the_top_is_found_there(
    first: str, left: list[str], names: list[str]
) -> None:
    """And a crash whose first row did is compared."""
    printed = "\r\n".join(["hi", first, *TRACE, "", "", "bye"]).encode()
    output = Event(1, 1, "output", OutputRecord(seq=1, t_ms=0, offset=0, length=0), printed)
    above = scrolled_off([output], Size(4, 40))

    assert above == ("hi", first, TRACE[0])
    assert may_begin_above(TRACE, [STOPPED])
    assert without_exit_messages([TRACE[1], "", "", "bye"], [STOPPED], above) == (left, names)


def test_opencodes_message_does_not_hide_a_changed_answer() -> None:
    """The rows are those that it printed."""
    profile = load_profile("opencode", env={})
    printed = [
        "Code highlighting failed, falling back to plain text: warn: TreeSitter client destroyed",
        "      at destroy (/$bunfs/root/chunk-eyrrdkvk.js:64:11892)",
        "      at emit (node:events:95:22)",
        "      at internalRead (38:40)",
        "",
    ]
    recorded = ["  The note says: buy walnuts.", "", "  Session   Reading a note"]
    changed = [*printed, recorded[0].replace("nuts", "nutz"), *recorded[1:]]

    left = without_exit_messages([*printed, *recorded], profile.screens.at_exit)[0]
    assert ScreenJudge().same(recorded, left)
    left = without_exit_messages(changed, profile.screens.at_exit)[0]
    assert not ScreenJudge().same(recorded, left)


def test_another_version_is_named_and_is_no_difference() -> None:
    """As a line, and as a field."""
    other = report(version=VersionChange(recorded="cli 1.0", now="cli 1.1"))

    assert "version: the program is another one: recorded cli 1.0, now cli 1.1" in list(
        report_lines(other)
    )
    assert report_json(other)["version"] == {"recorded": "cli 1.0", "now": "cli 1.1"}
    assert other.passed


def test_a_version_that_is_not_said_is_noted() -> None:
    """So that nobody takes it for the recorded one."""
    said = "the program did not say its version; recorded was cli 1.0"

    assert version_notes("cli 1.0", None) == [said]
    assert version_notes("cli 1.0", "cli 1.1") == version_notes(None, None) == []


@pytest.mark.parametrize(
    ("now", "shown"),
    [
        (["key sk-abcdef ok"], True),
        (["key sk-abcdefg ok"], True),
        (["kex sk-abcdef ok"], False),
        (["key sk-abcdef no"], False),
        (["key  ok"], False),
    ],
)
def test_a_masked_place_is_any_text(now: Sequence[str], shown: bool) -> None:
    """While waiting, that is: a report compares scrubbed screens with each other."""
    judge = ScreenJudge()
    recorded = ["key xxxxxxxxx ok"]

    assert judge.awaited(recorded)(now) is shown
    assert judge.awaited(["a xxx b xxxx c"])(["a 1 b 2 b 3 c"])
    assert not judge.awaited(["a xxx b xxxx c"])(["a 1 c"])
    assert not judge.same(recorded, now)


@pytest.mark.parametrize(
    ("recorded", "now", "same"),
    [
        ("in xxxxxxxxxxx ok", "in xxxxxxxx ok", True),
        ("in xxxxxxxxxxx ok", "in /tmp/other ok", False),
        ("session: session-1111", "session: session-2222", True),
        ("session: xxxxxxxxxxxx", "session: session-2222", False),
        ("session: session-1111", "session: session-3333", False),
        ("in /work/one/a.", "in /tmp/two/a.", True),
        ("in /work/one, /work/one", "in /tmp/two, /tmp/two", True),
        ("in /work/one-old/a", "in /tmp/two-old/a", False),
        ("run /work/one.py", "run /tmp/two.py", False),
    ],
)
def test_a_screen_may_show_what_has_another_name_now(recorded: str, now: str, same: bool) -> None:
    """As the requests of the two runs say, and only then."""
    names = [("session-2222", "session-1111"), ("/tmp/two", "/work/one")]

    assert ScreenJudge().same([recorded], [now], names) is same


def report(**changed: object) -> RerunReport:
    """One in which all is well, but for what is given."""
    usual = {
        "argv": ("cli",),
        "guard": "none",
        "entries": 2,
        "matched": 2,
        "inputs": 1,
        "recorded_inputs": 1,
        "screens": 2,
        "expected_exit": OK,
        "exit": OK,
    }
    return RerunReport(**{**usual, **changed})  # type: ignore[arg-type]


MISS = RequestMiss(
    method="POST", target="/v1", nearest=2, differences=("messages[0]: \x1b]0;x",), message="no"
)


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({"misses": (MISS,)}, "request POST /v1 is not on the tape; the nearest is entry 2"),
        (
            {"misses": (msgspec.structs.replace(MISS, method="", target="", nearest=None),)},
            "request in a message over the WebSocket is not on the tape",
        ),
        ({"unasked": (2,)}, "request: entry 2 of the tape was never asked for"),
        (
            {"changes": (ScreenChange(number=0, expected=("a",), got=("b",)),)},
            "screen: at the end it is not the recorded one",
        ),
        ({"inputs": 0}, "inputs: 1 were not sent"),
        (
            {"exit": ExitStatus(code=4, exited=True, signaled=False)},
            "exit: expected status 0, got status 4",
        ),
        ({"exit": None}, "exit: expected status 0, got no end"),
        ({"final_text": "other"}, "final text: it is not the recorded one"),
        (
            {"fingerprint": "b", "expected_fingerprint": "a"},
            "fingerprint: what was asked and served is not what was recorded, or not in its order",
        ),
    ],
)
def test_everything_that_differs_fails_and_is_named(changed: dict[str, object], line: str) -> None:
    """What programs wrote is shown without control characters."""
    failed = report(**changed)
    lines = list(report_lines(failed))

    assert report().passed
    assert not failed.passed
    assert line in lines
    assert lines[-1] == "FAILED"
    assert not any("\x1b" in text for text in lines)
    assert report_json(failed)["passed"] is False


@pytest.mark.parametrize("strict", [False, True])
def test_a_desk_keeps_the_order_of_a_conversation_if_asked(*, strict: bool) -> None:
    """The later one of two questions with one parent comes first: a miss, or no difference."""
    first, left, right = ({"messages": [*words]} for words in ("a", "ab", "ac"))
    exchanges = tape((first, {}), (left, {}), (right, {}))
    desk = TapeDesk(
        exchanges, rules(), key=KEY, declared={}, scrubber=default_scrubber, strict=strict
    )
    for body in (first, right, left):
        desk.ask(asked(body))

    assert [miss.message for miss in desk.misses] == (
        ["in its conversation entry 2 comes first"] if strict else []
    )


def test_a_desk_knows_what_was_left_out_when_it_was_recorded() -> None:
    """A question is asked whole again, and its recording is without the forbidden input."""
    exchanges = tape(({"a": 1, "deep": {}}, {}), ({"a": 2, "vault": "x"}, {}))
    for stripped, missed in (("vault",), 1), ((), 2):
        desk = TapeDesk(
            exchanges, rules(), key=KEY, declared={}, scrubber=default_scrubber, stripped=stripped
        )
        for body in ({"a": 1, "deep": {"vault": "v"}}, {"a": 2, "vault": "x"}, {"a": 3}):
            desk.ask(asked(body))

        assert len(desk.misses) == missed


def in_path(key: str) -> Question:
    """A question whose target holds a key."""
    return asked({"q": 1}, target=f"/v1/files/{key}/content")


def as_kept(question: Question) -> Question:
    """A question with the target that a tape keeps, and what is masked in it."""
    kept, secrets = default_scrubber().head({"target": question.target, "headers": ()})
    return msgspec.structs.replace(question, target=kept["target"], head_secrets=secrets)


KEYS = ["ghp_" + "".join(random.Random(seed).choices(string.ascii_letters, k=36)) for seed in "abc"]


def desk_of(*questions: Question) -> TapeDesk:
    """A desk with these, answered by their numbers."""
    exchanges = tape(*((one, {"of": number}) for number, one in enumerate(questions)))
    return TapeDesk(exchanges, rules(), key=KEY, declared={}, scrubber=default_scrubber)


def test_a_masked_target_finds_its_own_answer() -> None:
    """In whatever order; a target with another secret is a miss, which shows none."""
    desk = desk_of(*(as_kept(in_path(key)) for key in KEYS[:2]))

    assert isinstance(desk.ask(in_path(KEYS[2])), Miss)
    assert [answered(desk.ask(in_path(key))) for key in KEYS[1::-1]] == [{"of": 1}, {"of": 0}]
    assert desk.fingerprint() == desk.expected_fingerprint
    assert "masked value" in desk.misses[0].message
    assert not [key for key in KEYS if key[4:] in repr(desk.misses)]


def test_a_target_is_matched_that_was_masked_before_tapes_kept_its_secret() -> None:
    """An older tape has the placeholder as a literal part of the target."""
    old = msgspec.structs.replace(as_kept(in_path(KEYS[0])), head_secrets=())

    assert answered(desk_of(old).ask(in_path(KEYS[0]))) == {"of": 0}


@pytest.mark.parametrize("secret", ["hunter2", KEYS[0]])
def test_a_target_is_masked_where_the_recorder_knew_more(secret: str) -> None:
    """What is no secret by itself was one in its session."""
    target = f"/v1/files/{secret}/content"
    kept = "/v1/files/<declared>/content"
    secrets = (HeadSecret("target", 10, 10, secret.encode()),)
    desk = desk_of(asked({"q": 1}, target=kept, head_secrets=secrets))

    assert isinstance(desk.ask(asked({"q": 1}, target="/v2/files/x/content")), Miss)
    assert isinstance(desk.ask(asked({"q": 1}, target="/v1/files/x/other")), Miss)
    assert answered(desk.ask(asked({"q": 1}, target=target))) == {"of": 0}
    assert bool(desk.notes()) == (secret == "hunter2")


def test_a_miss_of_a_tape_without_secrets_shows_none() -> None:
    """Its question is masked for people as if the tape had any."""
    desk = desk_of(asked({"q": 1}))
    desk.ask(asked({"q": f"use {KEYS[0]}"}, target=f"/v1/{KEYS[1]}"))

    assert desk.misses
    assert not [key for key in KEYS if key[4:] in repr(desk.misses)]


def test_a_recorded_word_is_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The scrubber named folders and the user; a name that leads nowhere is left as it is."""
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setattr(getpass, "getuser", lambda: "ada")
    (tmp_path / "of-ada").mkdir()
    words = {
        "$HOME/bin/agent": "/home/ada/bin/agent",
        "--root=$PWD": "--root=/work",
        "echo $HOME": "echo $HOME",
        f"{tmp_path}/of-<user>": f"{tmp_path}/of-ada",
        f"--in={tmp_path}/of-<user>": f"--in={tmp_path}/of-ada",
        f"{tmp_path}/no-<user>": f"{tmp_path}/no-<user>",
        "hello <user>": "hello <user>",
    }

    assert {word: located(word, Path("/work")) for word in words} == words


def test_above_a_farewell_both_last_screens_may_differ() -> None:
    """What a program repaints while it ends, or does not; below it everything counts."""
    repainted, cleared = ["logo", "> /quit", "Goodbye!", "1 call"], ["", "> /quit", "Goodbye!", "2"]

    assert from_farewell(repainted, cleared, "^Goodbye") == (
        ["Goodbye!", "1 call"],
        ["Goodbye!", "2"],
    )
    assert from_farewell(repainted, ["crashed"], "^Goodbye") == (repainted, ["crashed"])
    assert from_farewell(repainted, cleared, "") == (repainted, cleared)


@pytest.mark.parametrize("name", ["cwd", "copied", "home", "root"])
def test_a_path_of_the_options_may_be_text(name: str) -> None:
    """``rerun_cassette(..., cwd="work")`` is ``cwd=Path("work")``."""
    given: dict[str, Any] = {name: "work"}

    assert RerunOptions(**given) == RerunOptions(**{name: Path("work")})
