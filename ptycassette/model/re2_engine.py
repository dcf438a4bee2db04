"""RE2 as we use it: without its log lines, with errors that name what it does not support.

It needs time linear in the text whatever the pattern, which is what makes patterns of users safe
on hostile output (https://github.com/google/re2/wiki/Syntax). It is loaded with the first pattern:
replaying needs none, and works where RE2 cannot be installed.
"""

from __future__ import annotations

import re
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
