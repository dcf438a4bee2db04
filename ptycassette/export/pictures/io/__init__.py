"""Pictures and films as files: fonts, the formats, and ffmpeg."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .fonts import Font as Font
    from .makers import recording_apng as recording_apng
    from .makers import recording_gif as recording_gif
    from .makers import recording_mp4 as recording_mp4
    from .makers import recording_png as recording_png
    from .makers import recording_webm as recording_webm
    from .makers import recording_webp as recording_webp
    from .makers import screen_png as screen_png
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "fonts": "Font",
            "makers": (
                "recording_apng recording_gif recording_mp4 recording_png recording_webm "
                "recording_webp screen_png"
            ),
        },
    )
