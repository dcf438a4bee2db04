"""When output was: it is stamped when it is read, and nothing of our own work comes before that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ptycassette import record
from ptycassette.errors import SpawnError
from ptycassette.model.screen import Size
from ptycassette.recording.io import recorder as recorder_module
from ptycassette.recording.session.core import Input, InputQueue, Sending, SessionCore
from ptycassette.terminal.emulator import default_emulator
from ptycassette.testing import ManualClock, ScriptedPty

TAP_S, RENDER_S, MACHINE_S = 0.001, 1.0, 0.3


class SlowEmulator:
    """Takes a second for each feed."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock, self._emulator = clock, default_emulator(Size(24, 80))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._emulator, name)

    def feed(self, data: bytes) -> None:
        """Render."""
        self._clock.advance(RENDER_S)
        self._emulator.feed(data)


class SlowTap:
    """A journal that takes a millisecond; keeps the moments."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self.stamps: list[int] = []

    def on_output(self, t_us: int, data: bytes) -> None:
        """Append."""
        del data
        self.stamps.append(t_us)
        self._clock.advance(TAP_S)

    def on_event(self, event: object) -> None:
        """Nothing is typed."""

    def on_idle(self) -> None:
        """Nothing is held."""


class LatePty(ScriptedPty):
    """Its output could be read before it was: the machine let the recorder wait."""

    def __init__(self, clock: ManualClock, late_s: float) -> None:
        super().__init__(clock)
        self._late: tuple[ManualClock, float] = (clock, late_s)
        self._ready = [b"one", b"two", b"three"]

    def read(self, size: int) -> bytes | None:
        """Of a program that wrote three times before the recorder had its turn."""
        del size
        clock, late_s = self._late
        clock.advance(late_s)
        self._late = (clock, 0)
        return self._ready.pop(0) if self._ready else b""


@pytest.mark.parametrize("late_s", [0, MACHINE_S])
def test_output_is_stamped_before_anything_is_made_of_it(late_s: float) -> None:
    """What is left of an error is the machine's lateness, and what the journal took."""
    clock = ManualClock()
    tap = SlowTap(clock)
    pty = LatePty(clock, late_s)
    core = SessionCore(pty, clock=clock, emulator=SlowEmulator(clock), tap=tap)  # type: ignore[arg-type]
    core.pump_output()
    core.catch_up()

    of_machine_us, of_ours_us = round(late_s * 1e6), round(TAP_S * 1e6)
    assert tap.stamps == [of_machine_us + number * of_ours_us for number in range(3)]
    assert core.now_us() >= of_machine_us + round(RENDER_S * 1e6)


def test_input_is_stamped_before_the_program_has_it() -> None:
    """What the program does with it is stamped by others, too, and comes later."""
    clock, typed = ManualClock(), []

    class SlowPty(ScriptedPty):
        def write(self, data: bytes) -> int:
            clock.advance(MACHINE_S)
            return len(data)

    queue = InputQueue(SlowPty(clock), now_us=clock.now_us, tell=typed.append)
    queue.add(Sending(Input(data=b"hi", source="driver")))
    before_us = clock.now_us()

    assert queue.send_next()
    assert [one.t_us for one in typed] == [before_us]


def test_who_waits_for_the_end_has_nothing_rendered_and_is_not_woken() -> None:
    """On a busy machine a thread that is woken for nothing keeps the pump from reading."""
    clock, woken = ManualClock(), []
    core = SessionCore(LatePty(clock, 0), clock=clock, emulator=SlowEmulator(clock))  # type: ignore[arg-type]
    core.watch(lambda: woken.append(core.finished), screen=False)
    core.pump_output()
    core.publish()

    assert (core.watched, woken) == (False, [])
    core.finish()
    assert woken == [True]


def test_the_emulator_is_made_before_the_program_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes long, and nobody would read meanwhile what the program writes."""
    order = []

    def emulator(size: Size) -> Any:
        order.append("emulator")
        return default_emulator(size)

    def spawn(*_: object, **__: object) -> None:
        order.append("program")
        raise SpawnError("none", exit_status=127)

    monkeypatch.setattr(recorder_module, "spawn", spawn)
    monkeypatch.setenv("PTYCASSETTE_STATE_DIR", str(tmp_path / "state"))
    with pytest.raises(SpawnError), record(["true"], tmp_path / "c", emulator=emulator):
        pass

    assert order[:2] == ["emulator", "program"]
