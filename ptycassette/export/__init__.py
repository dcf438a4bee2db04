"""Recordings in other formats: asciicasts, text, pages, pictures and films."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .event_lines import EventLine as EventLine
    from .event_lines import event_kind as event_kind
    from .event_lines import event_line as event_line
    from .git_text import git_lines as git_lines
    from .html import screen_html as screen_html
    from .losses import left_out as left_out
    from .markdown_text import fenced as fenced
    from .markdown_text import inline_code as inline_code
    from .markdown_text import screen_text_lines as screen_text_lines
    from .options import EXPORT_OPTIONS as EXPORT_OPTIONS
    from .options import ExportOption as ExportOption
    from .registry import ExportFormat as ExportFormat
    from .registry import Kind as Kind
    from .registry import export_named as export_named
    from .registry import export_of_file as export_of_file
    from .registry import exports_of as exports_of
    from .svg import still_svg as still_svg
    from .text import TextStream as TextStream
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "event_lines": "EventLine event_kind event_line",
            "git_text": "git_lines",
            "html": "screen_html",
            "losses": "left_out",
            "markdown_text": "fenced inline_code screen_text_lines",
            "options": "EXPORT_OPTIONS ExportOption",
            "registry": ("ExportFormat Kind export_named export_of_file exports_of"),
            "svg": "still_svg",
            "text": "TextStream",
        },
    )
