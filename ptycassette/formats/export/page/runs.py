"""Make one page from a run over several recordings: an index, and a section for each recording.

A section has the findings and, folded, the recording, which plays. A page has at most
``MOST_PLAYED`` characters of recordings, those of failed parts first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from ptycassette.formats.export.page.recording import page_of, text
from ptycassette.formats.export.page.styles import StyleClasses

MOST_PLAYED = 32_000_000


class RunPart(msgspec.Struct, frozen=True, kw_only=True):
    """One part of a run.

    Attributes:
        name: its name, untrusted text.
        passed: whether there are no findings.
        found: elements that show the findings.
        played: makes the elements of the recording, given a prefix for their ids; None without one.
    """

    name: str
    passed: bool
    found: Iterable[str]
    played: Callable[[str], Iterable[str]] | None = None


def run_page(parts: Sequence[RunPart], classes: StyleClasses, *, title: str) -> Iterator[bytes]:
    """The page of a run, in pieces, UTF-8.

    Args:
        parts: the parts of the run, in order.
        classes: the classes of the styles in ``found`` and ``played``.
        title: the title of the page.
    """
    played = dict(_played(parts))
    body = [f"<h1>{text(title)}</h1>", *index_html((f"#r{n}", one) for n, one in enumerate(parts))]
    for number, part in enumerate(parts):
        body.append(f'<section class="part" id="r{number}"><h2>{text(part.name)} ')
        body += (outcome_html(passed=part.passed), "</h2>", *part.found)
        if number in played:
            body += ("<details><summary>The recording</summary>", played[number], "</details>")
        elif part.played is not None:
            body.append('<p class="dull">Its recording is left out: there are too many.</p>')
        body.append("</section>")
    yield from page_of(body, classes, title=title)


def _played(parts: Sequence[RunPart]) -> Iterator[tuple[int, str]]:
    """The recordings, as long as there is room; those of failed parts first."""
    left = MOST_PLAYED
    for number, part in sorted(enumerate(parts), key=lambda pair: pair[1].passed):
        if part.played is not None and left > 0:
            made = "".join(part.played(f"r{number}s"))
            left -= len(made)
            if left >= 0:
                yield number, made


def index_html(parts: Iterable[tuple[str, RunPart]]) -> Iterator[str]:
    """A list of the parts, each a link to an address, with its outcome."""
    yield '<ol class="index">'
    for address, part in parts:
        shown = outcome_html(passed=part.passed)
        yield f'<li>{shown} <a href="{address}">{text(part.name)}</a></li>'
    yield "</ol>"


def outcome_html(*, passed: bool) -> str:
    """``passed`` or ``FAILED``."""
    kind, word = ("outcome", "passed") if passed else ("failed-outcome", "FAILED")
    return f'<span class="{kind}">{word}</span>'
