"""Blaming: the runs, the oracle, and the validation with planted causes."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .blaming import NEUTRAL as NEUTRAL
    from .blaming import BlamedCode as BlamedCode
    from .blaming import BlameOptions as BlameOptions
    from .blaming import blame as blame
    from .oracles import exit_text as exit_text
    from .oracles import text_outcome as text_outcome
    from .reading_steps import steps_of as steps_of
    from .running import Job as Job
    from .running import run_job as run_job
    from .validating import validate as validate
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "blaming": "NEUTRAL BlamedCode BlameOptions blame",
            "oracles": "exit_text text_outcome",
            "reading_steps": "steps_of",
            "running": "Job run_job",
            "validating": "validate",
        },
    )
