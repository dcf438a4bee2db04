"""Exits as the reference implementation writes them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ptycassette.cassette.layout import decode_document, encode_document
from ptycassette.errors import RecordError
from ptycassette.model.records import ExitStatus, FinalRecord


def final(err: Any) -> bytes:
    """``final.json`` of a program that ended with status 3."""
    ended = {"Code": 3, "Signal": "", "Exited": True, "Signaled": False, "Err": err}
    return json.dumps({"seq": 1, "t_ms": 0, "exit": ended, "duration_ms": 0}).encode()


@pytest.mark.parametrize("err", [None, {}, {"Stderr": None}])
def test_an_error_object_of_go_reads_as_null(err: Any) -> None:
    """The reference writes one after any exit but 0; the exit itself is all there."""
    record = decode_document(final(err), FinalRecord, where="final.json")

    assert record.exit == ExitStatus(code=3, exited=True, signaled=False)
    assert json.loads(encode_document(record, where="final.json"))["exit"]["Err"] is None


@pytest.mark.parametrize("err", ["boom", 1, [], True])
def test_anything_else_there_is_refused(err: Any) -> None:
    """No writer known to us makes it, so it is no message that may get lost."""
    with pytest.raises(RecordError, match=r"exit\.Err"):
        decode_document(final(err), FinalRecord, where="final.json")
