"""Time over events: the index, exchanges, the terminal's signals, and transforms.

Pure: event lists in, event lists out.
"""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .entry_matcher import EntryMatcher as EntryMatcher
    from .exchange_cutting import Exchange as Exchange
    from .exchange_cutting import ExchangeCutter as ExchangeCutter
    from .exchange_cutting import exchanges as exchanges
    from .index import TimeIndex as TimeIndex
    from .match import Matching as Matching
    from .match import SecretsPolicy as SecretsPolicy
    from .match import nearest_entry as nearest_entry
    from .match import order_named as order_named
    from .match import secrets_named as secrets_named
    from .match import strategy_named as strategy_named
    from .match_entries import Entry as Entry
    from .match_entries import iter_entries as iter_entries
    from .match_entries import read_entries as read_entries
    from .match_secrets import SECRET_DIGESTS_KEY as SECRET_DIGESTS_KEY
    from .match_secrets import InputDigest as InputDigest
    from .match_secrets import RecordedSecrets as RecordedSecrets
    from .match_secrets import input_digests as input_digests
    from .match_secrets import masked_digests as masked_digests
    from .match_secrets import read_secrets as read_secrets
    from .match_secrets import stored_secrets as stored_secrets
    from .match_secrets import word_digests as word_digests
    from .match_text import DEFAULT_THRESHOLD as DEFAULT_THRESHOLD
    from .match_text import Scorer as Scorer
    from .match_text import embedding_scorer as embedding_scorer
    from .match_text import semantic_match as semantic_match
    from .signal_events import SignalFinder as SignalFinder
    from .signal_events import TerminalSignal as TerminalSignal
    from .signal_events import terminal_signals as terminal_signals
    from .terminal_answers import is_terminal_answer as is_terminal_answer
    from .transforms import Transform as Transform
    from .transforms import between as between
    from .transforms import chain as chain
    from .transforms import limit_idle as limit_idle
    from .transforms import speed as speed
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "exchange_cutting": "Exchange ExchangeCutter exchanges",
            "index": "TimeIndex",
            "entry_matcher": "EntryMatcher",
            "match": (
                "Matching SecretsPolicy nearest_entry order_named secrets_named strategy_named"
            ),
            "match_entries": "Entry iter_entries read_entries",
            "match_secrets": (
                "InputDigest RecordedSecrets SECRET_DIGESTS_KEY input_digests masked_digests "
                "read_secrets stored_secrets word_digests"
            ),
            "match_text": "DEFAULT_THRESHOLD Scorer embedding_scorer semantic_match",
            "signal_events": "SignalFinder TerminalSignal terminal_signals",
            "terminal_answers": "is_terminal_answer",
            "transforms": "Transform between chain limit_idle speed",
        },
    )
