"""Decide when to ask a busy or broken provider again. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus

import msgspec

_FIRST_WAIT_S = 1.0
_MOST_WAIT_S = 60.0
_SERVER_ERROR = 500


class Retries(msgspec.Struct, frozen=True, kw_only=True):
    """How to repeat requests that a provider does not answer.

    Attributes:
        times: how often the same request is repeated at most.
        timeout_s: how long to wait for the head of an answer.
        fallback: a cassette whose answer to the same question is used last; empty for no fallback.
    """

    times: int = 0
    timeout_s: float = 120.0
    fallback: str = ""


def may_be_asked_again(status: int) -> bool:
    """Whether a repeated request may succeed after this status: 429 and 5xx."""
    return status == HTTPStatus.TOO_MANY_REQUESTS or status >= _SERVER_ERROR


def wait_s(retry_after: str | None, *, attempt: int, now: datetime) -> float:
    """Seconds to wait before the next attempt: the provider's value, else 1, 2, 4, ...; at most 60.

    Args:
        retry_after: the header ``Retry-After``, a number of seconds or a date (RFC 9110, 10.2.3).
        attempt: the number of attempts so far, from 1.
        now: the current time, with a time zone.
    """
    wait: float = _FIRST_WAIT_S * 2 ** min(attempt - 1, 10)
    if retry_after is not None:
        try:
            wait = float(retry_after)
        except ValueError:
            try:
                moment = parsedate_to_datetime(retry_after)
            except ValueError:
                return min(wait, _MOST_WAIT_S)
            wait = (moment.replace(tzinfo=moment.tzinfo or UTC) - now).total_seconds()
    return min(wait, _MOST_WAIT_S) if wait > 0 else 0.0  # also if it is not a number
