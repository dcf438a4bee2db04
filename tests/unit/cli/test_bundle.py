"""``bundle capture``, ``bundle export`` and ``bundle verify``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ptycassette.seal.bundle.exporting import Demands, apply_bundle, capture_bundle, embedding_text

TAPE = Path(__file__).resolve().parents[3] / "fixtures" / "tapes" / "client-tape"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable[..., Any]) -> Path:
    """A folder with a key and a trust file."""
    monkeypatch.chdir(tmp_path)
    assert run("seal", "--new-key", "k").status == 0
    Path("t.toml").write_text(f'[keys.me]\npublic_key = "{Path("k.pub").read_text().strip()}"\n')
    return tmp_path


def test_a_bundle_of_a_tape_holds_for_its_own_record(place: Path, run: Callable[..., Any]) -> None:
    """And for no other one."""
    for entry in (1, 2):
        made = run(
            "bundle", "export", TAPE, "--entry", entry, "--key", "k", "-o", f"{entry}.rr",
            "--actual", f"{entry}.json",
        )  # fmt: skip
        assert made.status == 0, made.err
    good = run("bundle", "verify", "1.rr", "1.json", "--trust", "t.toml")
    other = run("bundle", "verify", "1.rr", "2.json", "--trust", "t.toml", "--json")
    nobody = run("bundle", "verify", "1.rr", "1.json")

    assert (good.status, good.text) == (0, "1.rr: holds, signed by me\n")
    assert (other.status, nobody.status) == (1, 7)
    assert "InputHashMismatch:messages_sha256" in json.loads(other.text)["errors"]


def test_what_cannot_be_a_bundle_says_why(place: Path, run: Callable[..., Any]) -> None:
    """No such entry; no tape; a key and none."""
    minimal = TAPE.parents[1] / "v1" / "minimal"

    assert run("bundle", "export", TAPE, "--entry", "99", "--unsigned").status == 3
    assert run("bundle", "export", minimal, "--entry", "1", "--unsigned").status == 4
    assert run("bundle", "export", TAPE, "--entry", "1", "--unsigned", "--key", "k").status == 2
    assert run("bundle", "export", TAPE, "--entry", "1").status == 2
    assert json.loads(run("bundle", "export", TAPE, "--entry", "1", "--unsigned").text)["model"]


STEP: dict[str, Any] = {
    "model": {"vendor": "anthropic", "id": "m-1", "fingerprint": "fp"},
    "sampling": {"temperature": 0, "top_p": 1},
    "inputs": {"system_prompt": "be kind", "messages": [{"role": "user", "content": "hi"}]},
    "runtime": {"class": "cloud"},
    "expected": {"transcript": {"messages": [{"role": "assistant", "content": "hello"}]}},
    "tolerance": {"level": "byte"},
}


def test_a_step_is_captured_without_a_tape(place: Path, run: Callable[..., Any]) -> None:
    """Signed, and it holds for its own record alone; the bundle holds no plain text."""
    Path("step.json").write_text(json.dumps(STEP))
    made = run("bundle", "capture", "step.json", "--key", "k", "-o", "s.rr", "--actual", "s.json")
    good = run("bundle", "verify", "s.rr", "s.json", "--trust", "t.toml")
    actual = json.loads(Path("s.json").read_text())
    actual["output"]["transcript"]["messages"][0]["content"] = "hello!"
    Path("other.json").write_text(json.dumps(actual))
    other = run("bundle", "verify", "s.rr", "other.json", "--trust", "t.toml")

    assert (made.status, good.status, other.status) == (0, 0, 1), (made.err, good.text)
    assert "hello" not in Path("s.rr").read_text()
    assert "be kind" not in Path("s.rr").read_text()
    assert run("bundle", "capture", "step.json", "--key", "k", "-o", "s.rr").status == 6


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"sampling": {"temperature": 0}}, "step.sampling.top_p"),
        ({"more": 1}, "step"),
        ({"tolerance": {"level": "semantic", "threshold": 0.9}}, "semantic_embedding"),
        ({"expected": {}}, "transcript_sha256"),
    ],
)
def test_what_is_no_step_says_what_is_wrong(
    place: Path, run: Callable[..., Any], change: dict[str, Any], named: str
) -> None:
    """With the status of a file that is not valid, and no bundle."""
    Path("step.json").write_text(json.dumps({**STEP, **change}))
    done = run("bundle", "capture", "step.json", "--unsigned", "-o", "s.rr")

    assert done.status == 4
    assert named in done.err
    assert not Path("s.rr").exists()


def test_an_export_may_ask_for_the_meaning(place: Path, run: Callable[..., Any]) -> None:
    """By the embedding of the answer; an answer that means another thing does not hold."""
    Path("e.json").write_text("[1.0, 0.0, 0.5]")
    words = ("bundle", "export", TAPE, "--entry", 1, "--key", "k", "--level", "semantic")
    made = run(
        *words, "--embedding", "e.json", "--threshold", 0.9, "-o", "s.rr", "--actual", "s.json"
    )
    good = run("bundle", "verify", "s.rr", "s.json", "--trust", "t.toml")
    actual = json.loads(Path("s.json").read_text())
    for numbers, status in (([1.0, 0.1, 0.5], 0), ([0.0, 1.0, 0.0], 1)):
        actual["output"]["embedding"] = embedding_text(numbers)
        Path("other.json").write_text(json.dumps(actual))
        assert run("bundle", "verify", "s.rr", "other.json", "--trust", "t.toml").status == status

    assert (made.status, good.status) == (0, 0), (made.err, good.text)
    assert run(*words, "--threshold", 0.9).status == 2
    assert run(*words).status == 2
    Path("e.json").write_text("[0, 0]")
    assert run(*words, "--embedding", "e.json", "--threshold", 0.9).status == 2
    Path("e.json").write_text('["a"]')
    assert run(*words, "--embedding", "e.json", "--threshold", 0.9).status == 2


def test_a_step_is_taken_again_from_python() -> None:
    """It is not, where the inputs are others; another answer does not hold."""
    bundle = capture_bundle(STEP).bundle
    asked: list[Any] = []

    def model(text: str) -> Callable[..., dict[str, Any]]:
        def run(given: Any, inputs: Any) -> dict[str, Any]:
            asked.append((given["model"]["id"], inputs["messages"]))
            return {"transcript": {"messages": [{"role": "assistant", "content": text}]}}

        return run

    demands = Demands(allow_unsigned=True)
    good = apply_bundle(bundle, STEP["inputs"], model("hello"), demands)
    other = apply_bundle(bundle, STEP["inputs"], model("hello?"), demands)
    elsewhere = {**STEP["inputs"], "system_prompt": "be rude"}
    refused = apply_bundle(bundle, elsewhere, model("hello"), demands)
    untrusted = apply_bundle(bundle, STEP["inputs"], model("hello"), Demands())

    assert good.ok, good.errors
    assert "TranscriptHashMismatch" in other.errors[0]
    assert refused.errors == ("InputHashMismatch:system_prompt_sha256",)
    assert untrusted.exit_status == 7
    assert asked == [("m-1", STEP["inputs"]["messages"])] * 2
