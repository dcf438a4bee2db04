"""Write rate limits as the providers report them: in response headers and in one WebSocket event.

Sources: Anthropic's API reference on rate limits (``anthropic-ratelimit-*``) and the headers that
Claude Code reads for subscriptions (``anthropic-ratelimit-unified-*``: utilisation as a fraction,
resets as epoch seconds); OpenAI's reference on rate limits (``x-ratelimit-*``, resets as
durations); Codex CLI's open source for ``x-codex-*`` (percent, window in minutes, reset as epoch
seconds) and the ``codex.rate_limits`` event.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Literal

import msgspec

from ptycassette.tape.providers.neutral import Api

_Status = Literal["allowed", "allowed_warning", "rejected"]


class _Checked(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the script."""


class CodexWindow(_Checked, frozen=True, kw_only=True):
    """A usage window of Codex."""

    used_percent: float
    window_minutes: int
    resets_in_s: int


class CodexCredits(_Checked, frozen=True, kw_only=True):
    """Credits of a Codex account."""

    has_credits: bool
    unlimited: bool = False
    balance: str | None = None


class CodexLimits(_Checked, frozen=True, kw_only=True):
    """The limits in ``x-codex-*``."""

    plan_type: str | None = None
    limit_name: str | None = None
    primary: CodexWindow | None = None
    secondary: CodexWindow | None = None
    credits: CodexCredits | None = None


class AnthropicWindow(_Checked, frozen=True, kw_only=True):
    """A usage window of an Anthropic subscription; ``utilization`` from 0 to 1."""

    utilization: float
    resets_in_s: int
    status: _Status = "allowed"


class Bucket(_Checked, frozen=True, kw_only=True):
    """A classic bucket: its size, the rest, and when it is full again."""

    limit: int
    remaining: int
    resets_in_s: int


class AnthropicLimits(_Checked, frozen=True, kw_only=True):
    """The limits in ``anthropic-ratelimit-*``."""

    status: _Status = "allowed"
    five_hour: AnthropicWindow | None = None
    seven_day: AnthropicWindow | None = None
    requests: Bucket | None = None
    tokens: Bucket | None = None
    input_tokens: Bucket | None = None
    output_tokens: Bucket | None = None


class OpenAILimits(_Checked, frozen=True, kw_only=True):
    """The limits in ``x-ratelimit-*``."""

    requests: Bucket | None = None
    tokens: Bucket | None = None


class RateLimits(_Checked, frozen=True, kw_only=True):
    """All limits of a script; each API reports its own."""

    anthropic: AnthropicLimits | None = None
    codex: CodexLimits | None = None
    openai: OpenAILimits | None = None


def limit_headers(limits: RateLimits, api: Api, now_s: int) -> dict[str, str]:
    """The headers in which ``api`` reports its limits.

    Args:
        limits: the limits in the script.
        api: the API of the answer.
        now_s: epoch second that ``resets_in_s`` counts from.
    """
    headers: dict[str, str] = {}
    if api == "anthropic" and limits.anthropic is not None:
        headers.update(_anthropic(limits.anthropic, now_s))
    if api == "responses" and limits.codex is not None:
        headers.update(_codex(limits.codex, now_s))
    if api in {"responses", "chat"} and limits.openai is not None:
        headers.update(_openai(limits.openai))
    return headers


def _anthropic(limits: AnthropicLimits, now_s: int) -> dict[str, str]:
    """Unified windows of subscriptions, and buckets of API keys."""
    headers: dict[str, str] = {}
    prefix = "anthropic-ratelimit"
    windows = {"5h": limits.five_hour, "7d": limits.seven_day}
    given = {name: window for name, window in windows.items() if window is not None}
    for name, window in given.items():
        headers[f"{prefix}-unified-{name}-status"] = window.status
        headers[f"{prefix}-unified-{name}-utilization"] = f"{window.utilization:g}"
        headers[f"{prefix}-unified-{name}-reset"] = str(now_s + window.resets_in_s)
    if given:
        claims = {"5h": "five_hour", "7d": "seven_day"}
        name, tightest = max(given.items(), key=lambda pair: pair[1].utilization)
        headers[f"{prefix}-unified-status"] = limits.status
        headers[f"{prefix}-unified-representative-claim"] = claims[name]
        headers[f"{prefix}-unified-reset"] = str(now_s + tightest.resets_in_s)
    buckets = {
        "requests": limits.requests,
        "tokens": limits.tokens,
        "input-tokens": limits.input_tokens,
        "output-tokens": limits.output_tokens,
    }
    for name, bucket in buckets.items():
        if bucket is not None:
            reset = datetime.fromtimestamp(now_s + bucket.resets_in_s, UTC)
            headers[f"{prefix}-{name}-limit"] = str(bucket.limit)
            headers[f"{prefix}-{name}-remaining"] = str(bucket.remaining)
            headers[f"{prefix}-{name}-reset"] = reset.strftime("%Y-%m-%dT%H:%M:%SZ")
    return headers


def _codex(limits: CodexLimits, now_s: int) -> dict[str, str]:
    headers: dict[str, str] = {}
    if limits.plan_type is not None:
        headers["x-codex-plan-type"] = limits.plan_type
    if limits.limit_name is not None:
        headers["x-codex-limit-name"] = limits.limit_name
    for name, window in (("primary", limits.primary), ("secondary", limits.secondary)):
        if window is not None:
            headers[f"x-codex-{name}-used-percent"] = f"{window.used_percent:g}"
            headers[f"x-codex-{name}-window-minutes"] = str(window.window_minutes)
            headers[f"x-codex-{name}-reset-at"] = str(now_s + window.resets_in_s)
    if limits.credits is not None:
        headers["x-codex-credits-has-credits"] = str(limits.credits.has_credits).lower()
        headers["x-codex-credits-unlimited"] = str(limits.credits.unlimited).lower()
        if limits.credits.balance is not None:
            headers["x-codex-credits-balance"] = limits.credits.balance
    return headers


def _openai(limits: OpenAILimits) -> dict[str, str]:
    """The headers of OpenAI's own API; resets are durations such as ``6m0s``."""
    headers: dict[str, str] = {}
    for name, bucket in (("requests", limits.requests), ("tokens", limits.tokens)):
        if bucket is not None:
            minutes, seconds = divmod(bucket.resets_in_s, 60)
            headers[f"x-ratelimit-limit-{name}"] = str(bucket.limit)
            headers[f"x-ratelimit-remaining-{name}"] = str(bucket.remaining)
            headers[f"x-ratelimit-reset-{name}"] = (
                f"{minutes}m{seconds}s" if minutes else (f"{seconds}s")
            )
    return headers


def codex_event(limits: RateLimits, now_s: int) -> dict[str, Any] | None:
    """The limits of ``x-codex-*`` as the event for a WebSocket; None without limits."""
    codex = limits.codex
    if codex is None:
        return None
    windows = {
        name: None
        if window is None
        else {
            "used_percent": window.used_percent,
            "window_minutes": window.window_minutes,
            "reset_at": now_s + window.resets_in_s,
        }
        for name, window in (("primary", codex.primary), ("secondary", codex.secondary))
    }
    reached = any(
        window is not None and window.used_percent >= 100
        for window in (codex.primary, codex.secondary)
    )
    event: dict[str, Any] = {
        "type": "codex.rate_limits",
        "plan_type": codex.plan_type,
        "rate_limits": {"allowed": not reached, "limit_reached": reached, **windows},
    }
    if codex.credits is not None:
        event["credits"] = msgspec.to_builtins(codex.credits)
    return event


# The requests of Codex to ChatGPT's own backend, if it is signed in with an account.


_UNROUTED = "NO_CONSTRAINT"
"""Only the origin that was asked."""


def account(account_id: str, plan_type: str) -> dict[str, Any]:
    """One personal workspace, with the id that the client sent."""
    entry = {
        "id": account_id,
        "plan_type": plan_type,
        "name": "Personal",
        "structure": "personal",
        "workspace_backend_origin": _UNROUTED,
        "account_routing_override": _UNROUTED,
    }
    return {
        "accounts": [entry],
        "account_ordering": [account_id],
        "default_account_id": account_id,
    }


def usage(limits: CodexLimits, now_s: int) -> dict[str, Any]:
    """The usage windows of an account."""
    windows = (limits.primary, limits.secondary)
    reached = any(window is not None and window.used_percent >= 100 for window in windows)
    credits_left = limits.credits and msgspec.to_builtins(limits.credits)
    return {
        "plan_type": limits.plan_type or "plus",
        "rate_limit": {
            "allowed": not reached,
            "limit_reached": reached,
            "primary_window": _window(limits.primary, now_s),
            "secondary_window": _window(limits.secondary, now_s),
        },
        "credits": credits_left,
    }


def _window(window: CodexWindow | None, now_s: int) -> dict[str, Any] | None:
    """One window; this backend counts in seconds and whole percents."""
    if window is None:
        return None
    return {
        "used_percent": round(window.used_percent),
        "limit_window_seconds": window.window_minutes * 60,
        "reset_after_seconds": window.resets_in_s,
        "reset_at": now_s + window.resets_in_s,
    }
