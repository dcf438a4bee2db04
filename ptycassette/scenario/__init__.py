"""Time-coded assertions over screens, inputs, events and the end of a recording."""

from ptycassette.scenario.drafting import draft_scenario, repin_scenario
from ptycassette.scenario.evaluation import (
    CheckOutcome,
    ScenarioOutcome,
    check_scenario,
    outcome_lines,
)
from ptycassette.scenario.evidence import Evidence
from ptycassette.scenario.model import Scenario
from ptycassette.scenario.reading import parse_scenario, scenario_schema

__all__ = [
    "CheckOutcome",
    "Evidence",
    "Scenario",
    "ScenarioOutcome",
    "check_scenario",
    "draft_scenario",
    "outcome_lines",
    "parse_scenario",
    "repin_scenario",
    "scenario_schema",
]
