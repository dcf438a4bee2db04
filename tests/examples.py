"""How many examples a law is tried with: all in ``make test-all``, a quarter in ``make test``.

``make laws`` takes four times as many as ``make test-all``, and new ones each time.
"""

from __future__ import annotations

from hypothesis import settings

__all__ = ["examples"]


def examples(count: int) -> settings:
    """Settings of a law: ``count`` examples where the profile has a hundred, else as many fewer."""
    return settings(max_examples=max(5, count * settings.default.max_examples // 100))
