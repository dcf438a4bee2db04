"""Drift between two recordings, each a path, an open cassette or a use."""

from __future__ import annotations

import os
from typing import Protocol, runtime_checkable

from ptycassette.cassette.io.reader import Cassette, open_cassette
from ptycassette.cassette.timeline.match import DEFAULT_THRESHOLD, Scorer
from ptycassette.replaying.divergence import Drift, Side, drift_of_sides, semantic_drift_of_sides


@runtime_checkable
class Used(Protocol):
    """The value of ``use``, or its ``result``."""

    def side(self) -> Side:
        """The recording that was used, or made."""
        ...


Comparable = str | os.PathLike[str] | Cassette | Side | Used


def side_of(source: Comparable, *, allow_unscrubbed: bool = False) -> Side:
    """One of two recordings to compare; a path is opened and checked, and closed again.

    Raises:
        CassetteError: it cannot be opened.
        TypeError: it is something else.
    """
    if isinstance(source, Side):
        return source
    if isinstance(source, Cassette):
        return Side(source.manifest, list(source.events()))
    if isinstance(source, Used):
        return source.side()
    if not isinstance(source, str | os.PathLike):
        raise TypeError(
            f"{type(source).__name__} is not a recording: give the path of a cassette, what"
            " open_cassette or use gives, or a Side"
        )
    with open_cassette(source, allow_unscrubbed=allow_unscrubbed) as cassette:
        return Side(cassette.manifest, list(cassette.events()))


def screen_drift(old: Comparable, new: Comparable) -> Drift:
    """The changes between two recordings, byte by byte.

    Args:
        old: the path of a cassette, what ``open_cassette`` or ``use`` gives, or a ``Side``.
            After ``rerecord`` a use is the new recording.
        new: another one.

    Raises:
        CassetteError: one cannot be opened.
    """
    return drift_of_sides(side_of(old), side_of(new))


def semantic_screen_drift(
    old: Comparable,
    new: Comparable,
    threshold: float = DEFAULT_THRESHOLD,
    scorer: Scorer | None = None,
) -> Drift:
    """The changes in meaning: ``scorer`` compares screens; bytes are ignored. As ``screen_drift``.

    Raises:
        CassetteError: one cannot be opened.
        ValueError: the threshold is out of range.
    """
    return semantic_drift_of_sides(side_of(old), side_of(new), threshold, scorer)
