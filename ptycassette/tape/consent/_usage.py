"""Tokens that an answer says it used, in the words of each API, read while it passes.

========= ==========================================================================
Anthropic ``usage`` of the message, which grows: ``message_start``, ``message_delta``
OpenAI    ``usage`` of the chunk or response; ``response.completed`` holds the response
Gemini    ``usageMetadata`` of each chunk, which grows
========= ==========================================================================

https://docs.anthropic.com/en/api/messages-streaming,
https://platform.openai.com/docs/api-reference/responses-streaming,
https://ai.google.dev/api/generate-content#UsageMetadata
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ptycassette.tape.consent._unpacking import UnpackedStream

__all__ = ["Usage", "UsageReader"]

_INPUT = (
    ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"),
    ("prompt_tokens",),
    ("promptTokenCount", "toolUsePromptTokenCount"),
)
_OUTPUT = (
    ("output_tokens",),
    ("completion_tokens",),
    ("candidatesTokenCount", "thoughtsTokenCount"),
)
MAX_KEPT_BYTES = 16 << 20
"""Of an answer that is one document."""


class Usage(msgspec.Struct, frozen=True):
    """Tokens in and out, the cached ones among them; and the id of a response that can be named."""

    input: int = 0
    output: int = 0
    response: str = ""

    @property
    def total(self) -> int:
        """Both."""
        return self.input + self.output


class UsageReader:
    """Reads one answer as it passes.

    Args:
        packing: its content encoding.
    """

    def __init__(self, packing: str) -> None:
        self._stream = UnpackedStream(packing)
        self._kept = bytearray()
        self._lines = False
        self.usage: Usage | None = None
        """The latest that was said; None as long as nothing was, or it cannot be read."""

    def feed(self, data: bytes) -> None:
        """Take a piece of the answer."""
        self._kept += self._stream.feed(data)
        self._lines = self._lines or self._kept.startswith((b"data:", b"event:", b":"))
        if self._lines:
            *lines, rest = bytes(self._kept).split(b"\n")
            self._kept = bytearray(rest)
            for line in lines:
                if line.startswith(b"data:") and b"sage" in line:
                    self.message(line[len(b"data:") :])
        if len(self._kept) > MAX_KEPT_BYTES:
            self._kept.clear()

    def finish(self) -> None:
        """Note the end of the answer."""
        if self._kept and not self._lines:
            self.message(bytes(self._kept))
        self._kept.clear()

    def message(self, data: bytes) -> None:
        """Take a whole message."""
        try:
            value = msgspec.json.decode(data)
        except (msgspec.DecodeError, RecursionError):
            return
        for one in value if isinstance(value, list) else (value,):
            self._take(one)

    def _take(self, value: Any) -> None:
        if not isinstance(value, Mapping):
            return
        for holder in (value, value.get("message"), value.get("response")):
            if not isinstance(holder, Mapping):
                continue
            said = holder.get("usage") or holder.get("usageMetadata")
            if isinstance(said, Mapping):
                old = self.usage or Usage()
                name = holder.get("id")
                self.usage = Usage(
                    max(old.input, _sum(said, _INPUT)),
                    max(old.output, _sum(said, _OUTPUT)),
                    name if isinstance(name, str) else old.response,
                )


def _sum(said: Mapping[str, Any], words: tuple[tuple[str, ...], ...]) -> int:
    counts = [
        sum(one for name in names if isinstance(one := said.get(name), int)) for names in words
    ]
    return max(counts)
