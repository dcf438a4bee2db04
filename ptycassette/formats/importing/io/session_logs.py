"""Import session logs of agent CLIs, as cassettes of their own or as events of a recording.

The profile of a CLI has the places of its logs and the meaning of their rows. ``rec`` uses the same
rules for the log of the session that it records, so the events are the same.
"""

from __future__ import annotations

import os
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatch
from itertools import accumulate
from pathlib import Path, PurePath
from typing import Any, Literal

import msgspec

from ptycassette.agents.harness.io.files import known_profiles, load_profile
from ptycassette.agents.harness.io.logs import read_log_file
from ptycassette.errors import CassetteError, UsageError
from ptycassette.formats.editing.masking import BadEditError, Take
from ptycassette.formats.importing.cendor import (
    CHAT,
    JSON,
    NOWHERE,
    chat_question,
)
from ptycassette.formats.importing.har import Call, session_of_calls, tool_events
from ptycassette.formats.importing.session import BadImportError, ImportedSession
from ptycassette.keys.quantities import time_text
from ptycassette.model.re2_engine import file_pattern
from ptycassette.model.records import Finished, JournalEvent, Noted
from ptycassette.profiles.session_log import LogFacts, LogSource
from ptycassette.recording.tape_source import compared_with_log
from ptycassette.system.files.whole_file import open_plain
from ptycassette.tape.providers.openai_chat import (
    chat_answer,
    message,
    tool_call,
    tool_message,
    usual_stop,
)
from ptycassette.tape.routing import known_providers

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OTHER_SESSION_US = 60_000_000
"""If all events of a log are this far outside of a recording, it is from another session."""
_BEGIN_CHARS = 4096
_MOST_KINDS = 20
_OK = 200


def harness_of_log(name: str, begin: bytes) -> str | None:
    """The CLI that wrote a session log, by the file's name and first bytes; None if unknown."""
    text = begin.removeprefix(BOM_UTF8).decode("utf-8", "replace")[:_BEGIN_CHARS]
    for harness in known_profiles():
        try:
            logs = load_profile(harness).logs
        except CassetteError:  # the user's own, and broken: another command reports that
            continue
        if any(_is_log(log, name, text) for log in logs):
            return harness
    return None


def _is_log(log: LogSource, name: str, text: str) -> bool:
    if log.begins is not None:
        found = next(file_pattern(log.begins, multiline=True).matches(text), None)
        return found is not None and found.start() == 0
    pattern = PurePath(log.glob).name
    return not pattern.startswith("*") and fnmatch(name, pattern)


def read_session_log(name: str, *, harness: str | None) -> ImportedSession:
    """The session in a log: service events at their times, and tokens at its end.

    Args:
        name: the path of the log.
        harness: the CLI that wrote it; None to find out by its name and content.

    Raises:
        UnreadableError: it is broken.
        UsageError: the CLI cannot be found out.
        BadImportError: it contains no event.
    """
    path = Path(name)
    if harness is None:
        with os.fdopen(open_plain(path), "rb") as file:
            harness = harness_of_log(path.name, file.read(_BEGIN_CHARS * 4))
    if harness is None:
        raise UsageError(
            "the name and the content do not show which CLI wrote this session log",
            where=str(path),
            hint="name the CLI: --harness claude, codex, gemini, opencode, ...",
        )
    profile = load_profile(harness)
    facts = read_log_file(profile, path)
    if not facts.events:
        raise BadImportError(
            f"nothing in it is a message, a call of a tool or a count of tokens, as {harness}"
            " writes them"
        )
    began, times = _times(facts)
    notes = [Noted(t_us, event) for t_us, event in zip(times, facts.events, strict=True)]
    return ImportedSession(
        events=notes,
        end_us=notes[-1].t_us,
        harness=harness,
        harness_version=facts.version,
        made_by=" ".join(filter(None, (profile.title, facts.version))),
        recorded_at=None if began is None else _EPOCH + timedelta(microseconds=began),
        final={
            "usage": facts.usage,
            "cost_usd": facts.cost_usd,
            "final_text": facts.final_text,
            "routing_actual": facts.model,
        },
        skipped=_skipped(facts.unread),
    )


_OF_OTHERS = "events of subagents and of earlier sessions"


def with_calls(log: ImportedSession) -> ImportedSession:
    """Turn a session log into the calls that its program must have made, to test such a program.

    Each answer of a model is a call, whose question is the conversation so far. A log does not have
    the system prompt, the tools and the requested model, so the questions lack them. Calls of tools
    stay service events, after the answer that asked for them.

    Raises:
        BadImportError: it has no answer of a model.
    """
    skipped = Counter(log.skipped)
    said: list[_Said] = []
    for note in log.events:
        payload = note.payload if isinstance(note, Noted) else {}
        if payload.get("sidechain") or payload.get("inherited"):
            skipped[_OF_OTHERS] += 1
        elif (made := _said(note.t_us, payload)) is not None:
            _join(said, made)
    calls: list[Call] = []
    notes: list[Noted] = []
    messages: list[dict[str, Any]] = []
    clock_us = 0
    for one in said:
        clock_us = max(clock_us + 1, one.t_us)
        if one.role != "assistant":
            messages.append(one.message())
        if one.role == "tool":
            ended = {"output": one.content}
            notes.append(Noted(clock_us, {"type": "tool-result", "call_id": one.call_id, **ended}))
        if one.role != "assistant":
            continue
        answer = chat_answer(one.model, [(one.message(), usual_stop(one.calls))])
        calls.append(
            Call(
                begun_us=clock_us,
                answered_us=clock_us,
                ended_us=clock_us,
                method="POST",
                url=_base_of_model(one.model) + CHAT,
                headers=JSON,
                with_headers=False,
                body=chat_question(None, messages, {}),
                status=_OK,
                answer_headers=JSON,
                answer=answer,
                rebuilt=True,
            )
        )
        for call_id, name, arguments in one.calls:
            clock_us += 1
            notes += tool_events((clock_us, clock_us), call_id, name, arguments, None)
        messages.append(one.message())
    if not calls:
        raise BadImportError("no model answers in it")
    session = session_of_calls(calls, skipped, dated=False, rebuilt=True, notes=notes)
    return msgspec.structs.replace(session, recorded_at=log.recorded_at, made_by=log.made_by)


class _Said(msgspec.Struct, kw_only=True):
    """A message of a conversation. ``name`` is the id of the message in the log."""

    t_us: int
    role: Literal["user", "assistant", "tool"]
    content: str = ""
    calls: list[tuple[str, str, Any]] = []
    call_id: str = ""
    model: str | None = None
    name: object = None

    def message(self) -> dict[str, Any]:
        """The message as in a chat completion."""
        if self.role == "tool":
            return tool_message(self.call_id, self.content)
        return message(self.role, self.content or None, [tool_call(*call) for call in self.calls])


def _said(t_us: int, payload: dict[str, Any]) -> _Said | None:
    name, model = payload.get("id"), payload.get("model")
    model = model if isinstance(model, str) else None
    match payload:
        case {"type": "message", "role": "user" | "assistant" as role, "text": str(text)}:
            return _Said(t_us=t_us, role=role, content=text, model=model, name=name)
        case {"type": "tool-call", "call_id": str(call_id), "name": str(tool)}:
            calls = [(call_id, tool, payload.get("arguments"))]
            return _Said(t_us=t_us, role="assistant", calls=calls, model=model, name=name)
        case {"type": "tool-result", "call_id": str(call_id)}:
            output = payload.get("output")
            text = output if isinstance(output, str) else msgspec.json.encode(output).decode()
            return _Said(t_us=t_us, role="tool", content=text, call_id=call_id)
    return None


def _join(said: list[_Said], one: _Said) -> None:
    """Add a message, or its parts to the last answer: CLIs log each part of an answer separately.

    With parallel calls a log may have the result of the first before the second call; both calls
    then have the id of the same answer.
    """
    last = next((old for old in reversed(said) if old.role != "tool"), None)
    if one.role == "assistant" and last is not None and last.role == "assistant":
        same = last is said[-1] if one.name is None else one.name == last.name
        if same or (last is said[-1] and None in {one.name, last.name}):
            last.content += one.content
            last.calls = [*last.calls, *one.calls]
            last.model = last.model or one.model
            return
    said.append(one)


def _base_of_model(model: str | None) -> str:
    known = None if model is None else known_providers().of_model(model)
    return NOWHERE if known is None else known.url


def _skipped(unread: Mapping[str, int]) -> dict[str, int]:
    """Counts of rows that became no event, by kind."""
    kinds = sorted(unread.items(), key=lambda one: (-one[1], one[0]))
    named = {f"{kind}, without a message, tool call or tokens": count for kind, count in kinds}
    skipped = dict(list(named.items())[:_MOST_KINDS])
    if rest := sum(unread.values()) - sum(skipped.values()):
        skipped["rows and parts of other kinds"] = rest
    return skipped


def _identity(payload: Any) -> object:
    """The parts that two copies of one event have in common, even if one was scrubbed.

    Events of the tape never count as copies of events of the log.
    """
    if isinstance(payload, dict) and "entry" not in payload:
        name = payload.get("call_id", payload.get("id"))
        if isinstance(name, str):
            return payload.get("type"), name
    return msgspec.json.encode(payload, order="deterministic")


def _times(facts: LogFacts) -> tuple[int | None, list[int]]:
    """The beginning, and the events' times since then; they stay in the order of the log."""
    known = [t_us for t_us in facts.times if t_us is not None]
    began = min(known, default=None)
    since = (0 if t_us is None else t_us - (began or 0) for t_us in facts.times)
    return began, list(accumulate(since, max))


def _late_us(notes: Sequence[Noted], there: Sequence[Noted], offset_us: int) -> int:
    """The time by which a log would be too late in a recording, in microseconds.

    In older recordings ``recorded_at`` is before the start. A tool had its result before the
    question on the tape that carries it, so the log can be moved to before that question.
    """
    asked: dict[object, int] = {}
    for note in there:
        if _is_result(note.payload) and "entry" in note.payload:
            asked.setdefault(note.payload["call_id"], note.t_us)
    late = [
        note.t_us + offset_us - asked[note.payload["call_id"]]
        for note in notes
        if _is_result(note.payload) and note.payload["call_id"] in asked
    ]
    return max(0, *late) if late else 0


def _is_result(payload: Any) -> bool:
    return (
        isinstance(payload, dict)
        and payload.get("type") == "tool-result"
        and isinstance(payload.get("call_id"), str)
    )


class LogAdded(msgspec.Struct, frozen=True, kw_only=True):
    """The result of adding a log to a recording.

    ``there`` counts events that the recording already had, ``moved`` those from before its start or
    after its end. ``agrees``: whether log and tape count the same tokens; None if one of them
    counts none.
    """

    added: int
    there: int
    moved: int
    usage: dict[str, Any] | None
    agrees: bool | None


class LogToAdd:
    """The edit that adds a log's events to a recording. ``done`` is its result.

    Args:
        log: the session in the log.
        recorded_at: when the recording began, RFC 3339.
    """

    def __init__(self, log: ImportedSession, recorded_at: str) -> None:
        self._log = log
        self._began = datetime.fromisoformat(recorded_at)
        self.done: LogAdded | None = None

    def __call__(self, takes: Sequence[Take]) -> Take:
        """The recording with the events, at their moments by the clock.

        Raises:
            BadEditError: the log has no times, is from another time, or was already added.
        """
        take = takes[0]
        if self._log.recorded_at is None:
            raise BadEditError("the log has no times")
        offset_us = (self._log.recorded_at - self._began) // timedelta(microseconds=1)
        first, last = offset_us, offset_us + self._log.end_us
        if last < -_OTHER_SESSION_US or first > take.end_us + _OTHER_SESSION_US:
            raise BadEditError(
                f"the log is of another session: it begins {time_text(first / 1e6)} after the"
                f" start of {take.name or 'the recording'}, which takes"
                f" {time_text(take.end_us / 1e6)}"
            )
        there = [event for event in take.source() if isinstance(event, Noted)]
        had = {_identity(event.payload) for event in there}
        notes = [note for note in self._log.events if isinstance(note, Noted)]
        offset_us -= _late_us(notes, there, offset_us)
        new = [note for note in notes if _identity(note.payload) not in had]
        if not new:
            raise BadEditError("the recording has all events of the log already")
        placed = [
            Noted(min(max(0, note.t_us + offset_us), take.end_us), note.payload) for note in new
        ]
        moved = sum(
            note.t_us + offset_us != put.t_us for note, put in zip(new, placed, strict=True)
        )
        end = next(one for one in take.source() if isinstance(one, Finished))
        ended, agrees = self._ended(end)
        self.done = LogAdded(
            added=len(placed),
            there=len(notes) - len(new),
            moved=moved,
            usage=self._log.final.get("usage"),
            agrees=agrees,
        )

        def events() -> Iterator[JournalEvent]:
            waiting = iter(placed)
            note = next(waiting, None)
            for event in take.source():
                while note is not None and (note.t_us < event.t_us or isinstance(event, Finished)):
                    yield note
                    note = next(waiting, None)
                yield ended if isinstance(event, Finished) else event

        return take.changed(events)

    def _ended(self, end: Finished) -> tuple[Finished, bool | None]:
        """The end, with missing facts from the log; whether the counts of tokens agree."""
        final = {name: value for name, value in self._log.final.items() if value is not None}
        missing = {name: value for name, value in final.items() if getattr(end, name) is None}
        ended = msgspec.structs.replace(end, **missing)
        tape = (end.metadata or {}).get("tape")
        if end.usage is None or not isinstance(tape, dict) or "usage" not in final:
            return ended, None
        said = compared_with_log(end.usage, final["usage"])
        metadata = {**(end.metadata or {}), "tape": {**tape, **said}}
        return msgspec.structs.replace(ended, metadata=metadata), said.get("log_agrees")
