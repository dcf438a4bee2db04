"""Tapes that somebody has changed: what is changed, and all digests made to fit again."""

from __future__ import annotations

import hashlib
import json
import shutil
import zlib
from pathlib import Path
from typing import Any

import msgspec

from ptycassette.cassette.io.reader import open_cassette
from ptycassette.cassette.layout import Artifact, with_artifacts
from ptycassette.cassette.manifest import encode_manifest, with_manifest_digest
from ptycassette.model.records import Manifest

_TAPE, _BODIES, _EVENTS = "tape.jsonl", "tape-bodies.bin", "service-events.jsonl"


class TamperedTape:
    """A copy of a cassette, to be changed and published again.

    Attributes:
        entries: the lines of the tape.
        questions, answers: bodies, by the number of the entry.
        events: the service events.
        optional: the optional fields of the manifest.
    """

    def __init__(self, cassette: Path, copy: Path) -> None:
        shutil.copytree(cassette, copy)
        self.path = copy
        with open_cassette(copy) as source:
            self._manifest = source.manifest
            self.optional = dict(source.manifest.optional or {})
            exchanges = list(source.tape())
            self.entries: list[dict[str, Any]] = [
                json.loads(line) for line in (copy / _TAPE).read_text().splitlines()
            ]
            self.questions = {one.entry.entry: one.question() for one in exchanges}
            self.answers = {one.entry.entry: one.answer() for one in exchanges}
        self.events = [json.loads(line) for line in (copy / _EVENTS).read_text().splitlines()]

    def number(self, said: str) -> int:
        """The entry whose question ends with these words."""
        [found] = [
            number
            for number, body in self.questions.items()
            if json.loads(body)["messages"][-1]["content"] == said
        ]
        return found

    def entry(self, number: int) -> dict[str, Any]:
        """A line."""
        return self.entries[number - 1]

    def swap(self, one: int, two: int, *fields: str) -> None:
        """Exchange what two entries say, but for when: the fields, or all of it."""
        first, second = self.entry(one), self.entry(two)
        times = {"entry", "seq", "t_us", "end_seq", "end_us", "answer"}
        for name in fields or (first.keys() | second.keys()) - times:
            first[name], second[name] = second.get(name), first.get(name)
        if not fields:
            for bodies in (self.questions, self.answers):
                bodies[one], bodies[two] = bodies[two], bodies[one]

    def drop(self, number: int) -> None:
        """Take an entry out; its service events say something else."""
        for event in self.events:
            said = event["payload"]
            if said.get("entry") == number:
                event["payload"] = {"type": "note"}
            elif said.get("entry", 0) > number:
                said["entry"] -= 1
        del self.entries[number - 1]
        for line in self.entries[number - 1 :]:
            line["entry"] -= 1
        for bodies in (self.questions, self.answers):
            del bodies[number]
            moved = {one - (one > number): body for one, body in bodies.items()}
            bodies.clear()
            bodies.update(moved)

    def publish(self) -> Path:
        """Write all of it, with digests that fit."""
        packed = bytearray()
        for line in self.entries:
            number = line["entry"]
            for side, body in (
                (line, self.questions[number]),
                (line.get("answer"), self.answers[number]),
            ):
                if not body or side is None:
                    continue
                data = zlib.compress(body)
                digest = hashlib.sha256(body).hexdigest()
                side["body"] = {
                    "sha256": digest, "bytes": len(body), "at": len(packed), "packed": len(data)
                }  # fmt: skip
                packed += data
        (self.path / _BODIES).write_bytes(bytes(packed))
        for name, lines in ((_TAPE, self.entries), (_EVENTS, self.events)):
            (self.path / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
        self._pin()
        return self.path

    def _pin(self) -> None:
        optional = dict(self.optional)
        optional["tape"] = {**optional["tape"], "entries": len(self.entries)}
        del optional["manifest_digest"]
        manifest: Manifest = msgspec.structs.replace(self._manifest, optional=optional)
        artifacts = {}
        for name in optional["artifacts"]:
            data = (self.path / name).read_bytes()
            artifacts[name] = Artifact(sha256=hashlib.sha256(data).hexdigest(), bytes=len(data))
        manifest = with_manifest_digest(with_artifacts(manifest, artifacts))
        (self.path / "manifest.json").write_bytes(encode_manifest(manifest))
