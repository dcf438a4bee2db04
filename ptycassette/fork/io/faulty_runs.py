"""A rerun that a test or a driver drives, in which the provider fails once.

Up to the request at which the fault strikes, all is as in a rerun, and what differs is a
difference. Afterwards a question of the recording gets its answer, and any other one the next
recorded answer that was not given yet, that of the struck request first. Nothing is compared any
more: the driver sees what the program makes of the fault.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from ptycassette.cassette.io.reader import Cassette
from ptycassette.faults.fault import FaultSpec
from ptycassette.faults.registry import answer_fault
from ptycassette.fork.io.branch import Branch
from ptycassette.fork.io.held import HeldTail, struck_entry
from ptycassette.fork.io.noting import TapeNotes
from ptycassette.fork.io.server import ForkServer
from ptycassette.fork.places import ForkPlace, cut_at
from ptycassette.model.events import ExitStatus
from ptycassette.rerun.gates import Gates
from ptycassette.rerun.io.driving import Proof, RunOf
from ptycassette.rerun.io.options import RerunOptions
from ptycassette.rerun.io.preparing import PreparedRerun, prepared_rerun
from ptycassette.rerun.io.rerunning import proof
from ptycassette.rerun.report import RerunReport
from ptycassette.system.clock import MonotonicClock
from ptycassette.tape.matching._misses import Miss
from ptycassette.tape.matching.matcher import Hit
from ptycassette.tape.matching.question import Question


def run_with_fault(spec: FaultSpec, met: Callable[[], None]) -> RunOf:
    """What makes a run ready in which the provider fails once.

    Where the fault has no place, it strikes at the first request to a model that can have it; a
    recording without one is run as recorded, and the fault is not met.

    Args:
        spec: the fault.
        met: called when it strikes, in the server's thread.

    Raises:
        UsageError: it is a fault of the terminal, or of what the provider is asked, which a
            recorded answer does not depend on; or, while the run is made ready, the request cannot
            have it.
        NotFoundError: while the run is made ready: the tape has no such request.
    """
    fault = answer_fault(spec)

    @contextmanager
    def run_of(
        cassette: Cassette, options: RerunOptions, *, typed: bool
    ) -> Iterator[tuple[PreparedRerun, Proof]]:
        clock = MonotonicClock()
        exchanges = list(cassette.tape())
        entry = struck_entry(exchanges, spec, fault, clock)

        def server_of(gates: Gates, **more: Any) -> ForkServer:
            return ForkServer(gates, notes=TapeNotes(clock, {}), **more)

        with prepared_rerun(
            cassette, options, typed=typed, recorded=False, server_of=server_of
        ) as prepared:
            server = prepared.server
            assert isinstance(server, ForkServer)  # noqa: S101 - it was made so
            if entry is None:
                server.answers = _asked_of(prepared)
                yield prepared, lambda status: proof(prepared, cassette, status)
                return
            place = ForkPlace("tape", entry)
            cut = cut_at(place, cassette.events(), [one.entry for one in exchanges])
            branch = Branch(prepared.desk, cut, patience_s=options.patience_s, at_once=True)
            server.answers = branch.answer
            behind = BehindTheFault(branch)
            # Of which input an answer is, says nothing where a driver may type it again.
            branch.tail = HeldTail(behind, exchanges, Gates([]))

            async def struck(question: Question, recorded: Hit) -> Hit | Miss:
                met()
                answer = fault.answer(question, recorded, clock)
                behind.answered(answer)
                return answer

            branch.here = struck
            yield prepared, lambda status: _proof(prepared, cassette, branch, place, spec, status)

    return run_of


def _asked_of(prepared: PreparedRerun) -> Callable[[Question], Any]:
    async def answer(question: Question) -> Hit | Miss:
        return prepared.desk.ask(question)

    return answer


class BehindTheFault:
    """The recording behind the fault. The answer that was not given there is still to come.

    Args:
        branch: the run.
    """

    def __init__(self, branch: Branch) -> None:
        self._branch = branch
        self._given: set[int] = set()

    def answered(self, answer: Hit) -> None:
        """The question at the fault has this answer: perhaps the recorded one, late."""
        self._given.add(answer.entry.entry)

    @property
    def used(self) -> set[int]:
        """Entries that are over."""
        return self._branch.served | self._given

    async def recorded(self, question: Question) -> Hit | Miss:
        """The answer to this very question."""
        return await self._branch.recorded(question)


def _proof(  # noqa: PLR0917 - what a run is made of
    prepared: PreparedRerun,
    cassette: Cassette,
    branch: Branch,
    place: ForkPlace,
    spec: FaultSpec,
    status: ExitStatus | None,
) -> RerunReport:
    """What the tape proves: of a run that met the fault, what came before."""
    report = proof(prepared, cassette, status)
    if not branch.reached.is_set():
        return report
    notes = [f"{spec} struck at {place}; nothing is compared behind it"]
    if branch.unanswered:
        notes.append(f"{len(branch.unanswered)} requests behind it had no recorded answer left")
    return msgspec.structs.replace(
        report,
        matched=len(branch.served),
        misses=branch.diverged,
        unasked=(),
        expected_exit=status,
        expected_fingerprint="",
        fingerprint="",
        notes=(*report.notes, *notes),
    )
