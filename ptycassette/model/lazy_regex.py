"""Regular expressions that are compiled when they are first used.

Most recordings need few of those that our modules define; compiling all of them takes a sixth of
the processor time of a short recording.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, AnyStr, cast

if TYPE_CHECKING:
    from collections.abc import Callable

_MEMBERS = (
    *("match", "fullmatch", "search", "finditer", "findall", "split", "sub", "subn"),
    *("pattern", "flags", "groups", "groupindex"),
)


class _Compiled:
    """Has the attributes of a compiled pattern, as attributes of its own."""

    def __init__(self, source: Any, flags: int) -> None:
        self._source, self._flags = source, flags


class _Lazy(_Compiled):
    def __getattr__(self, name: str) -> Any:
        if name not in _MEMBERS:
            raise AttributeError(name)
        source = self._source() if callable(self._source) else self._source
        compiled = re.compile(source, self._flags)
        vars(self).update({member: getattr(compiled, member) for member in _MEMBERS})
        # Of a class without this method, whose attributes are found faster.
        self.__class__ = _Compiled  # type: ignore[assignment]
        return getattr(compiled, name)


def lazy_pattern(source: AnyStr | Callable[[], AnyStr], flags: int = 0) -> re.Pattern[AnyStr]:
    """As ``re.compile``, which is called when the result is first used; so are its errors.

    Args:
        source: the expression, or a function that returns it.
        flags: as for ``re.compile``.
    """
    return cast("re.Pattern[AnyStr]", _Lazy(source, flags))
