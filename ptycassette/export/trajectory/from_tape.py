"""The conversation as a tape tells it.

A question repeats what was said before it. A message counts as new if the question holds it more
often than any earlier one, so that a second "yes" is a second step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Literal, Protocol

from ptycassette.export.trajectory.steps import Inference, Step
from ptycassette.harness.provider.wire.neutral import Call, Message, ToolResult
from ptycassette.harness.provider.wire.questions import AskedQuestion, read_question
from ptycassette.model.events import Event, ServiceEventRecord
from ptycassette.model.tape import Chunk, TapeEntry
from ptycassette.seal.bundle.transcripts import answer_of


class TapeExchange(Protocol):
    """A question of the tape with its answer."""

    entry: TapeEntry

    def question(self) -> bytes:
        """Its body."""
        ...

    def pieces(self) -> Iterator[tuple[Chunk, bytes]]:
        """The answer, as it came."""
        ...


_Key = tuple[str, str, tuple[str, ...], tuple[ToolResult, ...]]


def _key(message: Message) -> _Key:
    """What is the same of a message that is repeated; arguments may be written in another way."""
    calls = tuple(call.call_id or call.name for call in message.calls)
    return message.role, message.text.strip(), calls, message.results


class TapeReading:
    """What the tape told so far.

    Attributes:
        steps: in order.
        inferences: the calls of models that were answered.
        left_out: how much of what else there is.
    """

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.inferences: list[Inference] = []
        self.left_out: Counter[str] = Counter()
        self._messages: Counter[_Key] = Counter()
        self._callers: dict[str, Step] = {}
        self._waiting: list[tuple[Call, Step]] = []  # calls without an id

    def ask(self, asked: AskedQuestion, entry: TapeEntry) -> None:
        """Add what a question says for the first time."""
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
        """Note an answer as a later question will repeat it: as a whole, or its text and calls."""
        parts = [Message("assistant", "", (call,)) for call in step.calls]
        for message in (Message("assistant", step.text), *parts):
            self._messages[_key(message)] += 1
        if parts and (step.text or len(parts) > 1):
            self._messages[_key(Message("assistant", step.text, step.calls))] += 1


def read_tape(tape: Iterable[TapeExchange], events: Iterable[Event]) -> TapeReading:
    """The conversation in a tape. ``events`` tell the tokens and models of its entries."""
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
    """The tokens of the answers, and the models that were asked for, by the entries of the tape."""
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
