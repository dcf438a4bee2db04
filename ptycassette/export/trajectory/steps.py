"""A conversation: its steps, and the calls of models in it."""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal

import msgspec

from ptycassette.harness.provider.wire.neutral import Call, ToolResult
from ptycassette.harness.provider.wire.questions import AskedQuestion
from ptycassette.model.tape import TapeEntry


class Step(msgspec.Struct, kw_only=True):
    """Something that was said.

    Attributes:
        source: who said it. The results of tools belong to the step that called them.
        t_us: when it was complete, in microseconds since the start; None where it is not known.
        entry: of the tape, whose question or answer says it.
        copied: an answer of which only a later question tells: it was given before the recording.
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

    ``stop`` is why the answer ended, in the provider's word; None where it did not say.
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
    """The steps in order, the calls of models, and what is left out, with how often."""

    steps: list[Step]
    inferences: list[Inference]
    left_out: dict[str, int]

    @property
    def model(self) -> str | None:
        """The model that answered most often."""
        found = Counter(step.model for step in self.steps if step.model is not None)
        return next((model for model, _ in found.most_common(1)), None)
