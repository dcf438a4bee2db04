"""Matching that can be proved: questions of a run against those of a tape, one renaming for all."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._misses import Difference as Difference
    from ._misses import Miss as Miss
    from ._recorded import TapeExchange as TapeExchange
    from .checking import TapeCheck as TapeCheck
    from .checking import TapeFinding as TapeFinding
    from .checking import changed_questions as changed_questions
    from .checking import check_tape as check_tape
    from .checking import published_fingerprint as published_fingerprint
    from .checking import tape_damage as tape_damage
    from .checking import tape_fingerprint as tape_fingerprint
    from .matcher import Hit as Hit
    from .matcher import Matcher as Matcher
    from .matcher import Renaming as Renaming
    from .question import MOST_DIGESTS as MOST_DIGESTS
    from .question import KeyedQuestion as KeyedQuestion
    from .question import Question as Question
    from .question import QuestionKeys as QuestionKeys
    from .question import Skeleton as Skeleton
    from .question import Skeletons as Skeletons
    from .question import question_key as question_key
    from .rules import SECRET as SECRET
    from .rules import Rules as Rules
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "_misses": "Difference Miss",
            "_recorded": "TapeExchange",
            "checking": (
                "TapeCheck TapeFinding changed_questions check_tape published_fingerprint "
                "tape_damage tape_fingerprint"
            ),
            "matcher": "Hit Matcher Renaming",
            "question": (
                "MOST_DIGESTS KeyedQuestion Question QuestionKeys Skeleton Skeletons question_key"
            ),
            "rules": "Rules SECRET",
        },
    )
