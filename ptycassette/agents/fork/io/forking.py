"""``fork``: run a recording again up to a place, change one thing there, record the result.

The child is recorded like any program, so it is scrubbed, has digests, and is published completely
or not at all. A difference before the change leaves no child, only the diagnostic of a failed run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from ptycassette.agents.faults.fault import FaultSpec
from ptycassette.agents.faults.registry import answer_fault
from ptycassette.agents.fork.io.branch import Branch
from ptycassette.agents.fork.io.driving import ForkTypist, TailInputs
from ptycassette.agents.fork.io.held import HeldTail, struck_entry
from ptycassette.agents.fork.io.live import ForkOptions, LiveTail
from ptycassette.agents.fork.io.reading_lineage import manifest_sha256
from ptycassette.agents.fork.io.server import ForkServer, TapeNotes
from ptycassette.agents.fork.io.tails import MadeTail, check_request, other_answer, tail_of, wire
from ptycassette.agents.fork.places import Change, Cut, ForkPlace, cut_at
from ptycassette.agents.fork.report import FORK, ForkRecord, ForkReport, ParentOf, PrefixProof
from ptycassette.agents.harness.io.logs import log_reader
from ptycassette.agents.rerun.gates import Gates
from ptycassette.agents.rerun.io.driving import Proof, RunOf, changed_version, proof
from ptycassette.agents.rerun.io.options import RerunOptions
from ptycassette.agents.rerun.io.preparing import PreparedRerun, prepared_rerun
from ptycassette.agents.rerun.report import RerunReport
from ptycassette.agents.rerun.screens import ScreenJudge
from ptycassette.cassette.io.reader import Cassette
from ptycassette.cassette.tape_lines import tape_facts
from ptycassette.errors import DivergenceError, UsageError
from ptycassette.model.records import ExitStatus, Finished, native_text
from ptycassette.recording.io.options import RunSpec
from ptycassette.recording.io.recording import Recording, recorded
from ptycassette.system.clock import MonotonicClock
from ptycassette.tape.io.recorded_answers import load_matching_rules
from ptycassette.tape.matching.checking import published_fingerprint
from ptycassette.tape.matching.matcher import Hit, Matcher
from ptycassette.tape.matching.misses import Miss
from ptycassette.tape.matching.question import Question


def fork(cassette: Cassette, target: Path, options: ForkOptions) -> ForkReport:
    """Fork a recording.

    Args:
        cassette: the parent.
        target: the child, a new directory.
        options: the options.

    Raises:
        RefusedError: the caller did not confirm that the cassette is trusted, or the target exists.
            Nothing was started.
        NotFoundError: there is no such place in it, or no such profile.
        UsageError: the change cannot apply there.
        DivergenceError: the run differs from the recorded one before the place, or ends before it.
        ApprovalNeededError: a live tail would send something without an approval.
        SpawnError: the program cannot be started.
    """
    options.change.check(options.at, options.tail, script=options.script is not None)
    if options.tail == "held" and options.inputs is not None:
        raise UsageError("held answers stay with the recorded inputs: no other ones are typed")
    entries = [one.entry for one in cassette.tape()] if cassette.has_tape else []
    cut = cut_at(options.at, cassette.events(), entries)
    _check_tape(cassette, cut, options)
    clock = MonotonicClock()
    notes = TapeNotes(clock, _described(cassette))

    made_gates: list[Gates] = []

    def server_of(gates: Gates, **more: Any) -> ForkServer:
        made_gates.append(gates)
        return ForkServer(gates, notes=notes, **more)

    options = msgspec.structs.replace(
        options, argv=_argv(options, cassette), made=(*options.made, target)
    )
    with prepared_rerun(cassette, options, server_of=server_of, tapeless=True) as prepared:
        notes.address = prepared.server.url.removeprefix("http://")
        server = prepared.server
        assert isinstance(server, ForkServer)  # noqa: S101 - it was made above
        for line in prepared.desk.damage:
            raise DivergenceError(f"no fork: the tape is damaged: {line}")
        branch = Branch(prepared.desk, cut, patience_s=options.patience_s)
        server.answers = branch.answer
        [gates] = made_gates
        places = {"cwd": str(prepared.place.cwd), "home": str(prepared.place.home)}
        with tail_of(
            options, cassette, branch, gates, profile=prepared.profile, places=places
        ) as tail:
            other = other_answer(cassette, options.change)
            made = wire(branch, options.change, tail, clock, places, other=other)
            forked = _Forked(cassette, prepared, branch, cut, options)
            if isinstance(tail, HeldTail):
                forked.is_due = tail.is_due
            try:
                report = forked.run(target, notes if cassette.has_tape else None, clock)
            except DivergenceError as differs:
                if changed := changed_version(cassette, prepared.place):
                    differs.hint = f"{changed}; {differs.hint}"
                raise
            problems = (*made(), *(tail.problems if isinstance(tail, MadeTail) else ()))
            refused = tuple(tail.reports) if isinstance(tail, LiveTail) else ()
    return msgspec.structs.replace(
        report, unanswered=(*report.unanswered, *problems), refused=refused
    )


class _Forked:
    """One fork, from the first step to the child.

    Attributes:
        is_due: whether a question of the recording is still to come; never by default.
    """

    def __init__(
        self,
        cassette: Cassette,
        prepared: PreparedRerun,
        branch: Branch,
        cut: Cut,
        options: ForkOptions,
    ) -> None:
        self._cassette, self._prepared, self._branch = cassette, prepared, branch
        self._cut, self._options = cut, options
        self.is_due: Callable[[], bool] = lambda: False
        self._parent = ParentOf(
            id=cassette.manifest.id,
            manifest_sha256=manifest_sha256(cassette.path),
        )

    def run(self, target: Path, notes: TapeNotes | None, clock: MonotonicClock) -> ForkReport:
        prepared, options = self._prepared, self._options
        profile = prepared.profile
        judge = ScreenJudge(options.normalise, profile.screens.volatile if profile else ())
        typist = ForkTypist(
            prepared,
            self._branch,
            self._cut,
            place=options.at,
            judge=judge,
            patience_s=options.patience_s,
        )
        server = prepared.server
        assert isinstance(server, ForkServer)  # noqa: S101 - it was made so
        with recorded(prepared.argv, target, self._spec(notes, clock)) as session:
            try:
                typist.prefix(session)
                fingerprint, entries = self._branch.fork()
                origin = self._origin(self._checked(fingerprint, entries))
                session.note(msgspec.to_builtins(origin))
                typist.change(session, options.change)
                inputs = TailInputs(steps=options.inputs, quiet_ms=options.quiet_ms)
                driven = typist.tail(session, inputs, lambda: server.answering > 0, self.is_due)
            finally:
                self._branch.proceed()
            session.set_final(metadata={FORK: msgspec.to_builtins(origin)})
        return ForkReport(
            child=str(target),
            argv=prepared.argv,
            guard=prepared.place.guard,
            origin=origin,
            requests=self._branch.later,
            unanswered=tuple(self._branch.unanswered),
            inputs=driven.inputs,
            left=driven.left,
            exit=_exit(session, options.change),
            notes=(driven.problem,) if driven.problem else (),
        )

    def _spec(self, notes: TapeNotes | None, clock: MonotonicClock) -> RunSpec:
        prepared, status = self._prepared, self._options.change.status
        place, profile = prepared.place, prepared.profile
        return msgspec.structs.replace(
            prepared.spec,
            harness=(profile or self._cassette.manifest.harness).name,
            started_as=place.argv,
            shared_network=self._options.shared_network,
            overwrite=self._options.overwrite,
            clock=clock,
            probe_version=False,
            tape=notes and notes.start,
            at_end=profile and log_reader(profile, home=place.home, cwd=place.cwd, since_s=0.0),
            before_record=None if status is None else _with_status(status),
        )

    def _origin(self, fingerprint: str) -> ForkRecord:
        options = self._options
        return ForkRecord(
            parent=self._parent,
            at=str(options.at),
            change=options.change.kind,
            value=options.change.value,
            tail=options.tail,
            prefix=PrefixProof(
                entries=tuple(sorted(self._branch.served)),
                fingerprint=fingerprint,
                screens=self._cut.screens,
                inputs=len(self._cut.prefix),
            ),
        )

    def _checked(self, fingerprint: str, entries: frozenset[int]) -> str:
        """The fingerprint of questions and answers, which must be that of these entries.

        Raises:
            DivergenceError: it is not.
        """
        if not self._cassette.has_tape:
            return ""
        tape, profile = self._cassette.tape(), self._prepared.profile
        facts = tape_facts(self._cassette.manifest)
        rules = load_matching_rules((profile.name,) if profile else (), tape=facts)
        # For the whole tape, because names are numbered over all of it.
        matcher = Matcher(
            list(tape),
            rules,
            key=bytes.fromhex(tape.key),
            fingerprint_version=published_fingerprint(facts, rules)[1],
        )
        for index, one in enumerate(matcher.recorded.exchanges):
            if one.entry.entry in entries:
                matcher.ask_again(index)
        expected = matcher.fingerprint()
        if fingerprint != expected:
            raise DivergenceError(
                f"no fork: up to {self._options.at} what was asked and served is not what was"
                " recorded, or not in its order",
                hint="there is no child",
            )
        return fingerprint


def _exit(session: Recording, change: Change) -> ExitStatus | None:
    return _ended_with(change.status) if change.status is not None else session.exit_status


def _ended_with(status: int) -> ExitStatus:
    return ExitStatus(code=status, exited=True, signaled=False)


def _with_status(status: int) -> Any:
    """A hook that makes the recording end with another status."""

    def changed(event: Any) -> Any:
        if isinstance(event, Finished):
            return msgspec.structs.replace(event, exit=_ended_with(status))
        return event

    return changed


def _described(cassette: Cassette) -> Mapping[str, Any]:
    """How the program was pointed at its provider; a rerun of the child does the same."""
    said = tape_facts(cassette.manifest)
    return {name: said[name] for name in ("harness", "pointed") if name in said}


def _check_tape(cassette: Cassette, cut: Cut, options: ForkOptions) -> None:
    """Refuse options that need a tape, or an answer that does not exist.

    Raises:
        UsageError: it is missing.
    """
    if not cassette.has_tape:
        if options.tail not in {"scripted", "held"} or options.script is not None:
            raise UsageError(
                "the recording has no tape, so its program asks no provider",
                hint="--tail scripted; or record with rec --tape",
            )
        return
    check_request(cassette, cut.entry, options.change)


def _argv(options: ForkOptions, cassette: Cassette) -> tuple[str, ...]:
    """The command line, with the changed program in place of the recorded one."""
    if options.change.kind != "binary":
        return options.argv
    argv = options.argv or tuple(map(native_text, cassette.manifest.command.argv or ("",)))
    return options.change.value, *argv[1:]


# A rerun that a test or a driver drives, in which the provider fails once.


def run_with_fault(spec: FaultSpec, met: Callable[[], None]) -> RunOf:
    """Makes a function that prepares runs in which the provider fails once.

    A fault without a place strikes at the first request to a model that can have it. A recording
    without such a request is run as recorded, and the fault is not met.

    Args:
        spec: the fault.
        met: called when it strikes, in the server's thread.

    Raises:
        UsageError: it is a fault of the terminal, or of the questions, on which a recorded answer
            does not depend; or, while the run is prepared, the request cannot have it.
        NotFoundError: while the run is prepared: the tape has no such request.
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
            # The input of an answer does not matter if a driver may type it again.
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
    """The recording after the fault. The answer that the fault replaced is still to come.

    Args:
        branch: the run.
    """

    def __init__(self, branch: Branch) -> None:
        self._branch = branch
        self._given: set[int] = set()

    def answered(self, answer: Hit) -> None:
        """Note the answer to the question at the fault: perhaps the recorded one, late."""
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
    """The proof of a run from its tape; after a met fault only for the part before it."""
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
