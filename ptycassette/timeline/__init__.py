"""Time over events: the index, exchanges, the terminal's signals, and transforms.

Pure: event lists in, event lists out.
"""

from __future__ import annotations

from ptycassette._faces import loads_on_first_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ptycassette.timeline.exchange_cutting import Exchange, ExchangeCutter, exchanges
    from ptycassette.timeline.index import TimeIndex
    from ptycassette.timeline.match import (
        EntryMatcher,
        Matching,
        SecretsPolicy,
        nearest_entry,
        order_named,
        secrets_named,
        strategy_named,
    )
    from ptycassette.timeline.match_answers import AnswerExpectation
    from ptycassette.timeline.match_entries import Entry, iter_entries, read_entries
    from ptycassette.timeline.match_keys import Key, KeyReader
    from ptycassette.timeline.match_secrets import (
        SECRET_DIGESTS_KEY,
        InputDigest,
        RecordedSecrets,
        input_digests,
        read_secrets,
        stored_secrets,
        word_digests,
    )
    from ptycassette.timeline.match_text import (
        DEFAULT_THRESHOLD,
        Scorer,
        embedding_scorer,
        semantic_match,
    )
    from ptycassette.timeline.signal_events import SignalFinder, TerminalSignal, terminal_signals
    from ptycassette.timeline.terminal_answers import is_terminal_answer
    from ptycassette.timeline.transforms import Transform, between, chain, limit_idle, speed
else:
    __getattr__ = loads_on_first_use(
        __name__,
        {
            "exchange_cutting": ("Exchange", "ExchangeCutter", "exchanges"),
            "index": ("TimeIndex",),
            "match": (
                "EntryMatcher",
                "Matching",
                "SecretsPolicy",
                "nearest_entry",
                "order_named",
                "secrets_named",
                "strategy_named",
            ),
            "match_answers": ("AnswerExpectation",),
            "match_entries": ("Entry", "iter_entries", "read_entries"),
            "match_keys": ("Key", "KeyReader"),
            "match_secrets": (
                "SECRET_DIGESTS_KEY",
                "InputDigest",
                "RecordedSecrets",
                "input_digests",
                "read_secrets",
                "stored_secrets",
                "word_digests",
            ),
            "match_text": ("DEFAULT_THRESHOLD", "Scorer", "embedding_scorer", "semantic_match"),
            "signal_events": ("SignalFinder", "TerminalSignal", "terminal_signals"),
            "terminal_answers": ("is_terminal_answer",),
            "transforms": ("Transform", "between", "chain", "limit_idle", "speed"),
        },
    )

__all__ = [
    "DEFAULT_THRESHOLD",
    "SECRET_DIGESTS_KEY",
    "AnswerExpectation",
    "Entry",
    "EntryMatcher",
    "Exchange",
    "ExchangeCutter",
    "InputDigest",
    "Key",
    "KeyReader",
    "Matching",
    "RecordedSecrets",
    "Scorer",
    "SecretsPolicy",
    "SignalFinder",
    "TerminalSignal",
    "TimeIndex",
    "Transform",
    "between",
    "chain",
    "embedding_scorer",
    "exchanges",
    "input_digests",
    "is_terminal_answer",
    "iter_entries",
    "limit_idle",
    "nearest_entry",
    "order_named",
    "read_entries",
    "read_secrets",
    "secrets_named",
    "semantic_match",
    "speed",
    "stored_secrets",
    "strategy_named",
    "terminal_signals",
    "word_digests",
]
