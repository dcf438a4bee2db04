"""Draw characters that must line up from cell to cell as geometry instead of a font's glyphs.

Box drawing (U+2500 to U+257F), blocks and shades (U+2580 to U+259F), Braille patterns (U+2800 to
U+28FF), sextants (U+1FB00 to U+1FB3B) and Powerline's triangles (U+E0B0 to U+E0B3). The parts of a
box character are read from its name in Unicode: ``DOWN HEAVY AND RIGHT LIGHT``. Two more characters
are rare in fonts but common on the screens of agents: the corner U+23BF and the disc U+23FA.

Double lines: a band as wide as both lines and their gap is drawn for each double arm, then the gaps
are cut out of all bands. This gives the right inner and outer corners. Single arms are drawn last
and end at the double lines.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from math import hypot

from PIL import Image, ImageDraw

_SMOOTH = 4
"""Curves and diagonals are drawn this many times larger, then reduced."""
_WEIGHTS = {"LIGHT": 1, "SINGLE": 1, "HEAVY": 2, "DOUBLE": 3}
_ARMS = {
    "LEFT": "l", "RIGHT": "r", "UP": "u", "DOWN": "d", "HORIZONTAL": "lr", "VERTICAL": "ud",
}  # fmt: skip
_OPPOSITE = {"l": "r", "r": "l", "u": "d", "d": "u"}
_DASHES = {"DOUBLE DASH": 2, "TRIPLE DASH": 3, "QUADRUPLE DASH": 4}
_SHADES = {0x2591: 68, 0x2592: 136, 0x2593: 187}
_QUADRANTS = (4, 8, 1, 13, 9, 7, 11, 2, 6, 14)
"""From U+2596 on: bits for upper left, upper right, lower left, lower right."""
_BRAILLE = ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3))
"""Column and row of the dots 1 to 8."""
_CORNER, _DISC = 0x23BF, 0x23FA
_DRAWN = re.compile("[\u23bf\u23fa\u2500-\u259f\u2800-\u28ff\U0001fb00-\U0001fb3b\ue0b0-\ue0b3]")

Box = tuple[int, int, int, int]
"""Left, top, right, bottom; the last two are outside."""


def is_shape(text: str) -> bool:
    """Whether ``shape`` draws this cluster."""
    return _DRAWN.fullmatch(text) is not None


def shape(text: str, width: int, height: int) -> Image.Image:
    """The coverage (mode ``L``) of a character that ``is_shape``, in pixels of one cell."""
    code = ord(text)
    image = Image.new("L", (width, height))
    draw = ImageDraw.Draw(image)
    if code == _DISC:
        return _disc(width, height)
    if 0x2500 <= code <= 0x257F or code == _CORNER:
        return _box_character(text, image, draw)
    if code in _SHADES:
        image.paste(_SHADES[code], (0, 0, width, height))
    elif 0xE0B0 <= code <= 0xE0B3:
        return _triangle(code - 0xE0B0, width, height)
    for box in _rectangles(code, width, height):
        _fill(draw, box)
    return image


def _fill(draw: ImageDraw.ImageDraw, box: Box, coverage: int = 255) -> None:
    left, top, right, bottom = box
    if right > left and bottom > top:
        draw.rectangle((left, top, right - 1, bottom - 1), fill=coverage)


def hollow(width: int, height: int) -> Image.Image:
    """The coverage of the box that replaces a character that cannot be drawn."""
    image = Image.new("L", (width, height))
    box = (1, height // 5, max(1, width - 2), height - height // 5)
    ImageDraw.Draw(image).rectangle(box, outline=136)
    return image


def _rectangles(code: int, width: int, height: int) -> Iterator[Box]:
    if 0x2800 <= code <= 0x28FF:
        dot = max(1, round(width / 5))
        for bit, (col, row) in enumerate(_BRAILLE):
            if (code - 0x2800) >> bit & 1:
                x = round(width * (2 * col + 1) / 4 - dot / 2)
                y = round(height * (2 * row + 1) / 8 - dot / 2)
                yield x, y, x + dot, y + dot
    elif 0x1FB00 <= code <= 0x1FB3B:
        bits = code - 0x1FB00 + 1
        bits += (bits >= 0x15) + (bits >= 0x14 + 0x15)
        yield from _grid(bits, 3, width, height)
    elif 0x2596 <= code <= 0x259F:
        yield from _grid(_QUADRANTS[code - 0x2596], 2, width, height)
    else:
        yield from _part_of_block(code, width, height)


def _grid(bits: int, rows: int, width: int, height: int) -> Iterator[Box]:
    for bit in range(2 * rows):
        if bits >> bit & 1:
            row, col = divmod(bit, 2)
            yield (
                _part(width, col, 2), _part(height, row, rows),
                _part(width, col + 1, 2), _part(height, row + 1, rows),
            )  # fmt: skip


def _part(length: int, count: int, of: int) -> int:
    """The end of part ``count`` of ``of`` in a length; rounded half up, so that neighbours meet."""
    return (2 * length * count + of) // (2 * of)


def _part_of_block(code: int, width: int, height: int) -> Iterator[Box]:
    match code:
        case 0x2580:
            yield 0, 0, width, _part(height, 4, 8)
        case 0x2590:
            yield _part(width, 4, 8), 0, width, height
        case 0x2594:
            yield 0, 0, width, _part(height, 1, 8)
        case 0x2595:
            yield _part(width, 7, 8), 0, width, height
        case _ if 0x2581 <= code <= 0x2588:
            yield 0, _part(height, 0x2588 - code, 8), width, height
        case _ if 0x2589 <= code <= 0x258F:
            yield 0, 0, _part(width, 0x2590 - code, 8), height
        case _:
            return


def _disc(width: int, height: int) -> Image.Image:
    large = Image.new("L", (width * _SMOOTH, height * _SMOOTH))
    radius = min(width, height) * _SMOOTH * 0.45
    x, y = large.width / 2, large.height / 2
    ImageDraw.Draw(large).ellipse((x - radius, y - radius, x + radius, y + radius), fill=255)
    return large.resize((width, height), Image.Resampling.BOX)


def _triangle(number: int, width: int, height: int) -> Image.Image:
    large = Image.new("L", (width * _SMOOTH, height * _SMOOTH))
    right, bottom = large.width - 1, large.height - 1
    flat, point = (0, right) if number < 2 else (right, 0)
    corners = [(flat, 0), (point, bottom // 2), (flat, bottom)]
    draw = ImageDraw.Draw(large)
    if number % 2:
        draw.line(corners, fill=255, width=_thickness(width) * _SMOOTH)
    else:
        draw.polygon(corners, fill=255)
    return large.resize((width, height), Image.Resampling.BOX)


def _thickness(width: int) -> int:
    return max(1, round(width / 9))


def _box_character(text: str, image: Image.Image, draw: ImageDraw.ImageDraw) -> Image.Image:
    name = unicodedata.name(text).removeprefix("BOX DRAWINGS ")
    if ord(text) == _CORNER:
        name = "LIGHT UP AND RIGHT"
    if "DIAGONAL" in name or "ARC" in name:
        return _smooth(name, image.width, image.height)
    for dash, count in _DASHES.items():
        if dash in name:
            for box in _dashes(name, count, image.width, image.height):
                _fill(draw, box)
            return image
    for box, coverage in _arms(name, image.width, image.height):
        _fill(draw, box, coverage)
    return image


def _weights(name: str) -> dict[str, int]:
    """The weight of each arm; an arm without a weight in the name has that of the first part."""
    found: dict[str, int] = {}
    first = 1
    for number, part in enumerate(name.split(" AND ")):
        words = part.split()
        weight = next((_WEIGHTS[word] for word in words if word in _WEIGHTS), first)
        first = first if number else weight
        for word in words:
            found |= dict.fromkeys(_ARMS.get(word, ""), weight)
    return found


def _arms(name: str, width: int, height: int) -> Iterator[tuple[Box, int]]:
    """Rectangles and their fills, in the order of drawing."""
    arms = _weights(name)
    unit = _thickness(width)
    middle = {"l": (width - unit) // 2, "u": (height - unit) // 2}
    middle |= {"r": middle["l"], "d": middle["u"]}

    def strip(arm: str, wide: int, start: int, fill: int) -> tuple[Box, int]:
        """``wide`` pixels across, from ``start`` before the middle (negative: behind) to the edge.

        Both are counted from the middle line, which is ``unit`` wide itself.
        """
        across = middle["u" if arm in "lr" else "l"] - (wide - unit) // 2
        along = middle[arm]
        if arm in "lu":
            begin, end = 0, along + unit + start
        else:
            begin, end = along - start, width if arm == "r" else height
        if arm in "lr":
            return (begin, across, end, across + wide), fill
        return (across, begin, across + wide, end), fill

    doubles = [arm for arm, weight in arms.items() if weight == 3]
    for arm in doubles:
        crossed = any(arms.get(other) == 3 for other in _across(arm))
        yield strip(arm, 3 * unit, unit if crossed else 0, 255)
    for arm in doubles:
        crossed = any(arms.get(other) == 3 for other in _across(arm))
        single = any(arms.get(other) in {1, 2} for other in _across(arm))
        yield strip(arm, unit, 0 if crossed or not single else -unit, 0)
    for arm, weight in arms.items():
        if weight == 3:
            continue
        beside = [arms.get(other, 0) for other in _across(arm)]
        if beside == [3, 3]:
            start = unit if _OPPOSITE[arm] in arms else -unit
        elif 3 in beside:
            start = unit
        else:
            more = (max(beside) - 1) * unit if any(beside) else 0  # that a heavy line is wider
            start = more - more // 2 if arm in "lu" else more // 2
        yield strip(arm, weight * unit, start, 255)


def _across(arm: str) -> str:
    return "ud" if arm in "lr" else "lr"


def _dashes(name: str, count: int, width: int, height: int) -> Iterator[Box]:
    wide = _thickness(width) * (2 if "HEAVY" in name else 1)
    level = "HORIZONTAL" in name
    length, across = (width, height) if level else (height, width)
    middle = (across - _thickness(width)) // 2 - (wide - _thickness(width)) // 2
    gap = max(1, round(length / count / 3))
    for number in range(count):
        begin = round(length * number / count) + gap // 2
        end = round(length * (number + 1) / count) - (gap - gap // 2)
        end = max(end, begin + 1)
        if level:
            yield begin, middle, end, middle + wide
        else:
            yield middle, begin, middle + wide, end


def _smooth(name: str, width: int, height: int) -> Image.Image:
    if "ARC" in name:
        return _arc(_weights(name.replace("ARC ", "")), width, height)
    large = Image.new("L", (width * _SMOOTH, height * _SMOOTH))
    draw = ImageDraw.Draw(large)
    unit = _thickness(width) * _SMOOTH
    right, bottom = large.width, large.height
    if "CROSS" in name or "UPPER RIGHT" in name:
        draw.line((right, 0, 0, bottom), fill=255, width=unit)
    if "CROSS" in name or "UPPER LEFT" in name:
        draw.line((0, 0, right, bottom), fill=255, width=unit)
    return large.resize((width, height), Image.Resampling.BOX)


def _arc(arms: dict[str, int], width: int, height: int) -> Image.Image:
    """A quarter of a circle between two arms, which go straight on from its ends.

    Drawn point by point: Pillow's arcs begin and end a pixel too far, which is visible at the edge.
    """
    unit = _thickness(width)
    x, y = (width - unit) // 2 + unit / 2, (height - unit) // 2 + unit / 2
    radius = min(x, width - x, y, height - y) - 1  # so that it is straight at the edge
    right, down = (1 if "r" in arms else -1), (1 if "d" in arms else -1)
    center_x, center_y = x + right * radius, y + down * radius

    def is_in(at_x: float, at_y: float) -> bool:
        if (at_x - center_x) * right > 0:
            off = at_y - y
        elif (at_y - center_y) * down > 0:
            off = at_x - x
        else:
            off = hypot(at_x - center_x, at_y - center_y) - radius
        return abs(off) < unit / 2

    points = bytes(
        255 * is_in((col + 0.5) / _SMOOTH, (row + 0.5) / _SMOOTH)
        for row in range(height * _SMOOTH)
        for col in range(width * _SMOOTH)
    )
    large = Image.frombytes("L", (width * _SMOOTH, height * _SMOOTH), points)
    return large.resize((width, height), Image.Resampling.BOX)
