"""The requests of Codex to ChatGPT's own backend, if it is signed in with an account.

Sources: Codex CLI's open source (account and rate-limit clients) and the requests
of a running one: ``GET /backend-api/wham/accounts/check`` decides which
workspace is used, ``GET /backend-api/wham/usage`` fills the limits of
``/status``. Codex takes both only from an HTTPS origin.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ptycassette.harness.provider.fake._limits import CodexLimits, CodexWindow

_UNROUTED = "NO_CONSTRAINT"
"""No other origin than the one that was asked."""


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
