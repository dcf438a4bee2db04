"""Two recordings of one scripted session are one session by the rules of a tape."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from tape_doubles import META, Saved, http

from ptycassette import open_cassette
from ptycassette.cassette.io.tape import RecordedExchange
from ptycassette.cassette.tape_lines import tape_facts
from ptycassette.errors import AmbiguousTapeError
from ptycassette.model.records import Harness
from ptycassette.tape.io.recorded_answers import load_matching_rules
from ptycassette.tape.matching.checking import tape_fingerprint
from ptycassette.tape.matching.matcher import Hit, Matcher
from ptycassette.tape.matching.misses import Miss, question_of

KEY = bytes.fromhex("ab" * 32)
RULES = load_matching_rules(("claude",), env={"HOME": "/dev/null"})


Recorded = tuple[RecordedExchange, bytes]  # with the question as it was sent, nothing masked


class Session(msgspec.Struct, frozen=True):
    """What differs between two recordings; ``ids`` ends the ids that the provider gives."""

    cwd: str
    home: str
    date: str
    session: str
    ids: str

    def question(self, prompt: str, *turns: object) -> dict[str, object]:
        """What Claude Code sends."""
        about = f"Today's date is {self.date}. You are in {self.cwd}; see {self.home}/.claude."
        user = json.dumps(
            {"device_id": self.ids[0] * 64, "session_id": self.session}, separators=(",", ":")
        )
        first = {"role": "user", "content": [{"type": "text", "text": f"{about} {prompt}"}]}
        return {"model": "c", "metadata": {"user_id": user}, "messages": [first, *turns]}

    def conversation(self, name: str, result: str) -> list[tuple[dict[str, object], bytes]]:
        """A prompt that leads to a tool call, and the result of the tool."""
        call = {"type": "tool_use", "id": f"toolu_{name}{self.ids}", "input": {"in": self.cwd}}
        turns = (
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": call["id"], "content": result}
            ]},
        )  # fmt: skip
        prompt = f"Do {name}."
        return [
            (self.question(prompt), json.dumps({"content": [call]}).encode()),
            (self.question(prompt, *turns), json.dumps({"said": f"{name} is done"}).encode()),
        ]

    def recorded(
        self, folder: Path, *, result: str = "buy milk", swapped: bool = False, **how: bool
    ) -> list[Recorded]:
        """Two conversations at the same time."""
        folder.mkdir()
        one, two = self.conversation("one", result), self.conversation("two", "buy bread")
        said = [one[0][1], two[0][1], two[1][1], one[1][1]]
        if swapped:
            said[:2] = reversed(said[:2])
        asked = [one[0][0], two[0][0], two[1][0], one[1][0]]
        items = [
            item
            for n, (question, answer) in enumerate(zip(asked, said, strict=True), 1)
            for item in http(
                n, question, answer, t_us=1000 + 300 * n + 700 * (n > 2), target="/v1/messages"
            )
        ]
        meta = msgspec.structs.replace(
            META, cwd=self.cwd, home=self.home, harness=Harness(name="claude")
        )
        saved = Saved(
            folder, sorted(items, key=lambda item: item.t_us), meta=meta, **how
        ).exchanges()
        return [(one, json.dumps(body).encode()) for one, body in zip(saved, asked, strict=True)]


FIRST = Session(
    cwd="/home/ann/work", home="/home/ann", date="2026-01-01",
    session="9b2f6c1e-8d4a-4f7b-a3c5-1e0d9f8b7a6c", ids="a1B2c3D4e5",
)  # fmt: skip
SECOND = Session(
    cwd="/srv/elsewhere/w", home="/Users/bo", date="2027-12-31",
    session="1c3e5a7f-0b2d-4c6e-8f1a-3b5d7f9a1c2e", ids="f9E8d7C6b5",
)  # fmt: skip


def matcher(tape: list[Recorded], live: Session) -> Matcher:
    """A tape that a new run asks."""
    declared = {"cwd": live.cwd, "home": live.home}
    return Matcher([exchange for exchange, _ in tape], RULES, key=KEY, declared=declared)


def asked_again(
    run: Matcher, live: list[Recorded], *, swapped: bool = False
) -> Iterator[Hit | Miss]:
    """The answers to the questions of another recording, which return what they were served.

    ``swapped``: each conversation goes on with the answer of the other.
    """
    given: list[tuple[str, str]] = []
    for exchange, sent in live:
        question = question_of(exchange)
        body = sent.decode()
        owns, served_ids = zip(*given, strict=True) if given else ((), ())
        for own, served_id in zip(owns, served_ids[:: -1 if swapped else 1], strict=True):
            body = body.replace(own, served_id)
        answer = run.ask(msgspec.structs.replace(question, body=body.encode()))
        yield answer
        if isinstance(answer, Hit):
            served = json.loads(b"".join(data for _, data in answer.pieces))
            own = json.loads(exchange.answer())
            pairs = zip(own.get("content", ()), served.get("content", ()), strict=True)
            given += [(one["id"], other["id"]) for one, other in pairs]


def fingerprint(tape: list[Recorded]) -> str:
    """That of a run that asks all of it."""
    return tape_fingerprint([exchange for exchange, _ in tape], RULES, key=KEY)


def test_one_hits_the_other_under_one_renaming(tmp_path: Path) -> None:
    """Either way round: every request, each once, and with the fingerprint of the tape."""
    one, two = FIRST.recorded(tmp_path / "1"), SECOND.recorded(tmp_path / "2")
    for tape, asking, live in ((one, two, SECOND), (two, one, FIRST)):
        run = matcher(tape, live)
        answers = list(asked_again(run, asking))
        renamed = [(each.recorded, each.live) for each in run.renamings()]

        assert [each.entry.entry for each in answers if isinstance(each, Hit)] == [1, 2, 3, 4]
        assert run.unused() == ()
        assert run.fingerprint() == fingerprint(tape)
        assert len({old for old, _ in renamed}) == len({new for _, new in renamed}) == len(renamed)
        assert {live.cwd, live.home, live.date, live.session} <= {new for _, new in renamed}


@pytest.mark.parametrize("where", ["in the tape", "in the run"])
def test_a_changed_byte_of_a_result_is_caught(tmp_path: Path, where: str) -> None:
    """And named, with its place; the other conversation goes on."""
    tape, live = FIRST.recorded(tmp_path / "1"), SECOND.recorded(tmp_path / "2", result="buy silk")
    run = matcher(tape, SECOND) if where == "in the run" else matcher(live, FIRST)
    answers = list(asked_again(run, live if where == "in the run" else tape))
    [miss] = [one for one in answers if isinstance(one, Miss)]

    assert miss is answers[3]
    assert [(one.path, {one.recorded, one.live}) for one in miss.differences] == [
        ("messages[2].content[0].content", {"buy milk", "buy silk"})
    ]


def test_swapped_answers_are_caught(tmp_path: Path) -> None:
    """Of conversations at the same time: such a tape is not published, such a run not answered."""
    tape, live = FIRST.recorded(tmp_path / "1"), SECOND.recorded(tmp_path / "2")
    answers = list(asked_again(matcher(tape, SECOND), live, swapped=True))

    assert [isinstance(one, Hit) for one in answers] == [True, True, False, False]
    with pytest.raises(AmbiguousTapeError, match=r"(?s)entry 3: .* answer of entry 1.*entry 4: "):
        FIRST.recorded(tmp_path / "3", swapped=True)


def test_a_tape_is_published_unproved_on_demand(tmp_path: Path) -> None:
    """The manifest marks it, and it has no fingerprint that a run could reach."""
    FIRST.recorded(tmp_path / "1", swapped=True, unproved=True)
    facts = tape_facts(open_cassette(tmp_path / "1" / "c").manifest)

    assert (facts["checked"], facts["unchecked"]) == (False, "it could answer wrongly")
    assert "fingerprint" not in facts


@pytest.mark.parametrize("dropped", range(4))
def test_a_dropped_exchange_is_caught(tmp_path: Path, dropped: int) -> None:
    """Missing in the tape it is a miss; missing in the run it is left over."""
    tape, live = FIRST.recorded(tmp_path / "1"), SECOND.recorded(tmp_path / "2")
    missed = list(asked_again(matcher(tape[:dropped] + tape[dropped + 1 :], SECOND), live))
    run = matcher(tape, SECOND)
    list(asked_again(run, live[:dropped] + live[dropped + 1 :]))

    assert isinstance(missed[dropped], Miss)
    assert dropped + 1 in {entry.entry for entry in run.unused()}
    assert run.fingerprint() != fingerprint(tape)
