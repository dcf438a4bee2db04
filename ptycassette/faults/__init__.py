"""What can go wrong with a provider's answer, or at the terminal of a CLI: one class each.

``FAULTS`` has all of them by name. ``fork`` gives the real program those of the provider; the
stand-in gives a driver those of the terminal.
"""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .edited_questions import last_call as last_call
    from .edited_questions import with_model as with_model
    from .edited_questions import with_result as with_result
    from .fault import Fault as Fault
    from .fault import FaultSpec as FaultSpec
    from .provider import ProviderFault as ProviderFault
    from .registry import FAULTS as FAULTS
    from .registry import TERMINAL_FAULTS as TERMINAL_FAULTS
    from .registry import answer_fault as answer_fault
    from .registry import check_terminal as check_terminal
    from .registry import fault_lines as fault_lines
    from .registry import faults_json as faults_json
    from .registry import parse_fault as parse_fault
    from .registry import provider_fault as provider_fault
    from .registry import terminal_fault as terminal_fault
    from .scene import scene_of as scene_of
    from .terminal import End as End
    from .terminal import Show as Show
    from .terminal import TerminalFault as TerminalFault
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "edited_questions": "last_call with_model with_result",
            "fault": "Fault FaultSpec",
            "provider": "ProviderFault",
            "registry": (
                "FAULTS TERMINAL_FAULTS answer_fault check_terminal fault_lines faults_json "
                "parse_fault provider_fault terminal_fault"
            ),
            "scene": "scene_of",
            "terminal": "End Show TerminalFault",
        },
    )
