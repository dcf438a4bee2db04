"""How long to wait before a provider is asked again."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from ptycassette.tape.retries import may_be_asked_again, wait_s

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("retry_after", "attempt", "seconds"),
    [
        (None, 1, 1),
        (None, 3, 4),
        (None, 40, 60),
        ("3", 1, 3),
        ("0.5", 2, 0.5),
        ("-4", 1, 0),
        ("nan", 1, 0),
        ("inf", 1, 60),
        ("86400", 1, 60),
        ("Thu, 01 Jan 2026 00:00:07 GMT", 1, 7),
        ("Thu, 01 Jan 2026 00:00:07 -0000", 1, 7),
        ("Wed, 31 Dec 2025 00:00:00 GMT", 1, 0),
        ("soon", 2, 2),
    ],
)
def test_the_wait_is_what_the_provider_says_and_bounded(
    retry_after: str | None, attempt: int, seconds: float
) -> None:
    """Without its word it doubles."""
    assert wait_s(retry_after, attempt=attempt, now=NOW) == seconds


def test_only_what_may_be_answered_later_is_asked_again() -> None:
    """The other errors are the client's."""
    assert [one for one in (200, 400, 401, 404, 429, 500, 503, 529) if may_be_asked_again(one)] == [
        429,
        500,
        503,
        529,
    ]
