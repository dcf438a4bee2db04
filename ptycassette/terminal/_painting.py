"""Painting text: characters become cells.

Long runs of plain characters are painted with slice assignments; a character
that may join its neighbour is handled on its own. The semantics are those of
xterm.js: wrap pending, wide characters that do not fit, halves of wide
characters that are overwritten, marks that widen the character before them.
"""

from __future__ import annotations

from ptycassette.terminal._core import MAX_CLUSTER, Core
from ptycassette.terminal.grid import BLANK, Row
from ptycassette.terminal.widths import NO_JOIN, PLAIN


class Painting(Core):
    """The part of the terminal that paints."""

    def draw(self, data: str) -> None:
        """Paint text, which contains no control characters."""
        table = self.charset_map
        if table is not None:
            data = data.translate(table)
        if self.insert_mode:
            for char in data:
                self._step(char)
            return
        if self.kind > PLAIN:
            self._paint_mixed(data)
            return
        if data.isascii():
            self.kind = PLAIN
        elif self.width_mode.narrow.fullmatch(data):
            self.kind = self.width_mode.classify(data[-1])[0]
        else:
            self._paint_mixed(data)
            return
        self.width = 1
        buf = self.buf
        x = buf.x
        end = x + len(data)
        if end > self.columns:
            self._paint_narrow(data)
            return
        # The usual case: ASCII that fits in the row.
        row = buf.rows[buf.y]
        if not row.own:
            row.take_over()
        chars, styles, style = row.chars, row.styles, self.pen.style
        if chars[x] == "" and x:
            chars[x - 1] = BLANK
            styles[x - 1] = style
        if end < len(chars) and chars[end] == "":
            chars[end] = BLANK
            styles[end] = style
        chars[x:end] = data
        styles[x:end] = [style] * (end - x)
        row.view = None
        buf.x = end

    def repeat(self, count: int | None = None) -> None:
        """REP: repeat the last character, unless a control function came after it."""
        if self.kind == NO_JOIN:
            return
        x = self.buf.x - self.width
        text = self.row.chars[x] if 0 <= x < self.columns else ""
        if not text or text == BLANK:
            return
        count = count or 1
        limit = self.columns * self.lines
        if count > limit:
            # The screen is full of it; only the cursor's final column is still open.
            count = limit + (count - limit) % self.columns
        if self.traced:
            self._repeat_traced(text, count)
        else:
            self.draw(text * count)

    def _repeat_traced(self, text: str, count: int) -> None:
        self.draw(text * count)

    def _paint_mixed(self, data: str) -> None:
        mode = self.width_mode
        match = mode.runs.match
        at, end = 0, len(data)
        kind = self.kind
        while at < end:
            found = match(data, at)
            assert found is not None  # noqa: S101 - its last alternative takes any character
            group = found.lastindex
            if group == 4 or (kind > PLAIN and mode.leads(kind)):
                self.kind = kind
                self._step(data[at])
                kind = self.kind
                at += 1
                continue
            if group == 3:
                self.kind = kind
                self._paint_marks(found.group())
                kind, at = self.kind, found.end()
                continue
            at = found.end()
            if group == 1:
                text = found.group()
                if text.isascii() or mode.narrow.fullmatch(text):
                    self._paint_narrow(text)
                else:
                    self._paint_cells(text)
                self.width = 1
            else:
                self._paint_wide(found.group())
                self.width = 2
            kind = mode.classify(data[at - 1])[0]
        self.kind = kind

    def _paint_marks(self, data: str) -> None:
        """Paint marks. Those that a full cell would only drop are not looked at."""
        head = len(data) if self.traced else MAX_CLUSTER + 1
        for char in data[:head]:
            self._step(char)
        if not (self.width or self.width_mode.joining):  # each takes a cell
            for char in data[head:]:
                self._step(char)

    def _paint_cells(self, data: str) -> None:
        """Paint narrow characters with their marks."""
        cells = self.width_mode.cells.findall(data)
        if max(map(len, cells)) > MAX_CLUSTER:
            cells = [cell[:MAX_CLUSTER] for cell in cells]
        self._paint_narrow(cells)

    def _paint_narrow(self, data: str | list[str]) -> None:
        """Paint the texts of cells, of one column each."""
        buf, cols = self.buf, self.columns
        style = self.pen.style
        left = len(data)
        done = 0
        while True:
            x = buf.x
            if x >= cols:
                if self.autowrap:
                    self._wrap()
                    x = 0
                else:
                    x = cols - 1
            count = min(left, cols - x)
            row = buf.rows[buf.y]
            if not row.own:
                row.take_over()
            chars, styles = row.chars, row.styles
            end = x + count
            if chars[x] == "" and x:
                chars[x - 1] = BLANK
                styles[x - 1] = style
            if end < len(chars) and chars[end] == "":
                chars[end] = BLANK
                styles[end] = style
            if left == count:
                chars[x:end] = data[done:] if done else data
            elif self.autowrap:
                chars[x:end] = data[done : done + count]
            else:
                # Without DECAWM every further character replaces the last column.
                chars[x:end] = [*data[done : done + count - 1], data[-1]]
                count = left
            styles[x:end] = [style] * (end - x)
            row.view = None
            buf.x = end
            left -= count
            if not left:
                return
            done += count

    def _paint_wide(self, data: str) -> None:
        """Paint characters of two cells each."""
        buf, cols = self.buf, self.columns
        style = self.pen.style
        done, total = 0, len(data)
        while done < total:
            x = buf.x
            count = min(total - done, (cols - x) // 2)
            if count < 1 or not self.autowrap:
                self._put(data[done], 2)
                done += 1
                continue
            row = buf.rows[buf.y]
            if not row.own:
                row.take_over()
            chars, styles = row.chars, row.styles
            end = x + 2 * count
            if chars[x] == "" and x:
                chars[x - 1] = BLANK
                styles[x - 1] = style
            if end < len(chars) and chars[end] == "":
                chars[end] = BLANK
                styles[end] = style
            chars[x:end:2] = data[done : done + count]
            chars[x + 1 : end : 2] = [""] * count
            styles[x:end] = [style] * (2 * count)
            row.view = None
            buf.x = end
            done += count

    def _wrap(self) -> None:
        """Go to the start of the next row, which continues this one."""
        buf = self.buf
        buf.x = 0
        if buf.y == buf.bottom:
            self._scroll(wrapped=True)
            return
        buf.y = min(buf.y + 1, self.lines - 1)
        buf.rows[buf.y].wrapped = True

    def _before(self) -> int:
        """The column of the cell before the cursor; for a wide one, its left half."""
        chars = self.row.chars
        x = self.buf.x - 1
        while x > 0 and chars[x] == "":
            x -= 1
        return x

    def _base(self) -> str:
        """The first character of the cell before the cursor."""
        x = self._before()
        return self.row.chars[x][:1] if x >= 0 else ""

    def _step(self, char: str) -> None:
        """Paint one character that may join the one before it."""
        base = self._base() if char == "\ufe0f" else ""
        kind, width, extends = self.width_mode.step(char, self.kind, self.width, base)
        if extends and self.buf.x:
            self._join(char, width, self.width)
        else:
            self._put(char, width)
        self.kind, self.width = kind, width

    def _join(self, char: str, width: int, before: int) -> None:
        """Add a character to the cell before the cursor, which is then ``width`` wide."""
        buf, cols = self.buf, self.columns
        if buf.x + width - before > cols:
            if not self.autowrap:
                buf.x = cols - 1
                return
            self._carry_over(before)
        row = buf.rows[buf.y]
        row.take_over()
        chars = row.chars
        x = self._before()
        if len(chars[x]) < MAX_CLUSTER:
            chars[x] = char if chars[x] == BLANK else chars[x] + char
        row.view = None
        for _ in range(width - before):
            self._set(row, buf.x, "")
            buf.x += 1
        if buf.x < len(chars) and chars[buf.x] == "" and width > before:
            row.set_blank(buf.x, self.pen.style)

    def _carry_over(self, width: int) -> None:
        """Move the cell before the cursor to the next row, because it grows and does not fit."""
        buf = self.buf
        old = buf.rows[buf.y]
        start = buf.x - width
        self._wrap()
        row = buf.rows[buf.y]
        row.copy_cells(old, start, 0, width)
        buf.x = width
        for x in range(start, self.columns):
            old.set_blank(x, self.pen.style)
        old.view = None

    def _put(self, char: str, width: int) -> None:
        """Paint one character into its own cell. One of width 0 takes a cell, too."""
        buf, cols = self.buf, self.columns
        width = width or 1
        if buf.x + width > cols:
            if self.autowrap:
                row = buf.rows[buf.y]
                if buf.x < cols and row.chars[buf.x] == "":
                    row.set_blank(buf.x - 1, self.pen.style)
                for x in range(buf.x, cols):
                    row.set_blank(x, self.pen.style)
                row.view = None
                self._wrap()
            else:
                buf.x = cols - 1
                if width > 1:
                    return
        row, x = buf.rows[buf.y], buf.x
        if self.insert_mode:
            row.insert(x, width, self.pen.style)
        row.take_over()
        chars = row.chars
        if chars[x] == "" and x:
            row.set_blank(x - 1, self.pen.style)
        end = x + width
        if end < len(chars) and chars[end] == "":
            row.set_blank(end, self.pen.style)
        self._set(row, x, char)
        if width > 1:
            self._set(row, x + 1, "")
        row.view = None
        buf.x = end

    def _set(self, row: Row, x: int, char: str) -> None:
        """Write one cell. A traced terminal also stores its origin."""
        row.chars[x] = char
        row.styles[x] = self.pen.style
