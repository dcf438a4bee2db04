"""Laws: scrubbing never makes a tape unpublishable, and the same questions still match it."""

from __future__ import annotations

import json
import random
import string
import tempfile
import uuid
from base64 import b64encode
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st

from ptycassette.agents.rerun.report import TapeDesk
from ptycassette.scrub.session import default_scrubber
from ptycassette.tape.matching.matcher import Hit
from ptycassette.tape.matching.question import Question
from tests.examples import examples
from tests.tapes import cli_rules
from tests.unit.recording.tape_doubles import META, Saved, http

NAMES = (
    *("NAME", "API_KEY", "TOKEN", "password", "DB_PASSWORD", "secret", "session_id", "user_id"),
    *("access_token", "authorization", "id", "commit", "key", "content"),
)
ALPHABET = string.ascii_letters + string.digits


def secret(rng: random.Random) -> str:
    """A value that rules may find, or one that looks like it."""

    def of(length: int, alphabet: str = ALPHABET) -> str:
        return "".join(rng.choices(alphabet, k=length))

    return rng.choice(
        [
            "ghp_" + of(36),
            "sk-ant-api03-" + of(80) + "AA",
            "AKIA" + of(16, string.ascii_uppercase + "234567"),
            str(uuid.UUID(int=rng.getrandbits(128))),
            of(24),
            of(40, "0123456789abcdef"),
            of(6, string.digits),
            "letmein" + of(3),
            f"bob.smith{of(2)}@corp.io",
            'p"q\\é' + of(12),
        ]
    )


def written(rng: random.Random, value: str) -> str:
    """The value as tools print it: in colour, escaped, wrapped, in JSON, in base64."""
    cut = rng.randrange(1, len(value) - 1)
    width = rng.randrange(12, 40)
    return rng.choice(
        [
            value,
            f"\x1b[01;31m\x1b[K{value[:cut]}\x1b[m\x1b[K{value[cut:]}",
            "".join(f"\\u{ord(char):04x}" for char in value),
            json.dumps({"t": value, "n": 1}),
            json.dumps({"c": f"\x1b[1m{value[:cut]}\x1b[0m{value[cut:]}"}),
            b64encode(f"t={value}".encode()).decode(),
            "\n".join(value[at : at + width] for at in range(0, len(value), width)),
        ]
    )


def text(rng: random.Random) -> str:
    """A text with such a value."""
    value, name = written(rng, secret(rng)), rng.choice(NAMES)
    return rng.choice(
        [
            f"{name}={value}",
            f"{name}: {value}",
            f"export {name}='{value}'",
            f"saw {value} ok",
            f'{{"{name}": "{value}"}}',
            f"curl -u bob:{value} https://h",
            f"Authorization: Bearer {value}",
            f"https://u:{value}@host/p?key={value}",
            f"line one\n{name}={value}\nline three",
            f"/home/bob/{value}/x /tmp/{value}.txt",
        ]
    )


def value_of(rng: random.Random, depth: int = 0) -> Any:
    """A value of JSON."""
    kind = rng.randrange(6) if depth < 3 else 5
    if kind == 0:
        return {rng.choice(NAMES): value_of(rng, depth + 1) for _ in range(rng.randrange(1, 4))}
    if kind == 1:
        return [value_of(rng, depth + 1) for _ in range(rng.randrange(1, 4))]
    if kind == 2:
        return rng.choice([12345678, 4111111111111111, True, None, rng.getrandbits(40)])
    return secret(rng) if kind == 3 else text(rng)


def question(rng: random.Random) -> bytes:
    """A body of a question, in which some tokens may be spelt in escapes throughout."""
    messages = [{"role": "tool", "content": value_of(rng)} for _ in range(rng.randrange(1, 4))]
    body = json.dumps({"model": "m", "messages": messages}, ensure_ascii=rng.random() < 0.5)
    if rng.random() < 0.3:
        spelt = "".join(f"\\u{ord(char):04x}" for char in secret(rng))
        body = f'{body[:-1]}, "z": "{spelt}"}}'
    return body.encode()


@examples(60)
@given(st.integers(0, 2**32))
@example(19)
@example(31)
@example(45)
def test_a_scrubbed_question_is_published_and_matches_itself(seed: int) -> None:
    """Whatever is masked of it, its entry is served to the question as it was asked."""
    body = question(random.Random(seed))
    with tempfile.TemporaryDirectory() as folder:
        exchanges = Saved(Path(folder), http(1, body, b'{"ok": true}')).exchanges()
        desk = TapeDesk(
            exchanges,
            cli_rules(),
            key=bytes.fromhex(META.options["tape"]["key"]),
            declared={"tmp": tempfile.gettempdir()},
            scrubber=default_scrubber,
        )
        answer = desk.ask(
            Question(
                kind="http",
                method="POST",
                upstream="https://api.openai.com",
                target="/v1/responses",
                headers=(("content-type", "application/json"),),
                body=body,
            )
        )
    assert isinstance(answer, Hit)


def head(rng: random.Random) -> tuple[str, str]:
    """A target, and the value of a header that is compared."""
    value = secret(rng).replace(" ", "+")
    target = rng.choice(
        ["/v1/responses", f"/v1/files/{value}/content", f"/v1/responses?q={value}&n=1"]
    )
    return target.encode("ascii", "ignore").decode(), rng.choice(["beta-1", f"beta-{value}"])


def asked_of(body: bytes, target: str, beta: str) -> Question:
    """A question of a run."""
    return Question(
        kind="http",
        method="POST",
        upstream="https://api.openai.com",
        target=target,
        headers=(("content-type", "application/json"), ("anthropic-beta", beta)),
        body=body,
    )


@examples(40)
@given(st.integers(0, 2**32), st.booleans())
@example(8, False)
@example(11, True)
@example(27, False)
@example(29, True)
def test_each_question_of_a_scrubbed_tape_finds_its_own_answer(seed: int, moved: bool) -> None:
    """In any order, also where it was masked for what only another question gives away.

    Names that differ in each run, here the folder, may have another length in this one.
    """
    rng = random.Random(seed)
    here, there = "/srv/app", "/srv/another-copy" if moved else "/srv/app"
    meta = msgspec.structs.replace(META, cwd=here)
    bodies = [b'{"cwd": "%s", %s' % (here.encode(), question(rng).lstrip(b"{")) for _ in range(4)]
    heads = [head(rng) for _ in bodies]
    items = [
        item
        for number, (body, (target, beta)) in enumerate(zip(bodies, heads, strict=True), 1)
        for item in http(
            number, body, b'{"of": %d}' % number, t_us=1000 * number, target=target,
            headers=(("content-type", "application/json"), ("anthropic-beta", beta)),
        )
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        exchanges = Saved(Path(folder), items, meta=meta).exchanges()
        desk = TapeDesk(
            exchanges,
            cli_rules(),
            key=bytes.fromhex(META.options["tape"]["key"]),
            declared={"cwd": there, "tmp": tempfile.gettempdir()},
            scrubber=default_scrubber,
        )
        found = {}
        for number in rng.sample(range(len(bodies)), len(bodies)):
            body = bodies[number].replace(here.encode(), there.encode(), 1)
            answer = desk.ask(asked_of(body, *heads[number]))
            found[number + 1] = answer.entry.entry if isinstance(answer, Hit) else answer
    assert found == {number: number for number in found}
