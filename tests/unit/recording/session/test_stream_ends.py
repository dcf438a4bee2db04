"""Which ends of streams are recorded: those that a program made on purpose."""

from __future__ import annotations

from ptycassette.recording.session.core import StreamEnds


def test_an_end_well_before_the_programs_end_is_recorded() -> None:
    """Fifty milliseconds later it is known that the program goes on."""
    ends = StreamEnds()
    ends.note(1_000, "stdout")

    assert ends.due(50_999, ended=False) == []
    (end,) = ends.due(51_000, ended=False)
    assert (end.t_us, end.stream, end.eof, end.data) == (1_000, "stdout", True, b"")
    assert not ends


def test_an_end_with_the_program_is_none_of_its_own() -> None:
    """All streams end when their program does."""
    ends = StreamEnds()
    ends.note(1_000, "stderr")

    assert ends.due(90_000, ended=True) == []
    assert not ends
