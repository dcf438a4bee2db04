"""A client draws the boundary of a multipart body anew for each upload; all else is compared."""

from __future__ import annotations

import json
import os
import uuid
from functools import partial
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptycassette.tape.matching.checking import changed_questions, check_tape
from ptycassette.tape.matching.matcher import Hit
from ptycassette.tape.matching.misses import Miss
from ptycassette.tape.matching.question import (
    BOUNDARY,
    Question,
    QuestionKeys,
    Skeletons,
    boundary_place,
    has_boundaries,
    question_key,
)
from tests.tapes import KEY, answered, asked, cli_rules, matcher, tape, with_secrets

RULES = cli_rules()
FORM = "multipart/form-data; boundary={}"
BINARY = bytes(range(256))
FIELDS = {'name="purpose"': b"batch", 'name="file"; filename="a.bin"': BINARY}


def form(fields: dict[str, bytes], boundary: str) -> bytes:
    """A body of RFC 7578."""
    line = b"--" + boundary.encode()
    parts = [
        b"%b\r\nContent-Disposition: form-data; %b\r\n\r\n%b\r\n" % (line, name.encode(), content)
        for name, content in fields.items()
    ]
    return b"".join((*parts, line, b"--\r\n"))


def upload(
    boundary: str, fields: dict[str, bytes] | None = None, *, header: str = FORM, **more: Any
) -> Question:
    """A request that sends a form."""
    headers = (("content-type", header.format(boundary)),)
    return asked(form(FIELDS if fields is None else fields, boundary), headers=headers, **more)


def key_of(question: Question) -> str:
    """The key of a question under the built-in rules."""
    return question_key(KEY, Skeletons(RULES, {}).of(question))


@pytest.mark.parametrize("header", [FORM, 'multipart/form-data; boundary="{}"; charset=utf-8'])
@pytest.mark.parametrize("live", ["b", "-" * 24 + "x0", "0" * 70, "z" * 200, str(uuid.UUID(int=7))])
def test_another_boundary_is_a_hit(header: str, live: str) -> None:
    """Whatever its length is, and however the header quotes it."""
    recorded = tape((upload("=_first", header=header), {"id": 1}), by=RULES)

    assert check_tape(recorded, RULES, key=KEY).findings == ()
    assert answered(matcher(recorded, RULES).ask(upload(live, header=header))) == {"id": 1}


def test_two_uploads_may_share_a_boundary_or_not() -> None:
    """Boundaries are not renamed one to one: a client may draw one for all, or one for each."""
    first, second = FIELDS, {**FIELDS, 'name="purpose"': b"assistants"}
    recorded = tape((upload("a", first), {"n": 1}), (upload("a", second), {"n": 2}), by=RULES)
    run = matcher(recorded, RULES)

    assert answered(run.ask(upload("x", first))) == {"n": 1}
    assert answered(run.ask(upload("y", second))) == {"n": 2}


@pytest.mark.parametrize(
    "change",
    [
        {**FIELDS, 'name="purpose"': b"batchy"},
        {'name="purpose"': b"batch", 'name="file"; filename="b.bin"': BINARY},
        {**FIELDS, 'name="file"; filename="a.bin"': BINARY[::-1]},
        {**FIELDS, 'name="more"': b""},
        {'name="purpose"': b"batch"},
        dict(reversed(FIELDS.items())),
    ],
)
def test_what_is_sent_is_compared(change: dict[str, bytes]) -> None:
    """Fields, file names, contents and the order of the parts."""
    run = matcher(tape((upload("a"), {}), by=RULES), RULES)

    assert isinstance(run.ask(upload("b", change)), Miss)
    assert isinstance(run.ask(upload("c")), Hit)


def test_a_boundary_within_the_content_is_content() -> None:
    """Only a line of two hyphens and the boundary separates parts."""
    fields = {'name="f"': b"x--a\r\n- --a\r\n--ab\r\na"}
    skeleton = Skeletons(RULES, {}).of(upload("a", fields))

    assert sum(not token.where for token in skeleton.tokens) == 2
    assert key_of(upload("a", fields)) != key_of(upload("a", {'name="f"': b""}))


def test_parts_may_have_parts_and_ids() -> None:
    """A batch of requests: multipart/mixed with a part of its own, and ids of this run."""

    def batch(outer: str, inner: str, name: str) -> Question:
        body = (
            f"--{outer}\r\nContent-ID: <{name} + 1>\r\n\r\nPOST /v1/x\r\n\r\n"
            f"--{outer}\r\nContent-Type: multipart/related;\r\n boundary={inner}\r\n\r\n"
            f'--{inner}\r\n\r\n{{"id": "{name}"}}\r\n--{inner}--\r\n--{outer}--\r\n'
        )
        headers = (("content-type", f"multipart/mixed; boundary={outer}"),)
        return asked(body.encode(), headers=headers)

    first, second = (str(uuid.UUID(int=number)) for number in (1, 2))
    recorded = tape((batch("a", "b", first), {"made": first}), by=RULES)

    assert not list(changed_questions(recorded, RULES, key=KEY))
    assert answered(matcher(recorded, RULES).ask(batch("cc", "ddd", second))) == {"made": second}


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_uploads_that_differ_in_a_masked_value_find_their_answers(order: tuple[int, int]) -> None:
    """A secret in a field and in the name of a file."""
    secrets = ["".join(f"{part}{seed}q" for part in range(9)) + "Zk" for seed in range(2)]

    def sent(boundary: str, secret: str) -> Question:
        name = f'name="file"; filename="{secret}.txt"'
        body = form({name: f"key={secret}".encode()}, boundary)
        headers = (("content-type", FORM.format(boundary)),)
        return with_secrets(body, secret, headers=headers)

    recorded = tape(*((sent(f"r{n}", one), {"n": n}) for n, one in enumerate(secrets)), by=RULES)
    stored = b"".join(one.question() for one in recorded)
    run = matcher(recorded, RULES)

    assert not any(secret.encode() in stored for secret in secrets)
    assert [answered(run.ask(sent(f"live{n}", secrets[n]))) for n in order] == [
        {"n": n} for n in order
    ]


def test_a_masked_boundary_is_still_one() -> None:
    """A scrubber may take a random boundary for a key, in the body or not."""
    question = upload("a1b2c3d4")
    stored = question.body.replace(b"a1b2c3d4", b"xxxxxxxx")
    kept = QuestionKeys(RULES, {}, key=KEY).of(msgspec.structs.replace(question, stored=stored))

    assert kept.key == key_of(upload("other"))


def old_tape() -> list[Any]:
    """A tape of the time when a boundary was a part of the key like all else."""
    recorded = tape((upload("always"), {"n": 1}), by=RULES)
    skeleton = Skeletons(RULES, {}, boundaries=False).of(upload("always"))
    key = question_key(KEY, skeleton)
    recorded[0].entry = msgspec.structs.replace(recorded[0].entry, key=key, tokens=())
    return recorded


def test_a_tape_of_an_earlier_version_is_what_it_was() -> None:
    """It still verifies, and answers what it answered before."""
    assert not has_boundaries([old_tape()[0].entry])
    assert not list(changed_questions(old_tape(), RULES, key=KEY))
    assert answered(matcher(old_tape(), RULES).ask(upload("always"))) == {"n": 1}
    assert isinstance(matcher(old_tape(), RULES).ask(upload("another")), Miss)


def test_a_miss_names_the_fields_that_differ() -> None:
    """Binary contents are shown by size and digest."""
    fields = {**FIELDS, 'name="purpose"': b"assistants", 'name="file"; filename="a.bin"': b"\xff"}
    miss = matcher(tape((upload("a"), {}), by=RULES), RULES).ask(upload("b", fields))

    assert isinstance(miss, Miss)
    assert [(one.path, one.recorded, one.live) for one in miss.differences] == [
        ("part 1 (purpose)", "batch", "assistants"),
        (
            "part 2 (file)",
            "256 bytes, SHA-256 40aff2e9d2d8922e",
            "1 bytes, SHA-256 a8100ae6aa1940d0",
        ),
    ]


def test_a_miss_of_binary_data_shows_its_size_and_digest() -> None:
    """Bytes that are no text mean nothing to a reader."""
    miss = matcher(tape((BINARY, {}), by=RULES), RULES).ask(asked(BINARY * 5))

    assert isinstance(miss, Miss)
    assert str(miss.differences[0]) == (
        "body: recorded '256 bytes, SHA-256 40aff2e9d2d8922e',"
        " asked '1,280 bytes, SHA-256 d414b085826eb067'"
    )


@given(
    st.lists(
        st.sampled_from(
            ["boundary", "=", ";", " ", '"', "\\", "\n", "a", "é", "\udce9", "*0", "*", "''", "%41"]
        ),
        max_size=12,
    ).map("".join),
    st.lists(st.sampled_from([b"--", b"a", b"\r\n", b"\n", b"\t", b"\xff", b"-"])).map(b"".join),
)
def test_any_header_and_body_have_a_key_that_the_tape_makes_again(header: str, body: bytes) -> None:
    """No header breaks the recorder, and the check before publishing passes."""
    headers = (("content-type", f"multipart/{header}"),)
    recorded = tape((asked(body, headers=headers), {}), by=RULES)

    assert not list(changed_questions(recorded, RULES, key=KEY))
    assert isinstance(matcher(recorded, RULES).ask(asked(body, headers=headers)), Hit)


@given(
    st.dictionaries(st.from_regex(r"[a-z]{1,5}", fullmatch=True), st.binary(max_size=40)),
    st.from_regex(r"[a-zA-Z0-9'_-]{8,70}", fullmatch=True),
)
def test_the_key_does_not_depend_on_the_boundary(fields: dict[str, bytes], live: str) -> None:
    """For any fields and any boundary."""
    named = {f'name="{name}"': content.hex().encode() for name, content in fields.items()}

    assert key_of(upload("the recorded one", named, header='multipart/x; boundary="{}"')) == key_of(
        upload(live, named, header='multipart/x; boundary="{}"')
    )


@pytest.mark.parametrize(
    "body",
    [b"-" * (5 << 20), b"\n--a" * (1 << 20), b"--a" + b"\t" * (5 << 20), os.urandom(5 << 20)],
    ids=["hyphens", "delimiters", "tabs", "random"],
)
def test_five_hostile_megabytes_have_few_tokens(body: bytes) -> None:
    """A body with thousands of parts is compared by its bytes, so that an entry stays small."""
    for boundary in "a-":
        question = asked(body, headers=(("content-type", FORM.format(boundary)),))
        assert len(Skeletons(RULES, {}).of(question).tokens) < 10


@pytest.mark.parametrize(
    "header", ["", "text/plain; boundary=a", "multipart/form-data", "x" * 9999]
)
def test_without_a_boundary_a_body_is_compared_by_its_bytes(header: str) -> None:
    """The first line of a body proves nothing."""
    send = partial(asked, headers=(("content-type", header),))
    run = matcher(tape((send(b"--a\r\n"), {}), by=RULES), RULES)

    assert boundary_place(header) is None
    assert all(token.type != BOUNDARY for token in run.recorded.exchanges[0].entry.tokens)
    assert isinstance(run.ask(send(b"--b\r\n")), Miss)
    assert isinstance(run.ask(send(b"--a\r\n")), Hit)


def test_json_within_a_multipart_request_is_json() -> None:
    """A wrong header changes nothing for a body that has no parts."""
    headers = (("content-type", FORM.format("a")),)
    run = matcher(tape((asked({"a": 1, "b": 2}, headers=headers), {}), by=RULES), RULES)
    other = json.dumps({"b": 2, "a": 1}).encode()

    assert isinstance(run.ask(asked(other, headers=(("content-type", FORM.format("b")),))), Hit)
