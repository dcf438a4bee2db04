"""All faults by name: parse ``NAME[:NUMBER][@K]``, and list them. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ptycassette.agents.faults.fault import MOST_S, Fault, FaultSpec, Scene
from ptycassette.agents.faults.provider import PROVIDER_FAULTS, ProviderFault
from ptycassette.agents.faults.terminal import SCREEN_FAULTS, STREAM_FAULTS, TerminalFault
from ptycassette.errors import UsageError
from ptycassette.keys.quantities import parse_time
from ptycassette.model.visible_text import visible

TERMINAL_FAULTS: dict[str, type[TerminalFault]] = {
    one.name: one for one in (*SCREEN_FAULTS, *STREAM_FAULTS)
}
FAULTS: dict[str, type[Fault]] = {
    **{one.name: one for one in PROVIDER_FAULTS},
    **TERMINAL_FAULTS,
}
"""Every fault."""
_MOST_STATUS = 255


def parse_fault(text: str) -> FaultSpec:
    """Read ``truncated``, ``stalled:5@2``, ``login-screen``.

    Raises:
        UsageError: there is no such fault, or a number is wrong.
    """
    front, sign, place = text.partition("@")
    name, colon, number = front.partition(":")
    kind = FAULTS.get(name)
    if kind is None or (colon and not kind.number):
        raise UsageError(
            f"{visible(text, limit=40)} is not a known fault", hint=f"one of {', '.join(FAULTS)}"
        )
    if sign and not (place.isascii() and place.isdigit() and 0 < int(place) < 10**9):
        raise UsageError(
            f"{visible(text, limit=40)}: add its place, such as {name}@2 for the second one"
        )
    value = _number(kind, number) if colon else kind.default
    return FaultSpec(name=name, text=front, value=value, at=int(place) if sign else None)


def _number(kind: type[Fault], text: str) -> float:
    if kind.number == "STATUS":
        if not (text.isascii() and text.isdigit() and int(text[:4]) <= _MOST_STATUS):
            raise UsageError(f"{visible(text, limit=40)} is not an exit status; write 0 to 255")
        return float(text)
    try:
        return parse_time(text, longest_s=MOST_S)
    except ValueError as exc:
        raise UsageError(f"{kind.name}: {exc}") from exc


def provider_fault(spec: FaultSpec) -> ProviderFault:
    """A fault of the provider.

    Raises:
        UsageError: it is a fault of the terminal.
    """
    kind = FAULTS[spec.name]
    if not issubclass(kind, ProviderFault):
        raise UsageError(
            f"{spec.name} is a fault of the terminal, which a driver meets",
            hint=f"ptycassette stand-in --fault {spec} CASSETTE, or pytest --ptycassette-faults",
        )
    return kind(spec)


def answer_fault(spec: FaultSpec) -> ProviderFault:
    """A fault of the provider that a recorded answer can have.

    Raises:
        UsageError: it is a fault of the terminal, or changes the question.
    """
    fault = provider_fault(spec)
    if fault.of_questions:
        raise UsageError(
            f"{spec.name} changes the request, but recorded answers do not depend on the request",
            hint=f"ask a provider: ptycassette fork --fault {spec} --tail fake CASSETTE, or in a"
            f" test use_tape(..., fork=TapeFork(fault='{spec}', tail='fake'))",
        )
    return fault


def terminal_fault(spec: FaultSpec, scene: Scene) -> TerminalFault:
    """A fault of the terminal, for one run.

    Raises:
        UsageError: it is a fault of the provider.
        NotFoundError: the recording has no such input.
    """
    check_terminal(spec)
    return TERMINAL_FAULTS[spec.name](spec, scene)


def check_terminal(spec: FaultSpec) -> None:
    """Refuse a fault that stand-ins do not support.

    Raises:
        UsageError: it is a fault of the provider.
    """
    if spec.name not in TERMINAL_FAULTS:
        raise UsageError(
            f"{spec.name} is a fault of the provider, and a recording that is played has none",
            hint=f"ptycassette fork --fault {spec} CASSETTE runs the real program with it,"
            " and so does a test in mode rerun",
        )


def faults_json() -> dict[str, Any]:
    """Every fault, as the documented JSON object."""
    faults = [
        {
            "name": kind.name,
            "of": "terminal" if kind.name in TERMINAL_FAULTS else "provider",
            "what": kind.what,
            "number": kind.number or None,
            "default": kind.default if kind.number else None,
            "fatal": bool(getattr(kind, "fatal", False)),
        }
        for kind in FAULTS.values()
    ]
    return {"faults": faults}


def fault_lines() -> Iterator[str]:
    """Every fault, for people."""
    width = max(len(_shown(kind)) for kind in FAULTS.values())
    yield "of the provider (fork --fault NAME@K, K a request of the tape; pytest in mode rerun):"
    yield from (f"  {_shown(kind):{width}}  {kind.what}" for kind in PROVIDER_FAULTS)
    yield "of the terminal (stand-in --fault NAME[@K], K an input; pytest --ptycassette-faults):"
    for kind in TERMINAL_FAULTS.values():
        yield f"  {_shown(kind):{width}}  {kind.what}{'; fatal' if kind.fatal else ''}"
    yield "A fatal one leaves a driver nothing but to say so; it can recover from all others."


def _shown(kind: type[Fault]) -> str:
    return f"{kind.name}[:{kind.number}]" if kind.number else kind.name
