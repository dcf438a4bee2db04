"""Rules and their matches, as plain data."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

import msgspec

from ptycassette.scrub.match import Pattern, PatternError

Kind = Literal["secret", "identity", "volatile"]


class RuleFields(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fields of a rule that a user may set, in code or in a file.

    Attributes:
        name: what reports call it. Several rules may share a name.
        pattern: a regular expression over canonical text. Its group ``s`` is what is scrubbed,
            or all of the match if there is no such group.
        anchors: strings. Every match contains one of them, in whatever case.
        kind: ``secret`` and ``identity`` are scrubbed, ``volatile`` only on demand.
        placeholder: what replaces a match in structured records.
        lead: how many characters before its anchor a match may begin.
        reach: how many characters after the beginning of its anchor a match may end.
        edge: a match must not follow a letter, a digit or ``_``.
        learn: the value found is removed wherever it, or a piece of it, occurs.
    """

    name: str
    pattern: str
    anchors: tuple[str, ...] = ()
    kind: Kind = "secret"
    placeholder: str = "<secret>"
    lead: int = 0
    reach: int = 400
    edge: bool = True
    learn: bool = True


class Rule(RuleFields, frozen=True, kw_only=True):
    """One rule. Its anchors are in lower case.

    Attributes:
        public: how many characters at the beginning of a match are no secret.
        until: a pattern; the scrubbed text ends before it. For rows that were joined.
        accept: judges the text to be scrubbed; False leaves it. It must depend on its
            argument alone, because its answers are cached.
        whole: the length of a complete match, 0 if it varies. What a row shows of one that is
            complete does not continue in the next row.
        linear: RE2 searches the pattern, in time linear in the text: for patterns that
            users wrote. ``lead`` and ``reach`` have no effect then.
    """

    public: int = 0
    until: str = ""
    accept: Callable[[str], bool] | None = None
    whole: int = 0
    linear: bool = False

    def check(self) -> None:
        """Compile the pattern, which otherwise happens when the first anchor is found.

        Raises:
            PatternError: it is not a valid regular expression.
        """
        if self.linear or not self.anchors:
            Pattern(self.pattern).check()
            return
        try:
            re.compile(self.pattern, re.ASCII)
            re.compile(self.until)
        except re.error as exc:
            raise PatternError(f"not a regular expression: {self.pattern!r}: {exc}") from exc


class Found(msgspec.Struct, frozen=True):
    """Characters ``start`` to ``end`` of a text match ``rule``."""

    start: int
    end: int
    rule: Rule
