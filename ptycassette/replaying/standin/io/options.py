"""The options of a stand-in, from its arguments: one table for parser, help and shim."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from ptycassette.cassette.timeline.match import (
    DEFAULT_THRESHOLD,
    Matching,
    SecretsPolicy,
    secrets_named,
)
from ptycassette.errors import UsageError
from ptycassette.model.resolved_types import resolved
from ptycassette.replaying.io.modes import comparison_in_force, resolve_secrets
from ptycassette.replaying.standin.comparison import StandinOptions
from ptycassette.scrub.io.conceal import concealed


class Option(NamedTuple):
    """One option: its name, what its value is called ("" for a flag), and its help."""

    name: str
    value: str
    help: str


STANDIN_OPTIONS: tuple[Option, ...] = (
    Option("--match", "STRATEGY", "Compare inputs by exact, prompt (default), normalised, semantic "
           "or any; N=STRATEGY for input N alone. Repeatable."),
    Option("--hooks", "FILE", "Run this Python file; its matches(sent, recorded) compares inputs "
           "instead of --match."),
    Option("--order", "ORDER", "Require the recorded order of exchanges (strict, default), or "
           "allow another one (loose)."),
    Option("--secrets", "HOW", "Require the recorded value of a typed secret if it is known (same, "
           "default), or accept any value (any). Also: PTYCASSETTE_SECRETS."),
    Option("--threshold", "SCORE", "Require this similarity (0 to 1) for semantic. Default: "
           f"{DEFAULT_THRESHOLD}."),
    Option("--speed", "FACTOR", "Play in time, FACTOR times faster than recorded. Default: do not "
           "wait for recorded pauses."),
    Option("--lenient", "", "Continue after a divergence; it is still reported."),
    Option("--report", "PATH", "Write the report to PATH; a directory gets one report per process. "
           "Also: PTYCASSETTE_REPORT."),
    Option("--input-timeout", "TIME", "Wait at most TIME (90, 1.5s, 2m) for the driver to act; 0 "
           "waits forever. Default: 60 s."),
    Option("--timing-tolerance", "TIME", "Diverge if the pause before an input differs by more "
           "than TIME; a plain number counts milliseconds."),
    Option("--ignore-size", "", "Play at any terminal size."),
    Option("--expect-id", "ID", "Refuse any cassette but the one with this id."),
    Option("--expect-sha256", "DIGEST", "Refuse a cassette whose output has another digest."),
    Option("--allow-unscrubbed", "", "Also play a cassette that was recorded without scrubbing."),
    Option("--newlines", "HOW", "Over pipes: turn CR LF into LF (unix, default for a recording at "
           "a terminal), or keep it (recorded)."),
    Option("--fault", "NAME[@K]", "Let this go wrong at input K, for example enter-dropped@2 "
           "(PTYCASSETTE_FAULT). List: ptycassette fork --list-faults."),
    Option("--name", "NAME", "Use NAME for this run in reports."),
)  # fmt: skip
_BY_NAME = {option.name: option for option in STANDIN_OPTIONS}


class StandinArguments(StandinOptions, frozen=True, kw_only=True):
    """The arguments of a stand-in. ``argv`` is its own command line, for reports."""

    cassette: str
    argv: tuple[str, ...] = ()
    matches: tuple[str, ...] = ()
    hooks: str = ""
    order: str = "strict"
    secrets: str = ""
    threshold: float = DEFAULT_THRESHOLD
    report: str = ""
    ignore_size: bool = False
    expect_id: str | None = None
    expect_sha256: str | None = None
    allow_unscrubbed: bool = False
    newlines: str = "auto"
    fault: str = ""
    name: str = ""

    @property
    def secrets_compared(self) -> SecretsPolicy:
        """How secrets are compared: by the option, else by the environment.

        Raises:
            UsageError: the value of either is unknown.
        """
        try:
            return secrets_named(self.secrets) if self.secrets else resolve_secrets(os.environ)
        except ValueError as exc:
            raise UsageError(f"--secrets: {exc}") from exc

    def matching(self) -> Matching:
        """How input is compared.

        Raises:
            UsageError: an unknown strategy or order, or an invalid number.
        """
        strategy, per_entry = "", {}
        try:
            for word in self.matches:
                number, equals, named = word.rpartition("=")
                if equals:
                    per_entry[int(number)] = named
                else:
                    strategy = word
            return Matching(
                comparison_in_force(strategy),
                same=self._custom(),
                per_entry=per_entry,
                threshold=self.threshold,
                order=self.order,
                conceal=concealed,
                secrets=self.secrets_compared,
            )
        except ValueError as exc:
            raise UsageError(
                f"--match, --order: {exc}",
                hint="write --match prompt, or --match 3=any; --order strict, or loose",
            ) from exc

    def _custom(self) -> Callable[[str, str], bool] | None:
        if not self.hooks:
            return None
        from ptycassette.recording.io.hooks_file import load_hooks  # noqa: PLC0415 - few need it

        return load_hooks(self.hooks).matches


def parse_settings(args: Sequence[str], *, report: str = "") -> StandinArguments:
    """Read ``[OPTIONS] CASSETTE [-- ARGV...]``.

    Args:
        args: the words.
        report: where the report goes without an option.

    Raises:
        UsageError: an unknown option, a missing value, no cassette.
    """
    values: dict[str, object] = {"report": report}
    matches: list[str] = []
    words = list(args)
    while words and words[0].startswith("--") and words[0] != "--":
        name, equals, value = words.pop(0).partition("=")
        option = _BY_NAME.get(name)
        if option is None:
            raise UsageError(
                f"no such option: {name}", hint=f"options are {', '.join(sorted(_BY_NAME))}"
            )
        if option.value and not equals:
            if not words:
                raise UsageError(f"{name} needs a value", hint=option.help)
            value = words.pop(0)
        if name == "--match":
            matches.append(value)
        else:
            values.update(_converted(option, value))
    if not words or words[0] == "--":
        raise UsageError(
            "CASSETTE is missing", hint="write: ptycassette stand-in CASSETTE [-- ARGV]"
        )
    cassette, *rest = words
    if rest and rest[0] != "--":
        ours = rest[0].partition("=")[0] in _BY_NAME
        raise UsageError(
            f"unexpected argument {rest[0]!r}",
            hint="options of stand-in come before the cassette"
            if ours
            else "put the recorded program's own behind --",
        )
    return msgspec.convert(
        {**values, "cassette": cassette, "argv": rest[1:], "matches": matches},
        resolved(StandinArguments),
    )


def _converted(option: Option, value: str) -> dict[str, object]:
    """The fields that an option sets."""
    key = option.name.removeprefix("--").replace("-", "_")
    if not option.value:
        return {key: True}
    match option.name:
        case "--threshold":
            return {key: _number(option, value)}
        case "--speed":
            return {"mode": "scaled", "scale": 1 / _number(option, value)}
        case "--input-timeout":
            return {"input_timeout_us": round(_seconds(option, value) * 1e6) or None}
        case "--timing-tolerance":
            return {"timing_tolerance_us": round(_seconds(option, value, unit="ms") * 1e6)}
        case "--newlines" if value not in {"unix", "recorded"}:
            raise UsageError(f"--newlines is unix or recorded, not {value!r}")
        case _:
            return {key: value}


def _seconds(option: Option, value: str, *, unit: str = "s") -> float:
    from ptycassette.keys.quantities import parse_time  # noqa: PLC0415 - few give a time

    try:
        return parse_time(value, unit=unit)
    except ValueError as exc:
        raise UsageError(f"{option.name}: {exc}") from exc


def _number(option: Option, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not 0 < number < 1e9:
        raise UsageError(f"{option.name}: {value!r} is not a number that makes sense here")
    return number
