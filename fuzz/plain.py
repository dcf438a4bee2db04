"""Whether what is shown is text, paint, or a page of ours: nothing in it acts or hides."""

from __future__ import annotations

import re

__all__ = ["is_page", "is_paint", "is_plain"]

_PAINT = re.compile(r"(?:\x1b\[(?:0[\d;]*m|2J|H|K|\d+;\d+H|\d+G|\?25[hl])|[^\x00-\x1f\x7f-\x9f])*")
_HIDDEN = re.compile(
    "[\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_ACTING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f]")
_TAGS = re.compile(r"</?(?:html|head|meta|title|style|body|pre|span)(?: [a-z-]+=\"[^\"<>]*\")*>")


def is_paint(data: bytes) -> bool:
    """Whether a terminal is only painted on: text, SGR, cursor positions, erasing."""
    text = data.decode("utf-8")
    return _PAINT.fullmatch(text) is not None and _HIDDEN.search(text) is None


def is_plain(text: str) -> bool:
    """Whether it holds nothing that acts or hides but newlines."""
    return _ACTING.search(text) is None and _HIDDEN.search(text) is None


def is_page(page: str) -> bool:
    """Whether a page holds the elements that we write and no address in them."""
    tags = "".join(_TAGS.findall(page))
    rest = _TAGS.sub("", page.removeprefix("<!DOCTYPE html>\n"))
    return is_plain(page) and "<" not in rest and "://" not in tags
