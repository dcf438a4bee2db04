"""Every backend over the same cases; where they differ is printed, and known."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from ptycassette.errors import UsageError
from ptycassette.model.ports import Emulator, EmulatorFactory
from ptycassette.model.records import EmulatorId
from ptycassette.model.screen import Cursor, Screen, Size
from ptycassette.terminal import emulator as backends
from ptycassette.terminal._conformance import CASES, KNOWN, differences, table_lines
from ptycassette.terminal.emulator import PyteEmulator, available_backends, backend


@pytest.fixture(params=available_backends())
def factory(request: pytest.FixtureRequest) -> EmulatorFactory:
    """Each backend that can be loaded, also those of other packages."""
    try:
        return backend(request.param)
    except UsageError as error:
        pytest.skip(str(error))


def test_a_backend_differs_where_it_is_known_to(
    factory: EmulatorFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    """The table is printed; one of ours that differs elsewhere, or no longer, fails."""
    name = factory(Size(1, 2)).identity.name
    found = differences(factory)
    with capsys.disabled():
        if found:
            print(f"\n{name} differs in {len(found)} of {len(CASES)} cases:")  # noqa: T201
            print(*(f"  {one}" for one in found), sep="\n")  # noqa: T201

    assert name not in {"pyte", *KNOWN} or {one.case for one in found} == set(KNOWN.get(name, {}))


def test_the_guide_has_the_table() -> None:
    """As ``python -m benchmarks conformance`` prints it when all backends are installed."""
    guide = Path(__file__).resolve().parents[3] / "docs" / "screens.md"
    table = "\n".join(table_lines(KNOWN))

    assert table in guide.read_text(encoding="utf-8")
    assert set(KNOWN) == set(available_backends()) - {"pyte"}


def test_a_backend_of_another_package_is_held_against_the_same_cases(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Announced by an entry point alone; what it does otherwise is told case by case."""
    entry = EntryPoint("mine", f"{__name__}:by_code_point", "ptycassette.emulators")
    monkeypatch.setattr(backends, "_found", lambda: {"mine": entry})
    monkeypatch.setattr(EntryPoint, "load", lambda _: by_code_point)
    found = {one.case: one for one in differences(backend("mine"))}

    assert available_backends() == ("pyte", "mine")
    assert "clusters: ZWJ, VS16, marks" in found
    assert str(found["a skin tone on its own"]).startswith("a skin tone on its own: ")
    assert set(found) < set(CASES)


def by_code_point(size: Size) -> Emulator:
    """What another package could offer."""
    return PyteEmulator(size, width="codepoint")


class Mute:
    """The least that an emulator can be: it shows nothing, and knows no signals."""

    identity = EmulatorId("mute", "1")
    pending = 0

    def __init__(self, size: Size) -> None:
        self.size = size

    def feed(self, data: bytes) -> None:
        """Ignored."""

    def resize(self, size: Size) -> None:
        """Take another size."""
        self.size = size

    def snapshot(self) -> Screen:
        """A blank screen."""
        rows = ("",) * self.size.rows
        styles: tuple[tuple[()], ...] = ((),) * self.size.rows
        return Screen(size=self.size, rows=rows, styles=styles, cursor=Cursor(0, 0), title="")

    def answers(self) -> bytes:
        """None."""
        return b""


def test_an_emulator_that_shows_nothing_differs_nearly_everywhere() -> None:
    """So the cases can tell; none of it was looked into."""
    found = differences(Mute)

    assert len(found) == len(CASES)
    assert all("not looked into" in str(one) for one in found)


def test_a_difference_in_style_alone_counts() -> None:
    """Rows and cursor equal, colours not."""

    class Plain(PyteEmulator):
        def snapshot(self) -> Screen:
            screen = super().snapshot()
            return Screen(
                size=screen.size,
                rows=screen.rows,
                styles=((),) * len(screen.rows),
                cursor=screen.cursor,
                title=screen.title,
                alt_screen=screen.alt_screen,
            )

    assert {one.what for one in differences(Plain)} == {("styles",)}
