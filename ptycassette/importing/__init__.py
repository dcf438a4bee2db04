"""Files of other tools as recordings: HAR, vcrpy, call traces, telemetry; into a cassette."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .registry import IMPORTS as IMPORTS
    from .registry import ImportFormat as ImportFormat
    from .registry import import_named as import_named
    from .registry import import_of_file as import_of_file
    from .session import BadImportError as BadImportError
    from .session import ImportedScript as ImportedScript
    from .session import ImportedSession as ImportedSession
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "registry": "IMPORTS ImportFormat import_named import_of_file",
            "session": "BadImportError ImportedScript ImportedSession",
        },
    )
