"""Reading JSON that a client sent: strictly, with messages that name the field, or leniently."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, Literal, TypeVar

import msgspec

from ptycassette.harness.provider.wire.neutral import WireError
from ptycassette.model.resolved_types import resolved

_UNTOLD = frozenset({"", "thinking", "redacted_thinking", "reasoning"})
"""Types of blocks that are not even named where they have no text."""

UnknownFields = Literal["accept", "reject", "report"]
"""What becomes of a request with a top-level field that this fake does not know.

``accept``: it is named in the log; a name that is nearly that of a known field is a mistake, and
refused. ``report``: it is a problem, too. ``reject``: the request is refused.
"""
_LONGEST_NAME = 64
_MISTYPED = 0.85
"""How alike two names are, from 0 to 1, where one is a mistyped other."""

S = TypeVar("S", bound=msgspec.Struct)


def read(
    body: Any, kind: type[S], *, unknown_fields: UnknownFields = "reject"
) -> tuple[S, tuple[str, ...]]:
    """``body`` decoded as ``kind``, and the names of its unknown top-level fields.

    Args:
        body: decoded JSON.
        kind: a struct with ``forbid_unknown_fields``.
        unknown_fields: what becomes of such a field.

    Raises:
        WireError: not an object, a field missing or of the wrong type, or unknown fields.
    """
    if not isinstance(body, dict):
        raise WireError("the request body must be a JSON object")
    known = {field.encode_name for field in msgspec.structs.fields(kind)}
    unknown = tuple(sorted(set(body) - known))
    if unknown and unknown_fields == "reject":
        raise WireError(f"unknown request field: {', '.join(unknown)}")
    if unknown_fields == "accept":
        _refuse_mistyped(unknown, known)
    try:
        value = msgspec.convert({k: v for k, v in body.items() if k in known}, resolved(kind))
    except msgspec.ValidationError as wrong:
        raise WireError(str(wrong)) from wrong
    return value, unknown


def _refuse_mistyped(unknown: Iterable[str], known: Iterable[str]) -> None:
    """Refuse ``max_token`` and ``maxTokens``: a newer SDK names a new field otherwise."""
    plain = {name.replace("_", "").lower(): name for name in known}
    for name in unknown:
        if len(name) > _LONGEST_NAME:
            raise WireError(f"unknown request field: {name}")
        short = name.replace("_", "").lower()
        if meant := get_close_matches(short, plain, n=1, cutoff=_MISTYPED):
            raise WireError(f"unknown request field: {name} (did you mean {plain[meant[0]]}?)")


class Field(msgspec.Struct, frozen=True):
    """A value in a request, and where it is.

    What is not as the API has it is refused if ``strict``. If not, as much is read as can be.
    """

    value: Any
    where: str
    strict: bool = True

    def refuse(self, why: str) -> None:
        """Say that it is wrong.

        Raises:
            WireError: the reading is strict.
        """
        if self.strict:
            raise WireError(f"{self.where}{why}")

    def is_a(self, kind: type, called: str) -> bool:
        """Whether it is of a type; it is wrong if not."""
        if isinstance(self.value, kind):
            return True
        self.refuse(f": expected {called}")
        return False

    def get(self, name: str, default: Any = None) -> Field:
        """A field of an object."""
        found = self.value.get(name, default) if self.is_a(dict, "an object") else default
        return Field(found, f"{self.where}.{name}", self.strict)

    def word(self, name: str, default: str | None = None) -> str:
        """A string in an object; empty where there is none that must be."""
        found = self.get(name, default)
        return found.value if found.is_a(str, "a string") else ""

    def items(self) -> Iterator[Field]:
        """The objects in a list."""
        for number, value in enumerate(self.value if self.is_a(list, "a list") else ()):
            found = Field(value, f"{self.where}[{number}]", self.strict)
            if found.is_a(dict, "an object"):
                yield found

    def text(self, types: Mapping[str, str | None]) -> str:
        """The text of a content: a string, or a list of typed blocks.

        Args:
            types: block type -> the field that holds its text, or None where the
                block counts as ``[type]``. All others are wrong, and count so, too.
        """
        if isinstance(self.value, str) or self.value is None:
            return self.value or ""
        if isinstance(self.value, dict) and not self.strict:
            names = (name for name in ("parts", "text", "content") if self.value.get(name))
            return self.get(next(names, "text")).text(types)
        return joined(block.block_text(types) for block in self.items())

    def block_text(self, types: Mapping[str, str | None]) -> str:
        """The text of one typed block."""
        kind = self.word("type")
        if kind not in types:
            self.refuse(f".type: unknown block type {kind!r}")
        name = types.get(kind, "text" if "text" in self.value else None)
        if name is None:
            return "" if kind in _UNTOLD else f"[{kind}]"
        return self.word(name)


def joined(texts: Iterable[str]) -> str:
    """Texts, each on lines of its own."""
    return "\n".join(filter(None, texts))
