"""A table whose columns are as wide as their widest cell at each moment."""

from __future__ import annotations

from rich.text import Text
from textual.widgets import DataTable

__all__ = ["GrowingTable"]


class GrowingTable(DataTable[Text]):
    """A table of lines that come one after the other, such as from a thread.

    Textual measures new rows when nothing else is to be done. Painted before that, cells are cut
    at the old width and stay so until the table changes again.
    """

    def add_titles(self, *titles: str) -> None:
        """Add columns, at first as wide as their titles."""
        for title in titles:
            self.add_column(title, width=len(title))

    def add_line(self, *cells: Text) -> None:
        """Add a row, from the first column on; cells of one line each."""
        for column, cell in zip(self.ordered_columns, cells, strict=False):
            column.width = max(column.width, cell.cell_len)
        self.add_row(*cells)
