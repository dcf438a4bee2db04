"""The steps of a recording, and what is done to each of them. Pure.

A step is an exchange of the terminal, a request to a model with its answer, or a tool call of code
in ``use_tape``. An intervention is
a fork at the step with one change; beside it stands the control, the same fork without the change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from ptycassette.faults.registry import parse_fault
from ptycassette.fork.changes import Change
from ptycassette.fork.places import ForkPlace

Intervention = Literal["neutral", "drop", "swap", "tool-result", "sham"]

INTERVENTIONS: dict[str, str] = {
    "neutral": "a neutral text in place of the answer, or of what was typed",
    "drop": "an empty answer; nothing is typed",
    "tool-result": "the model is told a neutral text as the result of the tool",
    "swap": "the answer to the next request of this kind; what was typed next",
}
"""What is done to a step, in the order in which it is done."""

SHAM: Intervention = "sham"
"""Nothing is done to the step, and it is judged as if something was: for validation."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One step.

    Attributes:
        at: where it is forked.
        what: for people, without control characters.
        text: what was typed, without the Enter behind it; empty where that is no text. Of a tool
            call its result, as ``tool-result`` takes it.
        route: where a request went, or the name of the tool: only answers of one route can be
            swapped.
        tells_result: whether a request tells the model the result of a tool.
    """

    at: ForkPlace
    what: str
    text: str = ""
    route: str = ""
    tells_result: bool = False


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """A step and one intervention. ``control`` is what is done in the runs to compare with."""

    at: ForkPlace
    intervention: Intervention
    change: Change
    control: Change


def cells_of(
    steps: Sequence[Step],
    interventions: Sequence[Intervention],
    *,
    neutral: str,
    reads: bool,
) -> list[Cell]:
    """Everything that is done: each intervention at each step where it can be done.

    Args:
        steps: of the recording.
        interventions: the first one is done at all steps before the second one begins.
        neutral: the neutral text.
        reads: whether the tail reads the questions, so that a tool's result can matter to it.
    """
    made: list[Cell] = []
    for intervention in interventions:
        for number, step in enumerate(steps):
            others = [*steps[number + 1 :], *steps[:number]]
            change = _change(step, others, intervention, neutral)
            is_read = reads or intervention != "tool-result"
            if change is not None and is_read:
                control = Change(kind="ask" if intervention == "tool-result" else "none")
                made.append(
                    Cell(at=step.at, intervention=intervention, change=change, control=control)
                )
    return made


def _change(
    step: Step, others: Sequence[Step], intervention: Intervention, neutral: str
) -> Change | None:
    """The change; None where it cannot be made, or would be none."""
    if intervention == SHAM:
        return Change(kind="none")
    if step.at.kind == "tape":
        return _of_answer(step, others, intervention, neutral)
    if step.at.kind == "tool":
        return _of_tool(step, others, intervention, neutral)
    return _of_input(step, others, intervention, neutral)


def _of_answer(
    step: Step, others: Sequence[Step], intervention: Intervention, neutral: str
) -> Change | None:
    if intervention == "neutral":
        return Change(kind="response", value=neutral)
    if intervention == "drop":
        return Change.of(parse_fault("empty"))
    if intervention == "tool-result":
        return Change(kind="tool-result", value=neutral) if step.tells_result else None
    same = (one for one in others if one.at.kind == "tape" and one.route == step.route)
    other = next(same, None)
    return None if other is None else Change.parse(f"swap={other.at}")


def _of_tool(
    step: Step, others: Sequence[Step], intervention: Intervention, neutral: str
) -> Change | None:
    same = [one.text for one in others if (one.at.kind, one.route) == ("tool", step.route)]
    given = {"neutral": [neutral], "drop": [""], "swap": same}.get(intervention, [])
    text = next((one for one in given if one != step.text), None)
    return None if text is None else Change(kind="tool-result", value=text)


def _of_input(
    step: Step, others: Sequence[Step], intervention: Intervention, neutral: str
) -> Change | None:
    if intervention == "drop":
        return Change(kind="skip")
    texts = [neutral] if intervention == "neutral" else [one.text for one in others]
    if not step.text or intervention == "tool-result":
        return None
    text = next((one for one in texts if one not in {"", step.text}), "")
    return Change(kind="input", value=text) if text else None
