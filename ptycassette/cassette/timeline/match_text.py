"""How alike two texts are: a lexical score without a model, for any language.

The score is the Dice coefficient over words and over pairs of neighbouring
characters, whichever is higher, after NFKC and case folding. Words alone would
fail for scripts that write none (Chinese, Japanese, Thai); pairs alone would call
long texts alike that share an alphabet.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence

import msgspec

Scorer = Callable[[str, str], float]
"""``scorer(actual, expected)`` is between 0 (nothing in common) and 1 (the same)."""

DEFAULT_THRESHOLD = 0.75
_WORD = re.compile(r"\w+")


class SemanticMatch(msgspec.Struct, frozen=True):
    """The outcome of a comparison by meaning; true when it matched."""

    matched: bool
    score: float
    threshold: float
    reason: str = ""

    def __bool__(self) -> bool:
        return self.matched


def lexical_score(actual: str, expected: str) -> float:
    """How alike two texts are, from 0 to 1. Equal texts are 1, also without any word in them."""
    left, right = _folded(actual), _folded(expected)
    if left == right:
        return 1.0
    return max(
        _dice(Counter(_WORD.findall(left)), Counter(_WORD.findall(right))),
        _dice(_pairs(left), _pairs(right)),
    )


def embedding_scorer(embed: Callable[[str], Sequence[float]]) -> Scorer:
    """A scorer from an embedding model: the cosine of two vectors, 0 where one is zero.

    Args:
        embed: text to vector, by whatever model is installed; called twice per score.
    """

    def score(actual: str, expected: str) -> float:
        left, right = embed(actual), embed(expected)
        lengths = math.hypot(*left) * math.hypot(*right)
        dot = sum(one * other for one, other in zip(left, right, strict=True))
        return min(1.0, max(-1.0, dot / lengths)) if lengths else 0.0

    return score


def semantic_match(
    actual: str,
    expected: str,
    threshold: float = DEFAULT_THRESHOLD,
    scorer: Scorer | None = None,
) -> SemanticMatch:
    """Whether ``actual`` has the same meaning as ``expected``.

    An empty expectation matches nothing: it would match everything, and a test
    that rests on it could not fail.

    Args:
        actual: the text to judge.
        expected: the text to judge by.
        threshold: the least score that matches, above 0 and at most 1.
        scorer: see ``Scorer``; ``lexical_score`` when None.

    Raises:
        ValueError: the threshold or a score of the scorer is out of range.
    """
    if not 0 < threshold <= 1:
        raise ValueError(f"a threshold is above 0 and at most 1, not {threshold}")
    if not expected.strip():
        return SemanticMatch(False, 0.0, threshold, "the expectation is empty")
    score = float((scorer or lexical_score)(actual, expected))
    if not -1.0 <= score <= 1.000001:
        raise ValueError(f"a scorer returns at most 1 (and a cosine at least -1), not {score}")
    return SemanticMatch(score >= threshold, score, threshold)


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _pairs(text: str) -> Counter[str]:
    packed = "".join(char for char in text if char.isalnum() or unicodedata.combining(char))
    if len(packed) == 1:
        return Counter([packed])
    return Counter(packed[at : at + 2] for at in range(len(packed) - 1))


def _dice(left: Counter[str], right: Counter[str]) -> float:
    total = left.total() + right.total()
    return 2 * (left & right).total() / total if total else 0.0
