"""Tells the questions of a tape apart, by the rules of providers, of the CLI, and of the user."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from ptycassette.model.journal import HeadSecret, SessionMeta
from ptycassette.model.tape import MaskedDigest, VolatileToken
from ptycassette.recording._tape_option import TAPE_OPTION
from ptycassette.scrub._masked_places import masked_places
from ptycassette.system.clock import monotonic_s
from ptycassette.tape.io.matching_rules import load_matching_rules
from ptycassette.tape.matching.checking import TapeCheck, check_tape
from ptycassette.tape.matching.question import Question, QuestionKeys

_MOST_S = 60.0
"""Of a check: enough for 60 MB of answers on the machine that this was measured on."""


class TapeKeys:
    """The ``EntryKeys`` of a session.

    Args:
        meta: its head.

    Raises:
        UsageError: a file of rules is wrong.
    """

    def __init__(self, meta: SessionMeta) -> None:
        option = meta.options[TAPE_OPTION]
        self._key = bytes.fromhex(option["key"])
        self._day = meta.recorded_at[:10]
        described = option.get("described", {})
        harness = described.get("harness", meta.harness.name)
        self._rules = load_matching_rules((harness,), tape=described)
        declared = {"cwd": meta.cwd, "home": meta.home, "tmp": tempfile.gettempdir()}
        self._keys = QuestionKeys(
            self._rules,
            {name: value for name, value in declared.items() if value},
            key=self._key,
        )

    @property
    def described(self) -> Mapping[str, Any]:
        """See ``EntryKeys.described``."""
        return {"rules": list(self._rules.names), "rules_digest": self._rules.digest}

    def of(
        self,
        head: Mapping[str, Any],
        body: bytes,
        stored: bytes,
        secrets: Sequence[HeadSecret] = (),
    ) -> tuple[str, Sequence[VolatileToken], Sequence[MaskedDigest]]:
        """See ``EntryKeys.of``."""
        number = head["entry"] if head["kind"] == "websocket" else head.get("within")
        keyed = self._keys.of(
            Question(
                kind=head["kind"],
                method=head.get("method", ""),
                upstream=head.get("upstream", ""),
                target=head.get("target", ""),
                headers=tuple((name, value) for name, value in head.get("headers", ())),
                body=body,
                form=head.get("form", ""),
                within=number,
                stored=stored,
                secrets=masked_places(body, stored),
                head_secrets=tuple(secrets),
            )
        )
        return keyed.key, keyed.tokens, keyed.digests

    def check(self, exchanges: Sequence[Any]) -> TapeCheck:
        """See ``EntryKeys.check``. It ends after a minute."""
        until = monotonic_s() + _MOST_S
        return check_tape(
            exchanges,
            self._rules,
            key=self._key,
            day=self._day,
            in_time=lambda: monotonic_s() < until,
        )
