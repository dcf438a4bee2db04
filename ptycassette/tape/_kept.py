"""What of a head is kept: which headers, and which parts of a target.

A header is kept when it is on the list, because nobody can say of unknown ones that they hold no
credential. What is not kept is shown to the scrubber, which removes secrets of it elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_OF_REQUESTS = """
accept content-type openai-beta anthropic-version anthropic-beta x-app originator version user-agent
x-goog-api-client x-api-version x-initiator idempotency-key session_id session-id conversation_id
x-client-request-id x-session-id x-session-affinity sec-websocket-protocol sec-websocket-version
x-openai-subagent
"""
_OF_ANSWERS = """
cache-control retry-after retry-after-ms x-should-retry request-id x-request-id openai-model
openai-version openai-processing-ms date location server-timing x-reasoning-included x-models-etag
etag sec-websocket-accept content-length sec-websocket-extensions
"""
_NAMES = frozenset((_OF_REQUESTS + _OF_ANSWERS).split())
_PREFIXES = ("x-stainless-", "x-ratelimit-", "anthropic-ratelimit-", "x-codex-", "x-gemini-")
_SECRET = re.compile(
    r"(?i)(?<=[?&])((?:api[_-]?)?key|access[_-]?token|(?:auth|id|refresh)[_-]?token|token|sig"
    r"|signature|code|x-amz-(?:signature|credential|security-token))=([^&#]+)"
)

_MASK = "x" * 8

Headers = tuple[tuple[str, str], ...]


def kept_headers(headers: Iterable[tuple[str, str]]) -> tuple[Headers, tuple[str, ...]]:
    """The headers that are kept, and the lines of the others."""
    kept, dropped = [], []
    for name, value in headers:
        if name in _NAMES or name.startswith(_PREFIXES):
            kept.append((name, value))
        else:
            dropped.append(f"{name}: {value}")
    return tuple(kept), tuple(dropped)


def kept_target(target: str) -> tuple[str, tuple[str, ...]]:
    """A target with credentials in its query masked, and these.

    What is called a key is one, whatever it looks like. The mask is the same for all, so that a
    replay's target is kept as the recorded one was.
    """
    secrets = tuple(f"{match[1]}={match[2]}" for match in _SECRET.finditer(target))
    return _SECRET.sub(lambda match: f"{match[1]}={_MASK}", target), secrets
