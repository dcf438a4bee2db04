"""JSON values: every string in them, keys included, and strings that only together say something.

A stream of deltas (``{"delta": {"text": "sk-"}}``, ``{"delta": {"text":
"ant-"}}``) carries one message in many events. The strings at one place of
consecutive payloads are therefore also searched as one text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ptycassette.scrub.canonical import canonical
from ptycassette.scrub.views import PiecewiseView

__all__ = ["Joined", "rewrite", "strings_of"]

_KEPT = 4096
_FLUSH = 32768
_MOST_PLACES = 4096
_TELLS_APART = ("index", "output_index", "content_index", "item_id", "id", "call_id", "type")


def strings_of(value: Any, *, place: str = "") -> Iterator[tuple[str, str]]:
    """(place, string) for every string in ``value``, in the order in which ``rewrite`` meets them.

    The place is the path of keys, with list positions left out; a key has the place ``""``.
    """
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, dict):
        told = "".join(
            f"[{value[key]}]" for key in _TELLS_APART if isinstance(value.get(key), (str, int))
        )
        for key, item in value.items():
            if isinstance(key, str):
                yield "", key
            yield from strings_of(item, place=f"{place}{told}.{key}")
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from strings_of(item, place=f"{place}[]")


def rewrite(value: Any, change: Callable[[str], str]) -> Any:
    """``value`` with every string in it, keys included, replaced by ``change`` of it."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {
            change(key) if isinstance(key, str) else key: rewrite(item, change)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return type(value)(rewrite(item, change) for item in value)
    return value


class Joined:
    """Joins the strings of each place over events, and hands them out as views.

    Offsets count the canonical characters of all strings of all events, in order.
    """

    def __init__(self) -> None:
        self.offset = 0
        self._runs: dict[str, list[tuple[int, str]]] = {}
        self._lengths: dict[str, int] = {}

    def add(self, value: Any) -> Iterator[PiecewiseView]:
        """Take one payload; views that became long enough to be searched."""
        for place, string in strings_of(value):
            text = canonical(string)
            for name in {place, place.rsplit(".", 1)[-1]} - {""}:
                yield from self._append(name, text)
            self.offset += len(text)

    def _append(self, place: str, text: str) -> Iterator[PiecewiseView]:
        if not text:
            return
        if place not in self._runs and len(self._runs) >= _MOST_PLACES:
            yield from self.rest()
        self._runs.setdefault(place, []).append((self.offset, text))
        self._lengths[place] = self._lengths.get(place, 0) + len(text)
        if self._lengths[place] >= _FLUSH:
            yield self._view(place)
            self._keep_tail(place)

    def _keep_tail(self, place: str) -> None:
        """Forget all but the last characters, which the next view begins with."""
        kept: list[tuple[int, str]] = []
        length = 0
        for offset, text in reversed(self._runs[place]):
            if length >= _KEPT:
                break
            kept.append((offset, text))
            length += len(text)
        if length >= _FLUSH:  # one huge string: searched, and nothing to carry on but its end
            offset, text = kept[-1]
            kept[-1] = (
                (offset + len(text) - _KEPT, text[-_KEPT:]) if len(text) > _KEPT else kept[-1]
            )
            length = sum(len(text) for _, text in kept)
        self._runs[place] = kept[::-1]
        self._lengths[place] = length

    def rest(self) -> Iterator[PiecewiseView]:
        """Everything that is left, and forget it."""
        for place in self._runs:
            yield self._view(place)
        self._runs.clear()
        self._lengths.clear()

    def _view(self, place: str) -> PiecewiseView:
        starts, offsets, parts = [], [], []
        length = 0
        for offset, text in self._runs[place]:
            starts.append(length)
            offsets.append(offset)
            parts.append(text)
            length += len(text)
        return PiecewiseView("".join(parts), starts=starts, offsets=offsets)
