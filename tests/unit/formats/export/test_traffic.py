"""The tape for other tools, read by their own readers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from vcr.serialize import deserialize
from vcr.serializers import yamlserializer

from ptycassette import open_cassette
from ptycassette.errors import UsageError
from ptycassette.formats.export.registry import export_named

FIXTURES = Path(__file__).resolve().parents[4] / "fixtures" / "v1"


def exported(name: str, cassette: str = "tape") -> bytes:
    """A fixture in a format."""
    with open_cassette(FIXTURES / cassette) as source:
        return b"".join(export_named(name).recording(source))


def test_an_archive_has_every_exchange() -> None:
    """And the messages of a WebSocket in its handshake."""
    first, second = json.loads(exported("har"))["log"]["entries"]

    assert first["request"]["postData"]["text"] == '{"model":"m","input":"hi"}'
    assert first["response"]["content"]["text"].startswith("data: ")
    assert (first["timings"]["wait"], first["timings"]["receive"]) == (1.0, 3.0)
    assert [one["data"] for one in second["_webSocketMessages"]] == ['{"type":"response.create"}']
    assert second["comment"] == "provider-gone: reset by peer"


def test_vcrpy_reads_what_is_written_for_it() -> None:
    """Request and response, by its own reader."""
    requests, responses = deserialize(exported("vcr").decode(), yamlserializer)

    assert [one.uri for one in requests] == ["https://api.example.com/v1/responses"]
    assert requests[0].body == b'{"model":"m","input":"hi"}'
    assert responses[0]["status"]["code"] == 200
    assert responses[0]["body"]["string"].startswith(b"data: ")


@pytest.mark.parametrize("name", ["har", "vcr"])
def test_without_a_tape_there_is_nothing_to_export(name: str) -> None:
    """The error names the cassette, and how to record one with a tape."""
    with pytest.raises(UsageError, match="minimal: it has no tape to export") as refused:
        exported(name, "minimal")

    assert "rec --tape" in str(refused.value)
