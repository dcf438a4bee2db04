"""The rules of matching: which tokens of a question may differ in another run, as data.

A file (``ptycassette/tape/rules/*.toml``, and the user's own) has a ``version``, a ``name``, and

- ``headers``: the headers that are compared; all others are the transport's business.
- ``turns``: where the turns of a conversation are in a body, as ``messages``.
- ``[types.NAME]``: how values of a type behave. ``answers``: they stand in answers, too, where
  they are renamed and noted. ``measured``: what a clock or a counter says; each occurrence may be
  another, equal or not. All other types are names: one name in the recording is one name live.
- ``[[tokens]]``: a ``type``, and where it stands: at a ``path`` of the body (as the whole value,
  or what ``regex`` matches there), in a ``header``, in the ``target``, or, with a ``regex`` alone,
  in any text. If the regex has
  groups, the first that takes part in a match is the token.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from copy import copy

import msgspec

from ptycassette.errors import UsageError
from ptycassette.model.file_patterns import FilePattern, file_pattern
from ptycassette.profiles.checked import StrictTable, check_regex, read_checked
from ptycassette.tape.matching._finder import Finder, values_of
from ptycassette.tape.matching._paths import PathTree, parse_path

SECRET = "secret"  # noqa: S105 - the name of a type
DECLARED_TYPES = ("cwd", "home", "tmp")
"""Values that whoever runs the program knows; they are found by themselves in any text."""
_BUILT_IN_TYPES = (*DECLARED_TYPES, SECRET)
_NEVER_COMPARED = frozenset(
    {"authorization", "proxy-authorization", "cookie", "x-api-key", "x-goog-api-key", "api-key"}
)
_TYPE_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")


class TokenType(StrictTable, frozen=True):
    """How the values of a type behave; see the module."""

    answers: bool = False
    measured: bool = False


class _Token(StrictTable, frozen=True):
    """A table ``[[tokens]]``; see the module."""

    type: str
    path: str | None = None
    regex: str | None = None
    header: str | None = None
    target: bool = False

    def __post_init__(self) -> None:
        places = sum((self.path is not None, self.header is not None, self.target))
        if places > 1:
            raise ValueError("a token has one place: a path, a header, or the target")
        if not places and self.regex is None:
            raise ValueError("a token needs a regex, a path, a header, or target = true")
        if not self.type or not _TYPE_LETTERS.issuperset(self.type):
            raise ValueError(f"a type is of small letters, digits and hyphens: '{self.type}'")
        check_regex(self.regex)
        if self.path is not None:
            parse_path(self.path)


class _RuleFile(StrictTable, frozen=True):
    """A file; see the module."""

    version: int
    name: str
    headers: tuple[str, ...] = ()
    turns: tuple[str, ...] = ()
    types: dict[str, TokenType] = msgspec.field(default_factory=dict)
    tokens: tuple[_Token, ...] = ()


class Rules:
    """The rules of some files together; made by ``parse``.

    Attributes:
        names: of the files.
        digest: SHA-256 (hex) of what they say.
        headers: that are compared, sorted.
        types: how the values of each type behave that a file names.
        turns: the paths of the turns.
        paths: where which rule applies, by its number for ``at_path``.
    """

    def __init__(self, files: tuple[_RuleFile, ...]) -> None:
        self.names = tuple(file.name for file in files)
        self.digest = hashlib.sha256(msgspec.json.encode(files)).hexdigest()
        self.headers = tuple(sorted({name.lower() for file in files for name in file.headers}))
        self.turns = tuple(parse_path(path) for file in files for path in file.turns)
        self.types = dict.fromkeys(_BUILT_IN_TYPES, TokenType(answers=True))
        self.paths = PathTree()
        self._at_path: list[tuple[str, Finder | None]] = []
        self._in_header: dict[str, list[_Token]] = {}
        self._in_target: list[_Token] = []
        self._anywhere: list[tuple[str, FilePattern]] = []
        for file in files:
            self.types.update(file.types)
            for token in file.tokens:
                self._add(token)

    def _add(self, token: _Token) -> None:
        if token.path is not None:
            self.paths.add(parse_path(token.path), len(self._at_path))
            pattern = _patterns((token,))
            self._at_path.append((token.type, Finder(pattern) if pattern else None))
        elif token.header is not None:
            self._in_header.setdefault(token.header.lower(), []).append(token)
        elif token.target:
            self._in_target.append(token)
        else:
            self._anywhere += _patterns((token,))

    @classmethod
    def parse(cls, *files: tuple[str, str]) -> Rules:
        """The rules of files, each given as its text and, for messages, its place.

        Raises:
            UsageError: a file is wrong, or says something else of a type than one before it.
        """
        checked = tuple(_checked(text, where) for text, where in files)
        known = dict.fromkeys(_BUILT_IN_TYPES, TokenType(answers=True))
        for file, (_, where) in zip(checked, files, strict=True):
            for name, behaviour in file.types.items():
                if known.setdefault(name, behaviour) != behaviour:
                    raise UsageError(
                        f"the type {name!r} is known, and behaves otherwise", where=where
                    )
        return cls(checked)

    def comparing(self, headers: Iterable[str]) -> Rules:
        """The same rules, which compare no other headers than these."""
        wanted = tuple(name for name in self.headers if name in frozenset(headers))
        if wanted == self.headers:
            return self
        made = copy(self)
        made.headers = wanted
        made.digest = hashlib.sha256(f"{self.digest} {' '.join(wanted)}".encode()).hexdigest()
        return made

    def type_of(self, name: str) -> TokenType:
        """How the values of a type behave."""
        return self.types.get(name) or TokenType()

    def at_path(self, number: int) -> tuple[str, Finder | None]:
        """A rule of ``paths``: its type, and what is looked for; None if the value is the token."""
        return self._at_path[number]

    def anywhere(self, declared: Mapping[str, str]) -> Finder:
        """What is looked for in any text of a question."""
        return Finder(self._anywhere, values_of(declared))

    def in_answers(self, values: Iterable[tuple[str, bytes]]) -> Finder:
        """What is looked for in the texts of an answer, ``values`` by themselves."""
        return Finder(
            [(type_, one) for type_, one in self._anywhere if self.type_of(type_).answers], values
        )

    @property
    def born_types(self) -> frozenset[str]:
        """Types of names that the provider makes: they are first met in an answer."""
        return frozenset(type_ for type_, _ in self._anywhere if self.type_of(type_).answers)

    @staticmethod
    def known_names(values: Iterable[tuple[str, bytes]]) -> Finder:
        """What finds these values alone."""
        return Finder((), values)

    def in_header(self, name: str, declared: Mapping[str, str]) -> Finder | str:
        """What is looked for in a header; a type if the whole value is a token."""
        return self._in_place(self._in_header.get(name, ()), declared)

    def in_target(self, declared: Mapping[str, str]) -> Finder | str:
        """What is looked for in the target of a request, likewise."""
        return self._in_place(self._in_target, declared)

    def _in_place(self, tokens: Iterable[_Token], declared: Mapping[str, str]) -> Finder | str:
        tokens = tuple(tokens)
        for token in tokens:
            if token.regex is None:
                return token.type
        return Finder([*_patterns(tokens), *self._anywhere], values_of(declared))


def _patterns(tokens: Iterable[_Token]) -> list[tuple[str, FilePattern]]:
    return [
        (token.type, file_pattern(token.regex, multiline=True))
        for token in tokens
        if token.regex is not None
    ]


def _checked(text: str, where: str) -> _RuleFile:
    """A file.

    Raises:
        UsageError: it is wrong.
    """
    file = read_checked(text, _RuleFile, where=where, known=(_Token, TokenType))
    compared = sorted({name.lower() for name in file.headers} & _NEVER_COMPARED)
    if compared:
        raise UsageError(
            f"{compared[0]} is never compared: it holds a key",
            where=where,
            hint="questions are compared by their content, not by their sender",
        )
    return file
