"""ptycassette scrub and verify-scrub, from the command line, on cassettes on disk."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import msgspec
import pytest

from ptycassette.cassette.io.reader import open_cassette
from ptycassette.cli import main
from ptycassette.errors import RefusedError, SecretLeftError
from ptycassette.model.records import (
    DiscoveryRecord,
    Finished,
    FrameRecord,
    Noted,
    Output,
    Probed,
    QuotaRecord,
    Resized,
    Signalled,
    Typed,
)
from ptycassette.model.screen import Cursor, Size
from ptycassette.recording.io.rescrub import cassette_session, scrub_cassette
from ptycassette.scrub.session import default_scrubber
from ptycassette.testing import manifest_of, write_cassette

pytestmark = pytest.mark.integration

KEY = "".join(["sk", "-", "ant", "-api03-", "Zq7Lm2Xc9Vb4Nn8Kd3Fg6Hj1Wp5Rt0Ys" * 2, "AA"])


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory and an environment that hold nothing."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(tmp_path)
    return home


def leaky(path: Path) -> Path:
    """A cassette that says clean and is not."""
    frame = FrameRecord(
        seq=1,
        t_ms=0,
        size=Size(24, 80),
        text=(f"key {KEY[:70]}", KEY[70:]),
        cursor=Cursor(0, 0),
        raw_start=0,
        raw_end=0,
        parser_offset=0,
        title=KEY,
    )
    manifest = manifest_of()
    command = msgspec.structs.replace(manifest.command, argv=("agent", KEY))
    write_cassette(
        path,
        Output(0, f"key \x1b[31m{KEY}\x1b[0m\r\n".encode()),
        frame,
        Typed(1, KEY.encode()),
        Resized(2, Size(30, 90)),
        Signalled(3, "int"),
        Noted(4, {"text": base64.b64encode(KEY.encode()).decode()}),
        Finished(t_us=5),
        manifest=msgspec.structs.replace(manifest, command=command),
    )
    return path


def everything(path: Path) -> str:
    """All bytes of a cassette."""
    return "".join(file.read_text(errors="replace") for file in sorted(path.iterdir()))


def test_a_leaky_cassette_is_found_and_cleaned(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """verify-scrub says 6, scrub cleans, verify-scrub says 0."""
    path = leaky(tmp_path / "t.cassette")

    assert main(["verify-scrub", str(path)]) == 6
    assert main(["scrub", str(path), "--explain"]) == 0
    assert main(["verify-scrub", str(path)]) == 0
    told = capsys.readouterr().out
    assert "rule anthropic-token" in told
    assert KEY[13:25] not in told
    assert KEY[13:25] not in everything(path)
    assert main(["verify", str(path)]) == 0


def test_a_secret_in_the_name_of_a_cassette_is_found(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A name is published as well; scrubbing does not rename, so the finding stays."""
    path = tmp_path / f"{KEY}.cassette"
    write_cassette(path, Output(0, b"nothing\r\n"), Finished(t_us=5))

    assert main(["verify-scrub", str(path)]) == 6
    assert "rule anthropic-token" in capsys.readouterr().out


def test_scrubbing_keeps_lengths_numbers_and_times(home: Path, tmp_path: Path) -> None:
    """Offsets hold, and argv gets a name for what stood there."""
    path, target = leaky(tmp_path / "t.cassette"), tmp_path / "clean.cassette"
    assert main(["scrub", str(path), "--output", str(target)]) == 0
    with open_cassette(path) as before, open_cassette(target) as after:
        assert [(e.seq, e.t_us, e.kind, len(e.data)) for e in before.events()] == [
            (e.seq, e.t_us, e.kind, len(e.data)) for e in after.events()
        ]
        assert after.manifest.command.argv == ("agent", "<anthropic-token>")
        assert after.scrub_report.status == "redacted"
        (frame,) = after.frames()
        assert frame.text == (f"key {'x' * 70}", "x" * len(KEY[70:]))


def test_a_clean_cassette_is_not_touched(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing to do, nothing written."""
    path = tmp_path / "t.cassette"
    write_cassette(path, Output(0, b"fine\r\n"))
    before = everything(path)

    assert main(["scrub", str(path), "--json"]) == 0
    assert everything(path) == before
    assert json.loads(capsys.readouterr().out)["replaced"] == []


def test_probed_documents_are_scrubbed(home: Path, tmp_path: Path) -> None:
    """Quota and discovery hold accounts."""
    source = tmp_path / "t.cassette"
    leaky(source)
    scrubbed = tmp_path / "u.cassette"
    assert main(["scrub", str(source), "--output", str(scrubbed)]) == 0
    with open_cassette(scrubbed) as cassette:
        cassette.quota = QuotaRecord(source="bob.smith@corp.io", status="ok")
        cassette.discovery = DiscoveryRecord(source="x", status="ok")
        meta, events = cassette_session(cassette, environment={})
        first = next(default_scrubber().events(meta, events))

    assert isinstance(first, Probed)
    assert first.quota == QuotaRecord(source="<email>", status="ok")


def test_values_are_declared_by_variable_and_by_file(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Never on the command line, where everybody can read them."""
    path = tmp_path / "t.cassette"
    write_cassette(path, Output(0, b"first-phrase-here and open-sesame-now\r\n"))
    monkeypatch.setenv("PHRASE", "first-phrase-here")
    (tmp_path / "more.txt").write_text("open-sesame-now\n")
    options = ["--known-env", "PHRASE", "--known-file", str(tmp_path / "more.txt")]

    assert main(["verify-scrub", str(path), *options]) == 6
    assert main(["scrub", str(path), *options]) == 0
    with open_cassette(path) as cassette:
        assert b"".join(cassette.raw()) == b"x" * 17 + b" and " + b"x" * 15 + b"\r\n"


def test_a_variable_that_is_not_there_is_an_error(home: Path, tmp_path: Path) -> None:
    """A typo must not leave the secret in."""
    path = tmp_path / "t.cassette"
    write_cassette(path, Output(0, b"fine\r\n"))

    assert main(["scrub", str(path), "--known-env", "NO_SUCH_VARIABLE"]) == 2


def test_volatile_facts_are_scrubbed_on_demand(home: Path, tmp_path: Path) -> None:
    """Clocks and PIDs, for who wants the same bytes every time."""
    path = tmp_path / "t.cassette"
    write_cassette(path, Output(0, b"at 2026-01-02T10:11:12Z pid 4711\r\n"))
    assert main(["scrub", str(path), "--scrub", "volatile"]) == 0
    with open_cassette(path) as cassette:
        assert b"".join(cassette.raw()) == b"at 0000-00-00X00:00:00X pid 0000\r\n"


def test_json_says_what_was_found(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """For machines."""
    path = leaky(tmp_path / "t.cassette")

    assert main(["verify-scrub", "--json", str(path)]) == 6
    document = json.loads(capsys.readouterr().out)
    assert document["ok"] is False
    assert any("anthropic-token" in line for line in document["cassettes"][0]["findings"])


def test_nothing_is_written_when_something_would_be_left(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scrubber in whose result its second reader finds something publishes nothing."""
    path = leaky(tmp_path / "t.cassette")
    before = everything(path)
    scrubber = default_scrubber()
    findings = tuple(f"finding {number}" for number in range(7))
    monkeypatch.setattr(type(scrubber), "left", findings)
    with pytest.raises(SecretLeftError, match="and 2 more"):
        scrub_cassette(path, scrubber)
    assert everything(path) == before


def test_files_that_this_version_cannot_read_are_refused(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A provider tape of a later version may hold anything."""
    path = leaky(tmp_path / "t.cassette")
    monkeypatch.setattr("ptycassette.recording.io.rescrub.REQUIRED_FILES", ())
    with pytest.raises(RefusedError, match="cannot scrub"):
        scrub_cassette(path, default_scrubber())


def test_frames_of_our_emulator_are_made_again(home: Path, tmp_path: Path) -> None:
    """They are the frames of the scrubbed bytes."""
    recorded = tmp_path / "t.cassette"
    script = f"printf '{KEY}\\r\\n'; printf 'done\\r\\n'"
    assert main(["rec", "--headless", "--no-scrub", str(recorded), "--", "sh", "-c", script]) == 0

    assert main(["verify-scrub", str(recorded)]) == 6
    assert main(["scrub", str(recorded)]) == 0
    assert main(["verify", "--rederive", str(recorded)]) == 0
