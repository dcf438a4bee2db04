"""What of a text must go: what rules find, what is known, and what is learnt of both."""

from ptycassette.scrub.search._known import SHORTEST, Hit, KnownValue, KnownValues, Lesson
from ptycassette.scrub.search._learning import Learner
from ptycassette.scrub.search._past import Past
from ptycassette.scrub.search._searcher import Match, Searcher

__all__ = [
    "SHORTEST",
    "Hit",
    "KnownValue",
    "KnownValues",
    "Learner",
    "Lesson",
    "Match",
    "Past",
    "Searcher",
]
