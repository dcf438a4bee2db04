"""Time-coded assertions over screens, inputs, events and the end of a recording."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .drafting import draft_expectations as draft_expectations
    from .drafting import draft_scenario as draft_scenario
    from .drafting import repin_scenario as repin_scenario
    from .evaluation import CheckOutcome as CheckOutcome
    from .evaluation import ScenarioOutcome as ScenarioOutcome
    from .evaluation import check_scenario as check_scenario
    from .evaluation import outcome_lines as outcome_lines
    from .evidence import Evidence as Evidence
    from .model import TEMPORARY as TEMPORARY
    from .model import EnvironmentPolicy as EnvironmentPolicy
    from .model import Scenario as Scenario
    from .normalise import normaliser_of as normaliser_of
    from .reading import parse_scenario as parse_scenario
    from .reading import scenario_schema as scenario_schema
    from .strict_yaml import MAX_YAML_BYTES as MAX_YAML_BYTES
    from .strict_yaml import parse_yaml as parse_yaml
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "drafting": "draft_expectations draft_scenario repin_scenario",
            "evaluation": "CheckOutcome ScenarioOutcome check_scenario outcome_lines",
            "evidence": "Evidence",
            "model": "TEMPORARY EnvironmentPolicy Scenario",
            "normalise": "normaliser_of",
            "reading": "parse_scenario scenario_schema",
            "strict_yaml": "MAX_YAML_BYTES parse_yaml",
        },
    )
