"""What colours are in a picture: themselves, or numbers in a palette of at most 255.

Text is laid on its background with 16 degrees of coverage, which the eye does not tell from 256.
So most screens have fewer than 256 colours, and a GIF of them is exact: nothing is dithered, and
nothing is looked up pixel by pixel, because rows are painted in numbers of the palette already.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from PIL import Image

Color = tuple[int, int, int]

MOST_COLORS = 255
"""One of the 256 is left for what does not change."""
UNCHANGED = 255
MOST_SHADES = 15
FEWER_SHADES = 7
_FLATTEN = [round(value / 17) * 17 for value in range(256)]


class PaletteFullError(Exception):
    """More colours than a palette holds."""


class Inks(Protocol):
    """How a painter puts colours on an image of this ``mode``."""

    mode: str

    def solid(self, color: Color) -> int | Color:
        """What Pillow's drawing functions take for this colour."""
        ...

    def lay(self, image: Image.Image, at: tuple[int, int], mask: Image.Image, on: Laid) -> None:
        """Lay a mask of coverage on a ground."""
        ...

    def stamp(
        self, image: Image.Image, at: tuple[int, int], stamp: Image.Image, ground: Color
    ) -> None:
        """Lay an RGBA image, such as an emoji, on a ground."""
        ...


Laid = tuple[Color, Color]
"""The colour of what is laid, and of the ground."""


def flattened(mask: Image.Image) -> Image.Image:
    """A mask of coverage in the 16 degrees that are used."""
    return mask.point(_FLATTEN)


def blended(front: Color, ground: Color, coverage: int) -> Color:
    """As Pillow pastes with a mask: rounded, in whole numbers."""
    red, green, blue = (
        _muldiv255(a * coverage + b * (255 - coverage)) for a, b in zip(front, ground, strict=True)
    )
    return red, green, blue


def _muldiv255(product: int) -> int:
    rounded = product + 128
    return ((rounded >> 8) + rounded) >> 8


class TrueInks:
    """Colours as they are."""

    mode = "RGB"

    def solid(self, color: Color) -> Color:
        """The colour itself."""
        return color

    def lay(self, image: Image.Image, at: tuple[int, int], mask: Image.Image, on: Laid) -> None:
        """Blend with the ground."""
        box = (*at, at[0] + mask.width, at[1] + mask.height)
        image.paste(on[1], box)
        image.paste(on[0], box, mask)

    def stamp(
        self, image: Image.Image, at: tuple[int, int], stamp: Image.Image, ground: Color
    ) -> None:
        """Blend with the ground."""
        box = (*at, at[0] + stamp.width, at[1] + stamp.height)
        image.paste(ground, box)
        image.paste(stamp, at, stamp)


class PaletteInks:
    """Numbers of a palette (mode ``L``), given out as colours come up.

    ``shades`` is how many degrees of coverage there are beside none: 15 are exact.

    Raises:
        PaletteFullError: by each method, where another colour is needed than there is room for.
    """

    mode = "L"

    def __init__(self, shades: int = MOST_SHADES) -> None:
        self._shades = shades
        self._numbers: dict[Color, int] = {}
        self._steps = [round(255 * step / shades) for step in range(shades + 1)]
        self._step_of = [round(value * shades / 255) for value in range(256)]
        self._ramps: dict[Laid, list[int | None]] = {}
        self._stamped = False

    @property
    def is_exact(self) -> bool:
        """Whether no colour was put in the place of another."""
        return self._shades == MOST_SHADES and not self._stamped

    @property
    def palette(self) -> bytes:
        """Red, green and blue of 256 colours; those that are not given out are black."""
        return b"".join(map(bytes, self._numbers)).ljust(768, b"\0")

    def solid(self, color: Color) -> int:
        """The number of a colour."""
        number = self._numbers.get(color)
        if number is None:
            if len(self._numbers) >= MOST_COLORS:
                raise PaletteFullError
            number = self._numbers[color] = len(self._numbers)
        return number

    def lay(self, image: Image.Image, at: tuple[int, int], mask: Image.Image, on: Laid) -> None:
        """Turn degrees of coverage into numbers."""
        counts = mask.histogram()
        degrees = {self._step_of[value] for value in range(0, 256, 17) if counts[value]}
        ramp = self.ramp(on, degrees)
        image.paste(mask.point([ramp[step] or 0 for step in self._step_of]), at)

    def ramp(self, on: Laid, degrees: Iterable[int]) -> list[int | None]:
        """The numbers for degrees of coverage; None for one that nobody has asked for."""
        ramp = self._ramps.get(on)
        if ramp is None:
            ramp = self._ramps[on] = [None] * len(self._steps)
        for degree in degrees:
            if ramp[degree] is None:
                ramp[degree] = self.solid(blended(*on, self._steps[degree]))
        return ramp

    def stamp(
        self, image: Image.Image, at: tuple[int, int], stamp: Image.Image, ground: Color
    ) -> None:
        """Reduce the image to a few colours of its own."""
        self._stamped = True
        whole = Image.new("RGB", stamp.size, ground)
        whole.paste(stamp, (0, 0), stamp)
        few = whole.quantize(2 * self._shades, dither=Image.Dither.NONE)
        colors = few.getpalette() or []
        numbers = [
            self.solid((colors[at], colors[at + 1], colors[at + 2]))
            for at in range(0, len(colors), 3)
        ]
        few = Image.frombytes("L", few.size, few.tobytes())
        image.paste(few.point(numbers + [0] * (256 - len(numbers))), at)


def palette_for(pairs: Iterable[Laid]) -> PaletteInks | None:
    """One palette for a whole film, as fine as it can be; None where too many colours are used."""
    wanted = list(pairs)
    for shades in (MOST_SHADES, FEWER_SHADES):
        inks = PaletteInks(shades)
        try:
            for pair in wanted:
                inks.ramp(pair, range(shades + 1))
        except PaletteFullError:
            continue
        return inks
    return None
