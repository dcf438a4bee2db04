"""Time-coded assertions over screens, inputs, events and the end of a recording."""

from __future__ import annotations

from ptycassette._faces import loads_on_first_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ptycassette.scenario.drafting import draft_scenario, repin_scenario
    from ptycassette.scenario.evaluation import (
        CheckOutcome,
        ScenarioOutcome,
        check_scenario,
        outcome_lines,
    )
    from ptycassette.scenario.evidence import Evidence
    from ptycassette.scenario.model import TEMPORARY, EnvironmentPolicy, Scenario
    from ptycassette.scenario.normalise import normaliser_of
    from ptycassette.scenario.reading import parse_scenario, scenario_schema
    from ptycassette.scenario.strict_yaml import MAX_YAML_BYTES, parse_yaml
else:
    __getattr__ = loads_on_first_use(
        __name__,
        {
            "drafting": ("draft_scenario", "repin_scenario"),
            "evaluation": ("CheckOutcome", "ScenarioOutcome", "check_scenario", "outcome_lines"),
            "evidence": ("Evidence",),
            "model": ("TEMPORARY", "EnvironmentPolicy", "Scenario"),
            "normalise": ("normaliser_of",),
            "reading": ("parse_scenario", "scenario_schema"),
            "strict_yaml": ("MAX_YAML_BYTES", "parse_yaml"),
        },
    )

__all__ = [
    "MAX_YAML_BYTES",
    "TEMPORARY",
    "CheckOutcome",
    "EnvironmentPolicy",
    "Evidence",
    "Scenario",
    "ScenarioOutcome",
    "check_scenario",
    "draft_scenario",
    "normaliser_of",
    "outcome_lines",
    "parse_scenario",
    "parse_yaml",
    "repin_scenario",
    "scenario_schema",
]
