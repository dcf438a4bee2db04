"""A scenario: refused as wrong usage, or checked against a recording, and told in plain text."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from fuzz.plain import is_plain
from ptycassette.cassette.io.reader import open_cassette
from ptycassette.errors import UsageError
from ptycassette.replaying.scenario.evaluation import check_scenario, outcome_lines, parse_scenario
from ptycassette.replaying.scenario.predicate import Evidence

_CASSETTE = Path(__file__).resolve().parents[2] / "fixtures" / "v1" / "awkward"


@cache
def _evidence() -> Evidence:
    with open_cassette(_CASSETTE) as cassette:
        events = list(cassette.events())
        return Evidence(cassette.manifest, lambda: events, ())


def check(data: bytes) -> None:
    """Read it and judge the recording by it."""
    try:
        outcome = check_scenario(parse_scenario(data, where="fuzz", bound=False), _evidence())
    except UsageError as exc:
        assert is_plain(str(exc)), "the error acts on a terminal"
        return
    assert is_plain("\n".join(outcome_lines(outcome))), "what is told acts on a terminal"
