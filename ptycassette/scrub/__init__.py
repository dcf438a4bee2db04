"""Removes secrets from sessions: rules, views, known values, replacement, verification.

Its one public name loads on first use: who only asks what was declared secret needs no rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ptycassette.scrub.default import default_scrubber

__all__ = ["default_scrubber"]


def __getattr__(name: str) -> Any:
    """Load it (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ptycassette.scrub import default  # noqa: PLC0415 - on first use

    return getattr(default, name)
