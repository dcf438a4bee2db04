"""Choose the source of answers after the change: a script, the fake provider, or a live one."""

from __future__ import annotations

import os
import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ptycassette.agents.faults.provider import last_call, with_model, with_result
from ptycassette.agents.faults.registry import provider_fault
from ptycassette.agents.fork.io.branch import AnswerSource, Branch
from ptycassette.agents.fork.io.held import HeldTail, recorded_hit, recorded_question
from ptycassette.agents.fork.io.live import ForkOptions, LiveTail
from ptycassette.agents.fork.places import Change
from ptycassette.agents.harness.example import example_script
from ptycassette.agents.harness.fake.script import Script
from ptycassette.agents.rerun.gates import Gates
from ptycassette.agents.rerun.made_answers import MadeAnswers, said
from ptycassette.cassette.io.reader import Cassette
from ptycassette.errors import NotFoundError, UsageError
from ptycassette.model.ports import Clock
from ptycassette.profiles.profile import Profile
from ptycassette.system.clock import MonotonicClock
from ptycassette.system.files.whole_file import read_plain
from ptycassette.tape.matching.matcher import Hit
from ptycassette.tape.matching.misses import Miss
from ptycassette.tape.matching.question import Question

_MOST_BYTES = 4 << 20
_FIRST_NUMBER = 10_000_000
_HELLO = "Hello from the script."


def response_script(value: str, places: Mapping[str, str]) -> Script:
    """The script of a changed response: a text, or ``@FILE``: a text, or a script (``.toml``).

    Args:
        value: the value of the change.
        places: the folders of the run, by the names of variables that scripts may use: ``cwd``,
            ``home``.

    Raises:
        UsageError: the file cannot be read, or is not a script.
    """
    if not value.startswith("@"):
        return said(value)
    path = Path(value[1:])
    if path.suffix == ".toml":
        return script_of_file(path, places)
    try:
        return said(read_plain(path, max_bytes=_MOST_BYTES).decode())
    except UnicodeDecodeError as wrong:
        raise UsageError("a response is UTF-8 text", where=str(path)) from wrong


def script_of_file(path: Path, places: Mapping[str, str]) -> Script:
    """The script in a file; ``places`` as in ``response_script``.

    Raises:
        UsageError: the file cannot be read, or is not a script.
    """
    from ptycassette.agents.harness.io.fake_provider import read_script  # noqa: PLC0415 - it loads an HTTP server

    return read_script(path, places)


def fake_script(profile: Profile | None, places: Mapping[str, str]) -> Script:
    """The default answers of the fake provider; ``places`` as in ``response_script``."""
    if profile is None:
        return said(_HELLO)
    text = example_script(profile)
    return Script.parse(text, where=f"the example for {profile.name}", variables=places)


class MadeTail:
    """Answers from a script. An ``AnswerSource``.

    Its ids have random numbers, because the tape may contain answers of a fake provider, too, and
    the same id in two answers would be ambiguous.
    """

    def __init__(self, script: Script, clock: Clock, branch: Branch) -> None:
        first = _FIRST_NUMBER + secrets.randbelow(_FIRST_NUMBER)
        self._made, self._branch = MadeAnswers(script, clock, first_number=first), branch

    async def __call__(self, question: Question) -> Hit | Miss:
        """See ``AnswerSource``."""
        for handshake in self._branch.handshakes:
            self._made.learn(handshake)
        return self._made.ask(question)

    @property
    def problems(self) -> tuple[str, ...]:
        """Questions for which the script has no answer."""
        return self._made.problems


def edited(source: AnswerSource, change: Change, call: str | None = None) -> AnswerSource:
    """A source that gets the question with the change applied.

    Args:
        source: gives the answers.
        change: the change.
        call: the tool call whose result is changed, if any.
    """

    async def ask(question: Question) -> Hit | Miss:
        if change.kind == "model":
            return await source(with_model(question, change.value))
        if change.kind == "tool-result" and call is not None:
            return await source(with_result(question, call, change.value))
        return await source(question)

    return ask


def once_more(asked: Question, recorded: Hit, source: AnswerSource) -> AnswerSource:
    """A source that repeats the recorded answer to a question whose first answer was a fault."""
    left = [recorded]

    async def ask(question: Question) -> Hit | Miss:
        same = (question.kind, question.target, question.body) == (
            asked.kind, asked.target, asked.body
        )  # fmt: skip
        return left.pop() if left and same else await source(question)

    return ask


def wire(
    branch: Branch,
    change: Change,
    tail: AnswerSource | None,
    clock: Clock,
    places: Mapping[str, str],
    *,
    other: Hit | None = None,
) -> Callable[[], tuple[str, ...]]:
    """Connect a branch to the change and the tail.

    Args:
        branch: the branch of the run.
        change: the change.
        tail: the source of later answers; the parent's tape when None.
        clock: for the times in a made answer.
        places: as in ``response_script``.
        other: the recorded answer to another request, for ``swap``.

    Returns:
        A function that gives the problems of a made answer, once it was served.
    """
    made = (
        MadeTail(response_script(change.value, places), clock, branch)
        if change.kind == "response"
        else None
    )
    if tail is not None:
        branch.tail = edited(tail, change)

    async def here(question: Question, recorded: Hit) -> Hit | Miss:
        if change.fault is not None:
            fault = provider_fault(change.fault)
            source = branch.tail
            if fault.of_questions:
                return await source(fault.question(question))
            branch.tail = once_more(question, recorded, source)
            branch.note_answer(question, recorded)
            return fault.answer(question, recorded, clock)
        if made is not None:
            answer = await made(question)
            branch.note_answer(question, answer)
            return answer
        if other is not None:
            branch.note_answer(question, other)
            return other
        if tail is None or isinstance(tail, HeldTail) or change.kind == "none":
            branch.note_answer(question, recorded)
            return recorded
        call = last_call(question.body) if change.kind == "tool-result" else None
        branch.tail = edited(tail, change, call)
        return await branch.tail(question)

    branch.here = here
    return lambda: () if made is None else made.problems


@contextmanager
def tail_of(
    options: ForkOptions,
    cassette: Cassette,
    branch: Branch,
    gates: Gates,
    *,
    profile: Profile | None,
    places: Mapping[str, str],
    wait_s: float | None = None,
) -> Iterator[AnswerSource | None]:
    """The source of answers after the change; None for the parent's tape.

    ``places`` are as above, ``wait_s`` is as for ``HeldTail``.
    """
    if options.tail == "held":
        yield HeldTail(branch, list(cassette.tape()), gates, wait_s=wait_s)
    elif options.script is not None:
        yield MadeTail(script_of_file(options.script, places), MonotonicClock(), branch)
    elif options.tail == "fake":
        yield MadeTail(fake_script(profile, places), MonotonicClock(), branch)
    elif options.tail == "live":
        asked = Counter(one.entry.upstream for one in cassette.tape() if one.entry.upstream)
        recorded = next((url for url, _ in asked.most_common(1)), "")
        with LiveTail(options.live, recorded=recorded, environment=os.environ) as live:
            branch.learn = live.learn
            yield live
    else:
        yield None


_OF_ANSWERS = {"response", "swap", "model"}
"""Changes to what a model is asked or answers. A handshake has neither."""


def check_request(cassette: Cassette, entry: int | None, change: Change) -> None:
    """Refuse a change that a request of the tape cannot have.

    Args:
        cassette: a cassette with a tape.
        entry: the entry of the request; None if no request is changed.
        change: the change.

    Raises:
        NotFoundError: the other answer of ``swap`` does not exist.
        UsageError: the request has no such answer, result or model.
    """
    swapped = change.entry
    if swapped is not None and swapped not in {one.entry.entry for one in cassette.tape()}:
        raise NotFoundError(f"there is no tape:{swapped}, whose answer is to be swapped in")
    for one in cassette.tape():
        if one.entry.entry != entry:
            continue
        if change.fault is not None:
            provider_fault(change.fault).check(recorded_question(one), MonotonicClock())
        if one.entry.kind == "websocket" and change.kind in _OF_ANSWERS:
            raise UsageError(
                f"tape:{entry} opens a WebSocket: there is no answer of the model to change",
                hint="name a message over it: ptycassette fork --places CASSETTE",
            )
        question = recorded_question(one)
        if change.kind == "model" and with_model(question, "") == question:
            raise UsageError(
                f"the request at tape:{entry} names no model",
                hint="find one with: ptycassette fork --places CASSETTE",
            )
        if change.kind == "tool-result" and last_call(one.question()) is None:
            raise UsageError(
                f"the request at tape:{entry} has no tool result",
                hint="find one with: ptycassette fork --places CASSETTE",
            )


def other_answer(cassette: Cassette, change: Change) -> Hit | None:
    """The answer for ``swap``; None for other changes."""
    if change.entry is None:
        return None
    [exchange] = (one for one in cassette.tape() if one.entry.entry == change.entry)
    return recorded_hit(exchange)
