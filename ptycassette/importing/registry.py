"""The table of imports: name, endings, and the function that reads.

A new import is a module of this package and a row of ``IMPORTS``. The functions are named, not
imported, so that listing the imports loads none of them.
"""

from __future__ import annotations

import importlib

import msgspec

from ptycassette.errors import UsageError
from ptycassette.importing.session import ImportedSession


class ImportFormat(msgspec.Struct, frozen=True, kw_only=True):
    """One import.

    ``endings`` are the file endings that select it; ``reads`` describes the content, for the docs.
    ``reader`` names the function that reads, as ``module:function`` in this package: from the bytes
    of the whole file to an ``ImportedSession``; it raises ``BadImportError``.
    """

    name: str
    endings: tuple[str, ...]
    reads: str
    reader: str

    @property
    def row(self) -> str:
        """Its row in the table of the docs, as Markdown."""
        endings = ", ".join(f"`{ending}`" for ending in self.endings)
        return f"| `{self.name}` | {endings} | {self.reads} |"

    def read(self, data: bytes) -> ImportedSession:
        """The content of a file.

        Raises:
            BadImportError: it is not of this format.
            UsageError: a library that reads it is not installed.
        """
        module, _, function = self.reader.partition(":")
        reader = getattr(importlib.import_module(f"ptycassette.importing.{module}"), function)
        session: ImportedSession = reader(data)
        return session


IMPORTS = (
    ImportFormat(
        name="har",
        endings=(".har",),
        reads="an HTTP archive, with messages of WebSockets as Chrome writes them",
        reader="har:read_har",
    ),
    ImportFormat(
        name="vcr",
        endings=(".yaml", ".yml"),
        reads="a cassette of vcrpy, in YAML or JSON",
        reader="vcr:read_vcr",
    ),
)


def import_named(name: str) -> ImportFormat:
    """The import of that name.

    Raises:
        KeyError: there is none.
    """
    return {one.name: one for one in IMPORTS}[name]


def import_of_file(name: str) -> ImportFormat:
    """The import for the ending of a file's name, in upper or lower case.

    Raises:
        UsageError: no import has this ending.
    """
    for one in IMPORTS:
        if name.lower().endswith(one.endings):
            return one
    names = ", ".join(one.name for one in IMPORTS)
    raise UsageError(
        "the ending of the name does not tell the format",
        where=name,
        hint=f"say it with --format: {names}",
    )
