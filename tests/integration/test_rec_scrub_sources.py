"""What a recording knows of secrets besides the rules: credential files, and the project's word."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest

from ptycassette import open_cassette, record
from ptycassette.errors import SecretLeftError
from ptycassette.recording.io.finalising import left_journals, recover
from ptycassette.system.files.state_dirs import journal_dir

pytestmark = pytest.mark.integration


def recorded(tmp_path: Path, home: Path, text: str) -> bytes:
    """The bytes of a recording of a program that prints ``text``."""
    with record(["printf", "%s", text], tmp_path / "c", env={"HOME": str(home)}, cwd=home) as run:
        run.wait_exit()
    with open_cassette(tmp_path / "c") as cassette:
        return b"".join(cassette.raw())


def test_a_token_in_a_credential_file_of_the_program_is_scrubbed(tmp_path: Path) -> None:
    """No rule knows its form; the file of the program's home does."""
    token = "q" + secrets.token_hex(12)
    home = tmp_path / "home"
    home.mkdir()
    (home / ".npmrc").write_text(f"//registry.example/:_authToken={token}\n")
    shown = recorded(tmp_path, home, f"using {token} now")

    assert token.encode() not in shown
    assert shown.startswith(b"using ")


def test_what_the_project_declares_is_scrubbed(tmp_path: Path) -> None:
    """``ptycassette.toml`` in the directory where the program runs."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "ptycassette.toml").write_text(
        '[[scrub.rules]]\nname = "ticket"\npattern = "ACME-[0-9]{6}"\nanchors = ["ACME-"]\n'
    )
    shown = recorded(tmp_path, home, "ticket ACME-123456 closed")

    assert b"123456" not in shown


def test_a_name_that_holds_a_secret_is_not_published(tmp_path: Path) -> None:
    """Neither cassette nor diagnostic; under another name the recording can be had."""
    token = "ghp" + "_" + secrets.token_hex(18)
    with (
        pytest.raises(SecretLeftError, match="the name of the cassette"),
        record(["echo", "hi"], tmp_path / f"with-{token}.cassette") as session,
    ):
        session.wait_exit()
    left = list(tmp_path.iterdir())
    (journal,) = [one for one in left_journals(journal_dir()) if str(tmp_path) in one.target]
    told = recover(Path(journal.path), output=tmp_path / "other.cassette")

    assert (left, told.outcome) == ([], "published")
    assert token not in journal.target
