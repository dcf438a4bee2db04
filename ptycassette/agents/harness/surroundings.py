"""Compare everything that a recording depended on, besides input, with the situation now.

Two sets of facts are compared: those in a cassette, and those of this machine or of a newer
cassette. Each difference has a *cause* from a fixed list. A fact that a cassette does not have is
reported as not recorded, never as unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum

import msgspec

from ptycassette.model.records import same_version


class DriftStatus(StrEnum):
    """The result for one cause."""

    SAME = "same"
    CHANGED = "changed"
    NOT_RECORDED = "not-recorded"
    """The cassette does not have the fact."""
    NOT_KNOWN = "not-known"
    """The fact is not known on this machine; the hint explains how to find out."""


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """Facts; None if nothing is known. Sets are sorted.

    Attributes:
        binary: the digest of the program's real path.
        version: the version line of the program; for code in ``use_tape`` its Python version.
        models, modes, features: what the program offers.
        asked: the requested models; for now, those of them that still exist.
        platform: system and architecture.
        term, locale, size, emulator: facts about the terminal.
        variables: names of the environment variables that it was given.
        rules: the digest of the rules that match the tape.
        recorder: the version of the recorder.
        served: the model that answered for each requested model.
        statuses: the statuses of the provider's answers.
        events: the kinds of events in them.
        asked_features: the features of requests: the keys of their bodies, and the tools in them.
        asked_headers: headers of requests, with their values if these name software or an API.
        answer_headers: headers of answers, in the same way.
        unknown: why facts are not known, by the name of their cause.
    """

    binary: str | None = None
    version: str | None = None
    models: tuple[str, ...] | None = None
    asked: tuple[str, ...] | None = None
    modes: tuple[str, ...] | None = None
    features: tuple[str, ...] | None = None
    platform: str | None = None
    term: str | None = None
    locale: str | None = None
    size: str | None = None
    emulator: str | None = None
    variables: tuple[str, ...] | None = None
    rules: str | None = None
    recorder: str | None = None
    served: tuple[str, ...] | None = None
    statuses: tuple[str, ...] | None = None
    events: tuple[str, ...] | None = None
    asked_features: tuple[str, ...] | None = None
    asked_headers: tuple[str, ...] | None = None
    answer_headers: tuple[str, ...] | None = None
    unknown: Mapping[str, str] = {}


class DriftCause(msgspec.Struct, frozen=True, kw_only=True):
    """One cause: the recorded fact, and the present one; "" if it is not known."""

    cause: str
    status: DriftStatus
    recorded: str = ""
    now: str = ""
    hint: str | None = None


Fact = str | tuple[str, ...] | None
_ASK = "ask with --versions"
_MODELS = "ask with --models, or name a newer recording with --now"
_PROBE = "ptycassette probe asks it; or name a newer recording with --now"
_RECORD = "record it again with its tape, and name that with --now"
_CAUSES: tuple[tuple[str, Callable[[Surroundings], Fact], str | None], ...] = (
    ("binary", lambda one: one.binary, "it is not installed, or not in PATH"),
    ("version", lambda one: one.version, _ASK),
    ("models", lambda one: one.models, _MODELS),
    ("asked-models", lambda one: one.asked, _MODELS),
    ("permission-modes", lambda one: one.modes, _PROBE),
    ("features", lambda one: one.features, _PROBE),
    ("platform", lambda one: one.platform, None),
    ("term", lambda one: one.term, None),
    ("locale", lambda one: one.locale, None),
    ("size", lambda one: one.size, None),
    ("emulator", lambda one: one.emulator, None),
    ("environment", lambda one: one.variables, None),
    ("tape-rules", lambda one: one.rules, None),
    ("recorder", lambda one: one.recorder, None),
    ("provider-models", lambda one: one.served, _RECORD),
    ("provider-statuses", lambda one: one.statuses, _RECORD),
    ("provider-events", lambda one: one.events, _RECORD),
    ("provider-headers", lambda one: one.answer_headers, _RECORD),
    ("request-features", lambda one: one.asked_features, _RECORD),
    ("request-headers", lambda one: one.asked_headers, _RECORD),
)
CAUSES = (*(name for name, _, _ in _CAUSES), "age", "settings")
"""Every cause, in the order of the report."""


def compared(recorded: Surroundings, now: Surroundings) -> Iterator[DriftCause]:
    """All causes except the last two, which are not comparisons."""
    for name, fact, hint in _CAUSES:
        yield _compared(name, fact(recorded), fact(now), now.unknown.get(name, hint))


def _compared(cause: str, old: Fact, new: Fact, hint: str | None) -> DriftCause:
    if old is None:
        status = DriftStatus.NOT_RECORDED
        return DriftCause(cause=cause, status=status, now=_text(new))
    if new is None:
        status = DriftStatus.NOT_KNOWN
        return DriftCause(cause=cause, status=status, recorded=_text(old), hint=hint)
    if old == new or (cause == "version" and same_version(str(old), str(new))):
        return DriftCause(cause=cause, status=DriftStatus.SAME, recorded=_text(old), now=_text(new))
    if isinstance(old, tuple) and isinstance(new, tuple):
        gone, added = sorted(set(old) - set(new)), sorted(set(new) - set(old))
        return DriftCause(
            cause=cause,
            status=DriftStatus.CHANGED,
            recorded=f"also {_text(tuple(gone)) or 'nothing'}",
            now=f"also {_text(tuple(added)) or 'nothing'}",
        )
    return DriftCause(cause=cause, status=DriftStatus.CHANGED, recorded=_text(old), now=_text(new))


def _text(fact: Fact) -> str:
    return ", ".join(fact) if isinstance(fact, tuple) else fact or ""


def settings_cause() -> DriftCause:
    """The program's own settings, which a cassette never contains."""
    return DriftCause(
        cause="settings",
        status=DriftStatus.NOT_RECORDED,
        hint="files with settings are not part of a recording",
    )


def age_cause(problem: str | None, window: str | None) -> DriftCause:
    """Whether the recording is older than its own limit.

    Args:
        problem: why it must no longer be trusted.
        window: how long it is valid; None if it has no limit.
    """
    if window is None:
        return DriftCause(cause="age", status=DriftStatus.NOT_RECORDED)
    status = DriftStatus.SAME if problem is None else DriftStatus.CHANGED
    return DriftCause(cause="age", status=status, recorded=window, now=problem or "")
