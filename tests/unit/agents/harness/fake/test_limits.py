"""Rate limits in the words of each provider."""

from __future__ import annotations

from typing import Any

import pytest

START = 1767225600  # 2026-01-01T00:00:00Z, where the tests' clock stands
LIMITS = """
[limits.codex]
plan_type = "plus"
limit_name = "codex"
primary = { used_percent = 42.5, window_minutes = 300, resets_in_s = 60 }
secondary = { used_percent = 7, window_minutes = 10080, resets_in_s = 120 }
credits = { has_credits = true, balance = "5.00" }
[limits.anthropic]
status = "allowed_warning"
five_hour = { utilization = 0.25, resets_in_s = 60 }
seven_day = { utilization = 0.9, resets_in_s = 120, status = "allowed_warning" }
requests = { limit = 50, remaining = 49, resets_in_s = 30 }
[limits.openai]
requests = { limit = 500, remaining = 499, resets_in_s = 90 }
tokens = { limit = 1000, remaining = 1, resets_in_s = 5 }
[[replies]]
times = 0
text = "a"
"""
BODY = {"model": "m", "messages": [], "max_tokens": 1}
ASK = {"model": "m", "input": "x"}


SECOND = """
[limits.codex]
plan_type = "plus"
[[replies]]
text = "a"
limits.codex.secondary = { used_percent = 1, window_minutes = 2, resets_in_s = 3 }
"""


@pytest.mark.parametrize(
    ("script", "path", "body", "wanted"),
    [
        # Percent, minutes, epoch seconds; credits; and OpenAI's own besides.
        (LIMITS, "/v1/responses", ASK, {
            "x-codex-primary-used-percent": "42.5", "x-codex-secondary-window-minutes": "10080",
            "x-codex-primary-reset-at": str(START + 60), "x-codex-credits-balance": "5.00",
            "x-ratelimit-reset-requests": "1m30s",
        }),
        # A reply's own limits replace the script's.
        (SECOND, "/v1/responses", ASK,
         {"x-codex-plan-type": None, "x-codex-secondary-used-percent": "1"}),
        # The tightest window speaks for all; buckets reset at a time of day.
        (LIMITS, "/v1/messages", BODY, {
            "anthropic-ratelimit-unified-representative-claim": "seven_day",
            "anthropic-ratelimit-unified-5h-utilization": "0.25",
            "anthropic-ratelimit-unified-reset": str(START + 120),
            "anthropic-ratelimit-requests-reset": "2026-01-01T00:00:30Z",
            "x-codex-plan-type": None,
        }),
        # Durations, not times.
        (LIMITS, "/v1/chat/completions", {"model": "m", "messages": []},
         {"x-ratelimit-reset-tokens": "5s", "x-ratelimit-remaining-tokens": "1"}),
    ],
    ids=["codex", "of a reply", "anthropic", "openai"],
)  # fmt: skip
def test_limits_are_headers_of_answers(
    talk: Any, script: str, path: str, body: dict[str, Any], wanted: dict[str, str | None]
) -> None:
    """In the words of each provider."""
    headers = talk(script).ask(path, body).headers

    assert {name: headers.get(name) for name in wanted} == wanted


def test_a_chatgpt_account_tells_the_same_limits(talk: Any) -> None:
    """What Codex asks outside of answers: one workspace, and whole percents."""
    said = talk(LIMITS)
    account = said.json(said.ask("/backend-api/wham/accounts/check", chatgpt_account_id="a1"))
    usage = said.json(said.ask("/backend-api/wham/usage"))

    assert account["default_account_id"] == "a1"
    assert usage["rate_limit"]["primary_window"] == {
        "used_percent": 42,
        "limit_window_seconds": 18000,
        "reset_after_seconds": 60,
        "reset_at": START + 60,
    }
    assert usage["credits"] == {"has_credits": True, "unlimited": False, "balance": "5.00"}


def test_windows_that_are_not_scripted_are_null(talk: Any) -> None:
    """An account without windows and credits."""
    said = talk("[limits.codex]\nplan_type = 'free'")
    usage = said.json(said.ask("/backend-api/wham/usage"))

    assert usage["rate_limit"]["primary_window"] is None
    assert usage["credits"] is None
