"""Which exchange of a recording caused its outcome: changed one by one, counted, judged."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .labels import Count as Count
    from .labels import Judged as Judged
    from .labels import JudgedStep as JudgedStep
    from .oracle import Oracle as Oracle
    from .report import BlameReport as BlameReport
    from .report import blame_json as blame_json
    from .report import blame_lines as blame_lines
    from .report import limits as limits
    from .runs import Ran as Ran
    from .steps import INTERVENTIONS as INTERVENTIONS
    from .steps import Intervention as Intervention
    from .steps import Step as Step
    from .validation import ValidationReport as ValidationReport
    from .validation import validation_json as validation_json
    from .validation import validation_lines as validation_lines
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "labels": "Count Judged JudgedStep",
            "oracle": "Oracle",
            "report": "BlameReport blame_json blame_lines limits",
            "runs": "Ran",
            "steps": "INTERVENTIONS Intervention Step",
            "validation": "ValidationReport validation_json validation_lines",
        },
    )
