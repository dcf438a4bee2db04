"""Imports on disk: a file in, a published cassette out; readers that need a library's own I/O."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .importer import Imported as Imported
    from .importer import add_log as add_log
    from .importer import import_file as import_file
    from .importer import import_of as import_of
    from .scripts import ImportedSteps as ImportedSteps
    from .scripts import import_script as import_script
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "importer": "Imported add_log import_file import_of",
            "scripts": "ImportedSteps import_script",
        },
    )
