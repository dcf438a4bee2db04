"""Asking a provider again that is busy or broken. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus

import msgspec

_FIRST_WAIT_S = 1.0
_MOST_WAIT_S = 60.0
_SERVER_ERROR = 500


class Retries(msgspec.Struct, frozen=True, kw_only=True):
    """What to do about requests that a provider does not answer.

    Attributes:
        times: how often the same request is sent again, at most.
        timeout_s: how long to wait for the head of an answer.
        fallback: a cassette whose answer to the same question is given in the end; empty for none.
    """

    times: int = 0
    timeout_s: float = 120.0
    fallback: str = ""


def may_be_asked_again(status: int) -> bool:
    """Whether an answer says that the same request may be answered later: 429 and 5xx."""
    return status == HTTPStatus.TOO_MANY_REQUESTS or status >= _SERVER_ERROR


def wait_s(retry_after: str | None, *, attempt: int, now: datetime) -> float:
    """Seconds to wait before asking again: as the provider says, else 1, 2, 4, ...; at most 60.

    Args:
        retry_after: the header of that name, a number of seconds or a date (RFC 9110, 10.2.3).
        attempt: how often it was asked, from 1.
        now: with a time zone.
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
    return min(wait, _MOST_WAIT_S) if wait > 0 else 0.0  # also of what is no number
