"""Events to asciicast, text, HTML, SVG and GIF bytes."""

from __future__ import annotations

from ptycassette._faces import loads_on_first_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ptycassette.export.html import screen_css, screen_fragment, screen_html
    from ptycassette.export.registry import (
        EXPORT_OPTIONS,
        ExportFormat,
        ExportOption,
        export_named,
        export_of_file,
        exports_of,
    )
    from ptycassette.export.svg import still_svg
    from ptycassette.export.text import TextStream
else:
    __getattr__ = loads_on_first_use(
        __name__,
        {
            "html": ("screen_css", "screen_fragment", "screen_html"),
            "registry": (
                "EXPORT_OPTIONS",
                "ExportFormat",
                "ExportOption",
                "export_named",
                "export_of_file",
                "exports_of",
            ),
            "svg": ("still_svg",),
            "text": ("TextStream",),
        },
    )

__all__ = [
    "EXPORT_OPTIONS",
    "ExportFormat",
    "ExportOption",
    "TextStream",
    "export_named",
    "export_of_file",
    "exports_of",
    "screen_css",
    "screen_fragment",
    "screen_html",
    "still_svg",
]
