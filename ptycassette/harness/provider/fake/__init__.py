"""The scripted provider: scripts, choice of replies, planned answers. No sockets, no clocks."""

from __future__ import annotations

from ptycassette._faces import loads_on_first_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ptycassette.harness.provider.fake.body import MAX_BODY_BYTES, too_large, unpacked
    from ptycassette.harness.provider.fake.engine import FakeProvider
    from ptycassette.harness.provider.fake.exchange import (
        AnswerPart,
        HttpRequest,
        PlannedAnswer,
        withheld_values,
    )
    from ptycassette.harness.provider.fake.script import Script
else:
    __getattr__ = loads_on_first_use(
        __name__,
        {
            "body": ("MAX_BODY_BYTES", "too_large", "unpacked"),
            "engine": ("FakeProvider",),
            "exchange": ("AnswerPart", "PlannedAnswer", "HttpRequest", "withheld_values"),
            "script": ("Script",),
        },
    )

__all__ = [
    "MAX_BODY_BYTES",
    "AnswerPart",
    "FakeProvider",
    "HttpRequest",
    "PlannedAnswer",
    "Script",
    "too_large",
    "unpacked",
    "withheld_values",
]
