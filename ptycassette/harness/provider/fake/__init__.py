"""The scripted provider: scripts, choice of replies, planned answers. No sockets, no clocks."""

from ptycassette.harness.provider.fake.engine import FakeProvider
from ptycassette.harness.provider.fake.exchange import (
    AnswerPart,
    Exchange,
    HttpRequest,
    withheld_values,
)
from ptycassette.harness.provider.fake.script import Script

__all__ = ["AnswerPart", "Exchange", "FakeProvider", "HttpRequest", "Script", "withheld_values"]
