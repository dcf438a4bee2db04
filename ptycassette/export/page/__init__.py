"""Pages of HTML: the frame of every page, screens, and a recording that plays."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .beside import turn_name as turn_name
    from .film import Film as Film
    from .film import filmed as filmed
    from .item import Item as Item
    from .items import ListedTurn as ListedTurn
    from .recording import page_of as page_of
    from .recording import played_page as played_page
    from .recording import read_turns as read_turns
    from .recording import recording_section as recording_section
    from .rows import screen_fragment as screen_fragment
    from .rows import screen_lines as screen_lines
    from .runs import RunPart as RunPart
    from .runs import index_html as index_html
    from .runs import run_page as run_page
    from .shell import document as document
    from .shell import lines as lines
    from .shell import part as part
    from .shell import text as text
    from .styles import SCREEN_CSS as SCREEN_CSS
    from .styles import StyleClasses as StyleClasses
    from .styles import readers_theme_css as readers_theme_css
    from .styles import theme_css as theme_css
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "beside": "turn_name",
            "film": "Film filmed",
            "item": "Item",
            "items": "ListedTurn",
            "recording": "page_of played_page read_turns recording_section",
            "rows": "screen_fragment screen_lines",
            "runs": "RunPart index_html run_page",
            "shell": "document lines part text",
            "styles": "SCREEN_CSS StyleClasses readers_theme_css theme_css",
        },
    )
