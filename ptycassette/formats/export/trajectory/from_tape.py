"""Read the conversation in a cassette from its tape, or else from its session log, and export it.

A question repeats earlier messages. A message counts as new if the question contains it more often
than any earlier question, so that a second "yes" is a second step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any, Literal, Protocol, cast, runtime_checkable

import msgspec

from ptycassette.cassette.timeline.match import iter_entries
from ptycassette.errors import UsageError
from ptycassette.formats.export.registry import ExportSource
from ptycassette.model.records import (
    Event,
    FinalRecord,
    InputRecord,
    Manifest,
    OutputRecord,
    ServiceEventRecord,
)
from ptycassette.model.tape import Chunk, TapeEntry
from ptycassette.model.visible_text import visible_json
from ptycassette.tape.providers.answers import answer_of
from ptycassette.tape.providers.neutral import Call, Message, ToolResult
from ptycassette.tape.providers.questions import AskedQuestion, read_question

# A conversation: its steps, and the calls of models in it.


class Step(msgspec.Struct, kw_only=True):
    """One step of the conversation.

    Attributes:
        source: its author. The results of tools belong to the step that called them.
        t_us: when it was complete, in microseconds since the start; None if unknown.
        entry: the entry of the tape whose question or answer contains it.
        copied: an answer from before the recording, which only a later question repeats.
    """

    source: Literal["system", "user", "agent"]
    t_us: int | None = None
    text: str = ""
    thought: str = ""
    calls: tuple[Call, ...] = ()
    results: list[ToolResult] = []
    model: str | None = None
    usage: dict[str, Any] = {}
    entry: int | None = None
    copied: bool = False


class Inference(msgspec.Struct, frozen=True, kw_only=True):
    """A question of the tape to a model, with its answer. Times are microseconds since the start.

    ``stop`` is why the answer ended, as the provider names it; None if it gave no reason.
    """

    entry: TapeEntry
    begun_us: int
    ended_us: int
    upstream: str
    asked_model: str | None
    asked: AskedQuestion
    said: Step
    stop: str | None


class Conversation(msgspec.Struct, kw_only=True):
    """The steps in order, the calls of models, and counts of everything left out."""

    steps: list[Step]
    inferences: list[Inference]
    left_out: dict[str, int]

    @property
    def model(self) -> str | None:
        """The model that answered most often."""
        found = Counter(step.model for step in self.steps if step.model is not None)
        return next((model for model, _ in found.most_common(1)), None)


class TapeExchange(Protocol):
    """A question of the tape with its answer."""

    entry: TapeEntry

    def question(self) -> bytes:
        """The body of the question."""
        ...

    def pieces(self) -> Iterator[tuple[Chunk, bytes]]:
        """The pieces of the answer, as received."""
        ...


_Key = tuple[str, str, tuple[str, ...], tuple[ToolResult, ...]]


def _key(message: Message) -> _Key:
    """The parts of a message that a repetition keeps; arguments may be written differently."""
    calls = tuple(call.call_id or call.name for call in message.calls)
    return message.role, message.text.strip(), calls, message.results


class TapeReading:
    """The conversation in the part of the tape that was read.

    Attributes:
        steps: the steps, in order.
        inferences: the calls of models that were answered.
        left_out: counts of everything else.
    """

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.inferences: list[Inference] = []
        self.left_out: Counter[str] = Counter()
        self._messages: Counter[_Key] = Counter()
        self._callers: dict[str, Step] = {}
        self._waiting: list[tuple[Call, Step]] = []  # calls without an id

    def ask(self, asked: AskedQuestion, entry: TapeEntry) -> None:
        """Add the new messages of a question."""
        here: Counter[_Key] = Counter()
        before = Counter(self._messages) if asked.goes_on else Counter[_Key]()
        for message in asked.messages:
            key = _key(message)
            here[key] += 1
            if here[key] + before[key] > self._messages[key]:
                self._messages[key] += 1
                self._add(message, entry)

    def _add(self, message: Message, entry: TapeEntry) -> None:
        for result in message.results:
            self._result(result, entry)
        if message.role == "assistant":
            step = Step(source="agent", text=message.text, calls=message.calls, copied=True)
            self.answer(step)
        elif message.text:
            source: Literal["system", "user"] = "system" if message.role == "system" else "user"
            step = Step(source=source, text=message.text, t_us=entry.t_us)
            self.steps.append(step)
        else:
            return
        step.entry = entry.entry

    def _result(self, result: ToolResult, entry: TapeEntry) -> None:
        step = self._callers.get(result.call_id)
        if step is None:
            named = (at for at, (call, _) in enumerate(self._waiting) if call.name == result.name)
            at = next(named, None)
            if at is not None:
                step = self._waiting.pop(at)[1]
        if step is None:
            step = Step(source="system", t_us=entry.t_us, entry=entry.entry)
            self.steps.append(step)
        step.results.append(result)

    def answer(self, step: Step) -> None:
        """Add an answer."""
        self.steps.append(step)
        for call in step.calls:
            if call.call_id:
                self._callers[call.call_id] = step
            else:
                self._waiting.append((call, step))

    def repeat(self, step: Step) -> None:
        """Note the forms in which a later question can repeat an answer.

        These are the whole answer, and its text and its calls apart.
        """
        parts = [Message("assistant", "", (call,)) for call in step.calls]
        for message in (Message("assistant", step.text), *parts):
            self._messages[_key(message)] += 1
        if parts and (step.text or len(parts) > 1):
            self._messages[_key(Message("assistant", step.text, step.calls))] += 1


def read_tape(tape: Iterable[TapeExchange], events: Iterable[Event]) -> TapeReading:
    """The conversation in a tape. ``events`` give the tokens and models of its entries."""
    found = TapeReading()
    usage, models = _usage_of(events)
    upstreams: dict[int, str] = {}
    for exchange in tape:
        entry = exchange.entry
        upstreams[entry.entry] = entry.upstream or upstreams.get(entry.within or 0, "")
        asked = read_question(exchange.question())
        if asked is None:
            found.left_out["other requests"] += entry.kind != "websocket"
            continue
        found.ask(asked, entry)
        kind = None
        if entry.answer is not None and entry.kind == "http":
            kind = dict(entry.answer.headers).get("content-type", "")
        answer = answer_of([data for _, data in exchange.pieces()], kind)
        step = Step(
            source="agent",
            text="".join(answer.text),
            thought="\n".join(answer.thoughts) if kind is None else "".join(answer.thoughts),
            calls=tuple(Call(one.id, one.name, one.arguments) for one in answer.calls.values()),
            model=answer.model or models.get(entry.entry),
            usage=usage.get(entry.entry, {}),
            entry=entry.entry,
            t_us=entry.end_us or (entry.answer.t_us if entry.answer is not None else entry.t_us),
        )
        if not (step.text or step.thought or step.calls):
            found.left_out["questions without an answer"] += 1
            continue
        found.answer(step)
        found.repeat(step)
        found.inferences.append(
            Inference(
                entry=entry,
                begun_us=entry.t_us,
                ended_us=max(entry.t_us, step.t_us or 0),
                upstream=upstreams[entry.entry],
                asked_model=models.get(entry.entry),
                asked=asked,
                said=step,
                stop=answer.stop,
            )
        )
    return found


def _usage_of(events: Iterable[Event]) -> tuple[dict[int, dict[str, Any]], dict[int, str]]:
    """The tokens of the answers and the requested models, both by the entries of the tape."""
    usage: dict[int, dict[str, Any]] = {}
    models: dict[int, str] = {}
    for payload in _payloads(events):
        entry, kind = payload.get("entry"), payload.get("type")
        if not isinstance(entry, int):
            continue
        if kind == "usage":
            usage[entry] = {
                name: count
                for name, count in payload.items()
                if isinstance(count, int | float) and name != "entry"
            }
        elif kind == "model-request" and isinstance(payload.get("model"), str):
            models[entry] = payload["model"]
    return usage, models


def _payloads(events: Iterable[Event]) -> Iterator[dict[str, Any]]:
    for event in events:
        if isinstance(event.record, ServiceEventRecord) and isinstance(event.record.payload, dict):
            yield event.record.payload


# The conversation from the session log of a CLI, in service events.


_SENT = "<enter>"
"""The end of a line that was typed and sent, as in ``Entry.shown``."""


class LogReading:
    """Reads the conversation from events.

    Args:
        with_messages: read messages, too; False if a tape already contains them.

    Attributes:
        left_out: counts of everything else.
    """

    def __init__(self, *, with_messages: bool) -> None:
        self.left_out: Counter[str] = Counter()
        self._with_messages = with_messages
        self._steps: list[Step] = []
        self._inputs: list[InputRecord] = []
        self._untimed = 0  # how many steps were read after the last input and output
        self._callers: dict[str, Step] = {}
        self._thought: list[str] = []  # until the text or call that it leads to

    def take(self, event: Event) -> None:
        """Read the next event."""
        record = event.record
        if isinstance(record, OutputRecord | InputRecord):
            self._untimed = len(self._steps)
        if isinstance(record, InputRecord):
            if record.source != "terminal":
                self._inputs.append(record)
                self.left_out["inputs of the terminal"] += 1
        elif isinstance(record, ServiceEventRecord):
            payload = record.payload if isinstance(record.payload, dict) else {}
            if not self._is_message(payload, event.t_us) and "entry" not in payload:
                self.left_out["service events"] += 1
        elif event.kind == "frame":
            self.left_out["screens"] += 1

    def _is_message(self, payload: dict[str, Any], t_us: int) -> bool:
        if not self._with_messages:
            return False
        text, call_id = payload.get("text"), str(payload.get("call_id", ""))
        match payload.get("type"):
            case "message" if isinstance(text, str):
                role = payload.get("role")
                source: Any = role if role in {"user", "system"} else "agent"
                model = payload.get("model")
                model = model if isinstance(model, str) and source == "agent" else None
                thought = self._thoughts() if source == "agent" else ""
                step = Step(source=source, text=text, t_us=t_us, model=model, thought=thought)
                self._steps.append(step)
            case "thinking" if isinstance(text, str):
                self._thought.append(text)
            case "tool-call":
                last = self._steps[-1] if self._steps else None
                if last is None or last.source != "agent" or last.results or self._thought:
                    last = Step(source="agent", t_us=t_us, thought=self._thoughts())
                    self._steps.append(last)
                call = Call(call_id, str(payload.get("name", "")), payload.get("arguments"))
                last.calls += (call,)
                self._callers[call_id] = last
            case "tool-result" if call_id in self._callers:
                said = payload.get("output")
                output = said if isinstance(said, str) else msgspec.json.encode(said).decode()
                self._callers[call_id].results.append(ToolResult(call_id, output))
            case _:
                return False
        return True

    def _thoughts(self) -> str:
        thought = "\n".join(self._thought)
        self._thought.clear()
        return thought

    def steps(self) -> list[Step]:
        """The steps; typed input is included if the log has no messages of the user."""
        for step in self._steps[self._untimed :]:
            step.t_us = None
        if any(step.source == "user" for step in self._steps):
            return self._steps
        typed = [
            Step(source="user", text=text, t_us=entry.t_us)
            for entry in iter_entries(self._inputs)
            if not entry.masked
            and entry.shown.endswith(_SENT)
            and (text := entry.shown.removesuffix(_SENT).strip())
        ]
        return [*typed, *self._steps]


# The conversation with models in a cassette, for the formats that can contain one.


@runtime_checkable
class _Recording(Protocol):
    final: FinalRecord

    @property
    def has_tape(self) -> bool: ...

    def tape(self) -> Iterable[TapeExchange]: ...


class WholeSource(ExportSource, _Recording, Protocol):
    """An open cassette."""


def whole(source: ExportSource) -> WholeSource:
    """The source as a whole cassette.

    Raises:
        UsageError: it is not a whole cassette.
    """
    if not isinstance(source, _Recording):
        raise UsageError("it is made of a whole cassette", where=str(source.path))
    return cast("WholeSource", source)


def conversation_of(source: ExportSource) -> Conversation:
    """The conversation in a cassette.

    Raises:
        UsageError: the cassette has no conversation.
    """
    cassette = whole(source)
    of_tape = TapeReading()
    if cassette.has_tape:
        of_tape = read_tape(cassette.tape(), cassette.events())
    log = LogReading(with_messages=not of_tape.inferences)
    for event in cassette.events():
        log.take(event)
    steps = of_tape.steps or log.steps()
    if not any(step.source == "agent" for step in steps):
        raise UsageError(
            "there is no conversation with a model in it",
            where=str(source.path),
            hint="record the model traffic with ptycassette rec --tape",
        )
    left_out = {name: count for name, count in (of_tape.left_out + log.left_out).items() if count}
    return Conversation(steps=steps, inferences=of_tape.inferences, left_out=left_out)


def left_out_of(source: ExportSource) -> dict[str, int]:
    """What an export of the conversation leaves out of a cassette, with counts."""
    return conversation_of(source).left_out


# A conversation as an eval log of Inspect (https://inspect.aisi.org.uk/eval-logs.html), in JSON.


_UNKNOWN = "none/none"
"""Inspect's name for an unnamed model."""


def recording_inspect(source: ExportSource) -> Iterator[bytes]:
    """The log, one JSON document.

    Raises:
        UsageError: there is no conversation in the recording.
    """
    cassette = whole(source)
    spoken = conversation_of(source)
    manifest, final = cassette.manifest, cassette.final
    start = datetime.fromisoformat(manifest.provenance.recorded_at)
    ended = start + timedelta(milliseconds=final.duration_ms)
    usage = _usage(spoken.steps)
    stats = {
        "started_at": start.isoformat(),
        "completed_at": ended.isoformat(),
        "model_usage": usage,
    }
    about = {
        "cassette": manifest.id,
        "recorder": f"ptycassette {manifest.provenance.recorder_version}",
        "left_out": spoken.left_out,
    }
    made = {
        "version": 2,
        "status": "success",
        "eval": {
            "run_id": manifest.id,
            "task_id": manifest.id,
            "created": start.isoformat(),
            "task": manifest.harness.name,
            "dataset": {"name": "ptycassette", "samples": 1, "sample_ids": [1]},
            "model": spoken.model or _UNKNOWN,
            "config": {},
            "metadata": about,
        },
        "plan": {"name": "recorded", "steps": []},
        "stats": stats,
        "samples": [{**_sample(manifest, spoken), "model_usage": usage, **_times(start, ended)}],
    }
    yield visible_json(msgspec.json.format(msgspec.json.encode(made), indent=2)) + b"\n"


def _times(start: datetime, ended: datetime) -> dict[str, Any]:
    return {
        "started_at": start.isoformat(),
        "completed_at": ended.isoformat(),
        "total_time": (ended - start).total_seconds(),
    }


def _sample(manifest: Manifest, spoken: Conversation) -> dict[str, Any]:
    asked = next((step.text for step in spoken.steps if step.source == "user"), "")
    answers = [step for step in spoken.steps if step.source == "agent"]
    last = answers[-1]
    stop = "tool_calls" if last.calls else "stop"
    choice = {"message": _answer(last), "stop_reason": stop}
    return {
        "id": 1,
        "epoch": 1,
        "input": asked,
        "target": "",
        "messages": [message for step in spoken.steps for message in _messages(step)],
        "output": {"model": last.model or spoken.model or _UNKNOWN, "choices": [choice]},
        "metadata": {"argv": list(manifest.command.argv or ())},
    }


def _messages(step: Step) -> Iterator[dict[str, Any]]:
    if step.source == "agent":
        yield _answer(step)
    elif step.text:
        yield {"role": step.source, "content": step.text, "metadata": _about(step)}
    names = {call.call_id: call.name for call in step.calls}
    for result in step.results:
        yield {
            "role": "tool",
            "content": result.text,
            "tool_call_id": result.call_id,
            "function": names.get(result.call_id) or result.name or None,
        }


def _answer(step: Step) -> dict[str, Any]:
    content: Any = step.text
    if step.thought:
        thought = {"type": "reasoning", "reasoning": step.thought}
        content = [thought, {"type": "text", "text": step.text}]
    calls = [
        {"id": call.call_id, "function": call.name, "arguments": call.values, "type": "function"}
        for call in step.calls
    ]
    made = {"role": "assistant", "content": content, "source": "generate", "model": step.model}
    return {**made, "tool_calls": calls or None, "metadata": _about(step)}


def _about(step: Step) -> dict[str, Any] | None:
    """The place of a step in the recording."""
    seconds = None if step.t_us is None else step.t_us / 1_000_000
    found = {"tape_entry": step.entry, "at_s": seconds, "copied": step.copied or None}
    return {name: value for name, value in found.items() if value is not None} or None


def _usage(steps: Iterable[Step]) -> dict[str, Any]:
    """The tokens of each model. Inspect counts cached input tokens separately."""
    found: dict[str, dict[str, Any]] = {}
    for step in steps:
        if not step.usage:
            continue
        total = found.setdefault(step.model or _UNKNOWN, {})
        cached = step.usage.get("cached_input_tokens", 0)
        given, answered = step.usage.get("input_tokens", 0), step.usage.get("output_tokens", 0)
        for name, count in (
            ("input_tokens", given - cached),
            ("output_tokens", answered),
            ("total_tokens", given + answered),
            ("input_tokens_cache_read", cached),
            ("reasoning_tokens", step.usage.get("reasoning_output_tokens", 0)),
            ("total_cost", step.usage.get("cost_usd", 0)),
        ):
            if count or name.endswith("_tokens"):
                total[name] = total.get(name, 0) + count
    return found


# A conversation as a trajectory in ATIF, harbor's Agent Trajectory Interchange Format.


SCHEMA = "ATIF-v1.8"

_COUNTS = {
    "prompt_tokens": "input_tokens",
    "completion_tokens": "output_tokens",
    "cached_tokens": "cached_input_tokens",
    "cost_usd": "cost_usd",
}


def recording_atif(source: ExportSource) -> Iterator[bytes]:
    """The trajectory, one JSON document.

    Raises:
        UsageError: there is no conversation in the recording.
    """
    cassette = whole(source)
    spoken = conversation_of(source)
    manifest = cassette.manifest
    start = datetime.fromisoformat(manifest.provenance.recorded_at)
    made = {
        "schema_version": SCHEMA,
        "session_id": manifest.id,
        "agent": _with_values(
            name=manifest.harness.name,
            version=manifest.harness.binary_version or "unknown",
            model_name=spoken.model,
        ),
        "steps": [_step(number, step, start) for number, step in enumerate(spoken.steps, 1)],
        "notes": _notes(spoken, in_process="in_process" in (manifest.optional or {})),
        "final_metrics": _final(spoken, cassette.final),
        "extra": {"recorder": f"ptycassette {manifest.provenance.recorder_version}"},
    }
    yield visible_json(msgspec.json.format(msgspec.json.encode(made), indent=2)) + b"\n"


def _notes(spoken: Conversation, *, in_process: bool) -> str:
    lost = ", ".join(f"{count} x {name}" for name, count in spoken.left_out.items())
    made_of = "the calls of a Python function" if in_process else "a terminal recording"
    return f"Made of {made_of}." + (f" Left out: {lost}." if lost else "")


def _step(number: int, step: Step, start: datetime) -> dict[str, Any]:
    when = None if step.t_us is None else (start + timedelta(microseconds=step.t_us)).isoformat()
    calls = {call.call_id or f"{number}-{at}": call for at, call in enumerate(step.calls, 1)}
    unnamed = [(call_id, call.name) for call_id, call in calls.items() if not call.call_id]
    results = []
    for result in step.results:
        known: str | None = result.call_id if result.call_id in calls else None
        if known is None:
            at = next((n for n, (_, name) in enumerate(unnamed) if name == result.name), None)
            known = None if at is None else unnamed.pop(at)[0]
        results.append(_with_values(source_call_id=known, content=result.text))
    is_answer = step.source == "agent"
    extra = _with_values(tape_entry=step.entry)
    return _with_values(
        step_id=number,
        timestamp=when,
        source=step.source,
        model_name=step.model if is_answer else None,
        message=step.text,
        reasoning_content=step.thought or None,
        tool_calls=[
            {"tool_call_id": call_id, "function_name": call.name, "arguments": call.values}
            for call_id, call in calls.items()
        ]
        or None,
        observation={"results": results} if results else None,
        metrics=_metrics(step.usage) if is_answer else None,
        is_copied_context=True if step.copied else None,
        llm_call_count=1 if is_answer and step.entry is not None and not step.copied else None,
        extra=extra or None,
    )


def _metrics(usage: dict[str, Any]) -> dict[str, Any] | None:
    said = {name: usage[ours] for name, ours in _COUNTS.items() if ours in usage}
    more = {name: count for name, count in usage.items() if name not in _COUNTS.values()}
    return _with_values(**said, extra=more or None) or None


def _final(spoken: Conversation, final: FinalRecord) -> dict[str, Any]:
    usages = [step.usage for step in spoken.steps if step.usage]
    totals: dict[str, Any] = final.usage if isinstance(final.usage, dict) and not usages else {}
    for usage in usages:
        for name in _COUNTS.values():
            if name in usage:
                totals = {**totals, name: totals.get(name, 0) + usage[name]}
    cost = totals.get("cost_usd", final.cost_usd)
    return _with_values(
        total_prompt_tokens=totals.get("input_tokens"),
        total_completion_tokens=totals.get("output_tokens"),
        total_cached_tokens=totals.get("cached_input_tokens"),
        total_cost_usd=cost,
        total_steps=len(spoken.steps),
    )


def _with_values(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
