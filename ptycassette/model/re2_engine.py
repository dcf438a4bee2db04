"""RE2 as we use it: without its log lines, with errors that name what it does not support.

It needs time linear in the text whatever the pattern, which is what makes patterns of users safe
on hostile output (https://github.com/google/re2/wiki/Syntax). It is loaded with the first pattern:
replaying needs none, and works where RE2 cannot be installed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, AnyStr, Final, cast

from ptycassette.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable


NOT_KNOWN: Final = "patterns in files have no look-around, back references or atomic groups"


class PatternError(ValueError):
    """A pattern that is not a regular expression, or that RE2 does not support."""


class EngineMissingError(UsageError):
    """RE2 is not installed."""


def compile_re2(
    pattern: str,
    *,
    latin1: bool = False,
    ignore_case: bool = False,
    max_bytes: int | None = None,
) -> Any:
    """A compiled pattern, with the methods of ``re.Pattern``.

    Args:
        pattern: in RE2's syntax.
        latin1: over bytes, each of which is a character, instead of UTF-8.
        ignore_case: as ``re.IGNORECASE``.
        max_bytes: for the program and the states that RE2 remembers; 8 MiB when None.

    Raises:
        PatternError: it is not a regular expression, uses what RE2 does not support, or is too
        large.
        EngineMissingError: RE2 is not installed.
    """
    try:
        import re2  # noqa: PLC0415 - see above
    except ModuleNotFoundError as missing:
        raise EngineMissingError(
            "recording, scrubbing and patterns of files need the package google-re2",
            hint="pip install google-re2; if it has no wheel for your system, see Install in the"
            " README",
        ) from missing
    options: Any = re2.Options()
    options.log_errors = False
    options.case_sensitive = not ignore_case
    if max_bytes is not None:
        options.max_mem = max_bytes
    if latin1:
        options.encoding = options.Encoding.LATIN1
    try:
        source = pattern.encode("latin-1") if latin1 else pattern
        return re2.compile(source, options)  # type: ignore[no-untyped-call]
    except UnicodeEncodeError as exc:
        reason = "a character beyond U+00FF" if latin1 else "a lone surrogate"
        raise PatternError(f"not a regular expression: {reason} ({NOT_KNOWN})") from exc
    except re2.error as exc:
        why = exc.args[0]
        reason = why.decode("utf-8", "replace") if isinstance(why, bytes) else why
        raise PatternError(f"not a regular expression: {reason} ({NOT_KNOWN})") from exc


# Regular expressions that are compiled when they are first used.


_MEMBERS = (
    *("match", "fullmatch", "search", "finditer", "findall", "split", "sub", "subn"),
    *("pattern", "flags", "groups", "groupindex"),
)


class _Compiled:
    """Has the attributes of a compiled pattern of ``re``."""

    def __init__(self, source: Any, flags: int) -> None:
        self._source, self._flags = source, flags


class _Lazy(_Compiled):
    def __getattr__(self, name: str) -> Any:
        if name not in _MEMBERS:
            raise AttributeError(name)
        source = self._source() if callable(self._source) else self._source
        compiled = re.compile(source, self._flags)
        vars(self).update({member: getattr(compiled, member) for member in _MEMBERS})
        # An object of a class without this method: its attributes are found faster.
        self.__class__ = _Compiled  # type: ignore[assignment]
        return getattr(compiled, name)


def lazy_pattern(source: AnyStr | Callable[[], AnyStr], flags: int = 0) -> re.Pattern[AnyStr]:
    """As ``re.compile``, which is called when the result is first used; so are its errors.

    Args:
        source: the expression, or a function that returns it.
        flags: as for ``re.compile``.
    """
    return cast("re.Pattern[AnyStr]", _Lazy(source, flags))


# Regular expressions from files: RE2 searches them, in time linear in the text.
#
# A scenario, a library, a profile, a probe or an input script may come from a stranger, and so may
# the searched text. Python's ``re`` tries all ways to match: ``(a+)+$`` takes years on a hundred
# letters. Patterns from Python code are the caller's own, and still use ``re``.
#
# The dialect is RE2's (https://github.com/google/re2/wiki/Syntax), brought closer to Python's:
#
# - ``\Z`` is the end of the text, ``\u0041`` and ``\U00000041`` are characters, ``{,n}`` is
#   ``{0,n}``, ``[`` in a set is a bracket, and ``\s`` is any blank of Unicode.
# - ``\d``, ``\w`` and ``\b`` match ASCII only; ``\p{L}`` is any letter.
# - ``$`` is the end of the text, even after a final newline.
# - Look-around, back references, conditions, possessive and atomic groups are refused.
#
# Linear is not always fast: an engine that keeps track of n places in a pattern takes n steps for
# each byte, and after each match begins anew. That product is bounded as well.


__all__ = ["FilePattern", "FilePatterns", "PatternError", "TooManyPatternsError", "file_pattern"]

MAX_PATTERN_CHARS = 10_000
MAX_STEPS = 100_000_000
"""Instructions of the program times bytes of the text. At 8 ns each, the worst that was seen
(``(a?){1000}c`` on letters a), that is 0.8 s; most patterns need a hundredth of it."""
MAX_STEPS_OF_ALL = 300_000_000
"""The same for all matches together, as if each search ran to the end, which few do."""
_SMALL = 64
"""A program of so few instructions has few states, and takes one step for each byte."""
MAX_SIZE_OF_ALL = 200_000
"""Instructions of all patterns of one file; compiling that many takes 0.2 s."""
_MEMORY_BYTES = 1 << 20
"""For the program of one pattern and the states that RE2 remembers; 128 patterns are kept."""

_BLANK = r"\t-\r\x1c-\x20\x85\xa0\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}"
_NOT_BLANK = (
    r"\x00-\x08\x0e-\x1b!-\x{84}\x{86}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}"
    r"\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{10ffff}"
)
_ESCAPE = r"(?P<escape>\\(?:u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.))"
_OUTSIDE = re.compile(
    rf"{_ESCAPE}|(?P<open>\[\^?\]?)|(?P<refused>\(\?(?:<?[=!]|>|\(|P=))|(?P<up_to>\{{,(?=\d+\}}))|.",
    re.DOTALL,
)
_WITHIN = re.compile(rf"{_ESCAPE}|.", re.DOTALL)
_REFUSED_ESCAPES = frozenset("CEQX123456789")


class TooManyPatternsError(PatternError):
    """All patterns of a file together are too large."""


@lru_cache(maxsize=64)
def file_pattern(source: str, *, ignore_case: bool = False, multiline: bool = False) -> FilePattern:
    """``FilePattern(...)``, compiled once."""
    return FilePattern(source, ignore_case=ignore_case, multiline=multiline)


class FilePattern:
    """A pattern from a file.

    Args:
        source: the text in the file.
        ignore_case: as ``re.IGNORECASE``.
        multiline: as ``re.MULTILINE``: ``^`` and ``$`` match at lines.

    Raises:
        PatternError: it is not a regular expression, uses what RE2 does not support, or is too
        large.
    """

    def __init__(self, source: str, *, ignore_case: bool = False, multiline: bool = False) -> None:
        self.pattern = source
        if len(source) > MAX_PATTERN_CHARS:
            raise PatternError(f"a regular expression of more than {MAX_PATTERN_CHARS} characters")
        self.translated = ("(?m)" if multiline else "") + _translated(source)
        """The same in RE2's own dialect, to be joined with others."""
        self._engine = compile_re2(
            self.translated, ignore_case=ignore_case, max_bytes=_MEMORY_BYTES
        )
        self.size: int = self._engine.programsize
        """Instructions of the compiled program."""
        self.groups = frozenset(self._engine.groupindex)
        self.group_count: int = self._engine.groups

    def group_number(self, group: str) -> int:
        """The number of a group given by name or number; 0 is the whole match.

        Raises:
            PatternError: there is no such group.
        """
        index = self._engine.groupindex
        number = int(group) if group.isdecimal() else int(index.get(group, -1))
        if not 0 <= number <= self._engine.groups:
            raise PatternError(f"there is no group {group!r}")
        return number

    def found(self, text: str) -> bool:
        """Whether it matches anywhere in ``text``.

        Raises:
            UsageError: the text is too long for a pattern of this size.
        """
        data = text.encode("utf-8", "replace")
        if self.size * len(data) > MAX_STEPS:
            raise self._too_costly(len(data))
        return self._engine.search(data) is not None

    def matches(self, text: str, *, max_steps: int | None = MAX_STEPS_OF_ALL) -> Iterator[Any]:
        """Every match in ``text`` from left to right, with the methods of ``re.Match``.

        Args:
            text: lone surrogates in it count as question marks.
            max_steps: None for patterns that are not from strangers.

        Raises:
            UsageError: the text is too long for a pattern of this size, or matches too often.
        """
        data = text.encode("utf-8", "replace")
        if max_steps is not None and self.size * len(data) > MAX_STEPS:
            raise self._too_costly(len(data))
        per_byte = self.size if self.size > _SMALL else 1
        steps = 0
        for match in self._engine.finditer(data.decode()):
            steps += per_byte * (len(text) - match.start())
            if max_steps is not None and steps > max_steps:
                raise self._too_costly(len(data))
            yield match

    def _too_costly(self, length: int) -> UsageError:
        return UsageError(
            f"the regular expression {self.pattern!r} may take too long on {length} bytes",
            hint="use fewer repetitions, or search less text",
        )


class FilePatterns:
    """Compiles the patterns of one file one after the other, and bounds their total size."""

    def __init__(self) -> None:
        self._size = 0

    def check(self, source: str, *, multiline: bool = False) -> FilePattern:
        """The next pattern, compiled.

        Raises:
            PatternError: it is wrong.
            TooManyPatternsError: all together are too large.
        """
        pattern = file_pattern(source, multiline=multiline)
        self._size += pattern.size
        if self._size > MAX_SIZE_OF_ALL:
            raise TooManyPatternsError(
                f"the patterns of this file compile to more than {MAX_SIZE_OF_ALL} instructions"
            )
        return pattern


def _translated(source: str) -> str:
    """The pattern as RE2 reads it."""
    parts: list[str] = []
    within = False
    at = 0
    while at < len(source):
        token = (_WITHIN if within else _OUTSIDE).match(source, at)
        if token is None:  # a backslash at the end
            parts.append(source[at:])
            break
        at = token.end()
        text = token[0]
        if token["escape"]:
            parts.append(_escape(text, within=within))
        elif within:
            within = text != "]"
            parts.append(r"\[" if text == "[" else text)
        elif token["open"]:
            within = True
            parts.append(text.replace("]", r"\]"))
        elif token["refused"]:
            raise PatternError(f"{text} is not supported ({NOT_KNOWN})")
        else:
            parts.append("{0," if token["up_to"] else text)
    return "".join(parts)


def _escape(text: str, *, within: bool) -> str:
    letter = text[1]
    if letter in _REFUSED_ESCAPES:
        raise PatternError(f"{text} is not supported ({NOT_KNOWN})")
    if letter in "uU" and len(text) > 2:
        return rf"\x{{{text[2:]}}}"
    if letter == "Z" and not within:
        return r"\z"
    if letter == "s":
        return _BLANK if within else f"[{_BLANK}]"
    if letter == "S":
        return _NOT_BLANK if within else f"[^{_BLANK}]"
    return text
