"""Count runs against a budget, and divide the limit for a live provider among them. Pure."""

from __future__ import annotations

import msgspec

from ptycassette.errors import UsageError
from ptycassette.tape.consent.terms import Limit


class Meter:
    """Counts runs, and stops before the budget is exceeded.

    Args:
        limit: the highest number of runs.

    Attributes:
        used: how many runs were begun.
        refused: how many were refused.
    """

    def __init__(self, limit: int) -> None:
        self.limit, self.used, self.refused = limit, 0, 0

    def take(self) -> bool:
        """Whether one more run may begin; it then counts."""
        if self.used >= self.limit:
            self.refused += 1
            return False
        self.used += 1
        return True


def share(limit: Limit, runs: int) -> Limit:
    """The share of a limit for each of ``runs`` runs, so that all together stay below the limit.

    Raises:
        UsageError: there is no limit, or not one request for each run.
    """
    if limit == Limit():
        raise UsageError(
            "requests to a live provider need a limit",
            hint="set --max-requests, --max-tokens or --max-usd, for all runs together",
        )
    requests = None if limit.requests is None else limit.requests // runs
    tokens = None if limit.tokens is None else limit.tokens // runs
    if 0 in {requests, tokens}:
        raise UsageError(
            f"{limit.text} are less than one for each of {runs} runs",
            hint="set a smaller --budget, or a larger limit",
        )
    return msgspec.structs.replace(
        limit, requests=requests, tokens=tokens, usd=None if limit.usd is None else limit.usd / runs
    )
