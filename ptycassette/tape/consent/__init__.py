"""What may leave the machine while a tape is recorded: approval, budget, forbidden inputs."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._forbidden import UnsearchedBodyError as UnsearchedBodyError
    from ._forbidden import body_without as body_without
    from ._forbidden import search_body as search_body
    from ._prices import Prices as Prices
    from .judging import TermsGate as TermsGate
    from .terms import ANYWHERE as ANYWHERE
    from .terms import FORBIDDEN as FORBIDDEN
    from .terms import Approval as Approval
    from .terms import ApprovalNeededError as ApprovalNeededError
    from .terms import Limit as Limit
    from .terms import Terms as Terms
    from .terms import approved as approved
    from .terms import is_local as is_local
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "_forbidden": "UnsearchedBodyError body_without search_body",
            "_prices": "Prices",
            "judging": "TermsGate",
            "terms": "ANYWHERE FORBIDDEN Approval ApprovalNeededError Limit Terms approved "
            "is_local",
        },
    )
