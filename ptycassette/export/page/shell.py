"""The frame of every HTML page: one file that asks nobody for anything, under a strict policy.

The policy stands in the page, so that it holds for ``file:`` as well. It allows the page's own
style and script by their digests, and nothing else: no image, no connection, no form, no attribute
that styles or acts (W3C, Content Security Policy Level 3). The script may not turn text into markup
(W3C, Trusted Types).
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator
from html import escape
from pkgutil import get_data

from ptycassette.model.visible_text import printable, visible


def document(
    body: Iterable[str], *, title: str, style: str | Iterable[str] = "", script: str = ""
) -> Iterator[str]:
    """The pieces of a page.

    Args:
        body: its elements. What is not ours in them was escaped.
        title: as it is; escaped here.
        style: all of its rules.
        script: all of its code; none when empty.
    """
    style = "".join(style)
    sources = [f"style-src {_digest(style)}"]
    if script:
        sources.append(f"script-src {_digest(script)}; require-trusted-types-for 'script'")
    policy = "; ".join(("default-src 'none'", "base-uri 'none'", "form-action 'none'", *sources))
    yield (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{text(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
    )
    yield from body
    yield (f"\n<script>{script}</script>" if script else "") + "\n</body>\n</html>\n"


def _digest(source: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"


def part(name: str) -> str:
    """A style or a script of this package."""
    return (get_data(__package__, name) or b"").decode()


def text(value: object, *, limit: int = 2000) -> str:
    """What others wrote, in one line: escaped, without characters that hide or act."""
    return escape(visible(str(value), limit=limit))


def line(value: str, *, limit: int = 2000) -> str:
    """As ``text``, but with backslashes as they are: for text whose bytes were escaped before."""
    return escape(printable(value, limit=limit))


def lines(value: str, *, limit: int = 10_000) -> str:
    """What others wrote, in lines, each shown as ``printable`` shows it."""
    return "\n".join(escape(printable(line, limit=limit)) for line in value.split("\n"))
