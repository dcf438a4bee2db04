"""The parts of a text to be removed: found by rules, known before, or learnt from both."""

from ptycassette.scrub.search._known import SHORTEST_KNOWN, Hit, KnownValue, KnownValues, Lesson
from ptycassette.scrub.search._learning import Learner, SearchedTexts
from ptycassette.scrub.search._searcher import Match, Searcher

__all__ = [
    "SHORTEST_KNOWN",
    "Hit",
    "KnownValue",
    "KnownValues",
    "Learner",
    "Lesson",
    "Match",
    "SearchedTexts",
    "Searcher",
]
