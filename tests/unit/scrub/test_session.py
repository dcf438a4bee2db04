"""The scrubber of a session: every channel, one report, nothing left."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Iterator
from string import ascii_letters, digits
from types import ModuleType
from typing import Any

import msgspec
import pytest

from ptycassette.model.records import (
    DiscoveryRecord,
    Finished,
    JournalEvent,
    Noted,
    Output,
    Probed,
    QuotaRecord,
    Resized,
    SessionMeta,
    Signalled,
    Typed,
)
from ptycassette.model.screen import Size
from ptycassette.scrub.rules.rule_set import Rule
from ptycassette.scrub.session import SessionScrubber, default_scrubber
from ptycassette.testing import scrub_chunks


def scrub(meta: SessionMeta, events: list[JournalEvent], **options: Any) -> list[JournalEvent]:
    """The events, scrubbed."""
    return list(default_scrubber(**options).events(meta, lambda: iter(events)))


def test_what_follows_an_option_is_known(meta: SessionMeta, value: str) -> None:
    """A value without a shape is told by the argument before it, and goes from the screen too."""
    scrubber = default_scrubber()
    head = msgspec.structs.replace(meta, argv=("agent", "--api-key", value, "--model", "gpt-9"))
    (after,) = scrubber.events(head, lambda: iter([Output(0, f"using {value}".encode())]))

    assert isinstance(after, Output)
    assert after.data == b"using " + b"x" * len(value)
    assert [scrubber.text(word, channel="argv") for word in head.argv] == [
        "agent", "--api-key", "<secret>", "--model", "gpt-9",
    ]  # fmt: skip


BEGIN = f"-----BEGIN RSA {'PRIVATE'} KEY-----"
DIGITS_OF_KEY = "aB3dE5gH7jK9mN1p"
SPINNER = "\u25a0\u25a0\u25a0\u25a0\u25a0\u25a0\u2b1d\u2b1d"
GHP = "ghp_" + "4fK9xQ2m7ZtR" * 3
RANDOM = "aB3dE5gH7jK9mN1pQ2rS4tU6"
SHOWN: dict[str, tuple[str, str]] = {
    # What is shown, and what of it is secret.
    **{f"{tail!r} beside a secret": (f"export TOKEN={RANDOM}{tail}", RANDOM)
       for tail in ("\x1bc", "\x1bM", "\x1b\\", "\x1b[3", "\x9b31m")},
    # It has no cell: the masks take as many cells as what they replace.
    "a soft hyphen": (f"export TOKEN={RANDOM[:6]}\xad{RANDOM[6:]}", RANDOM),
    # The answer is joined to what was typed, and both were to the token above.
    "what is typed below a token and answered in capitals": (
        f"signed in with {GHP}\r\n> hello\r\nHELLO\r\n> ", GHP),
    # Code and sentences name the first line of a key, and go on.
    "what is said about a private key": (
        (f'if text.startswith("{BEGIN}"):\r\n    return load(text)\r\n'
        f"{BEGIN} begins a key of 2048 bits, as everybody knows who looked at one\r\n"
        f"\x1b[2J\x1b[2;1H{BEGIN}\x1b[3;1Hesc\x1b[1Cto\x1b[1Cinterrupt\x1b[1C12s"
        "\x1b[4;1HABCDEFGH12345678\r\n"), ""),
    "a spinner beside a key": (
        f"{BEGIN}\r\n{DIGITS_OF_KEY}\r\n{SPINNER}\r\ndone\r\n$ ls\r\n{SPINNER}\r\n",
        DIGITS_OF_KEY),
    # What stood in the row before names it for a moment; its password is masked already.
    "the rest of a URL": (
        "\x1b[HAZURE_STORAGE_KEY=deploy:xxxxxxxxxxxx@git.example.com/team/app.git\r\n", ""),
    "the beginning of a URL": ("TOKEN=tps://\r\n", ""),
}  # fmt: skip


@pytest.mark.parametrize("case", SHOWN)
def test_only_what_is_secret_of_what_is_shown_changes(case: str) -> None:
    """Control bytes, words, borders and spinners beside it stay."""
    shown, secret = SHOWN[case]
    torn = f"{secret[:6]}\xad{secret[6:]}"
    masked = shown.replace(torn, "x" * 6 + "\xad" + "x" * 18).replace(
        secret or "nothing", "x" * len(secret)
    )

    assert scrub_chunks([shown.encode()], rows=24, cols=80) == [masked.encode()]


@pytest.mark.parametrize(
    "between",
    [
        "\u200b",
        "\u200d",
        "\u2060",
        "\ufeff",
        "\xad",
        "\\\r\n",
        "\\\r\n    ",
        '" + "',
        "' +\r\n    '",
    ],
)
def test_a_known_token_that_is_torn_is_found(key: str, between: str) -> None:
    """Whatever a program puts inside; and that stays."""
    torn = f"{key[:30]}{between}{key[30:]}".encode()
    (after,) = scrub_chunks([torn], rows=24, cols=200, known=[key])

    assert after == ("x" * 30 + between + "x" * (len(key) - 30)).encode()


def test_the_border_beside_a_key_file_stays(value: str) -> None:
    """A frame of lines says nothing."""
    label = "YEK ETAVIRP"[::-1]
    page = f"-----BEGIN {label}-----│\r\n{value * 2} │ pane\r\n-----END {label}-----│\r\n"
    (after,) = scrub_chunks([page.encode()], rows=24, cols=80)

    assert value.encode() not in after
    assert after.count("│".encode()) == page.count("│")


VALUE = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8"
TORN = "WMWxAaGD" + "PZZxQX" + "Ub"
KEY_LINES = [f"-----{mark} RSA {'PRIVATE'} KEY-----" for mark in ("BEGIN", "END")]
ALIKE = "ghp_" + "vMYbnprykVjiRyY5dF1WEspdT07BYH9nZIJ1"
PAGE = "token: {}\r\n\r\nthe command\r\n{}\r\n\r\n{}\r\njobs\r\n"


def masked(*parts: str) -> str:
    """Parts that are kept and parts that are masked, in turn."""
    return "".join("x" * len(part) if at % 2 else part for at, part in enumerate(parts))


def torn(*cuts: int) -> str:
    """A secret key of AWS, with slashes in it."""
    first, second = cuts
    return f"{VALUE[:first]}/{VALUE[first:second]}/{VALUE[second:]}"


LEARNT: dict[str, tuple[dict[str, str], list[str], list[str]]] = {
    # The environment, what is shown, and what of it is left.
    **{
        f"base64 with slashes at {cuts} is no path": (
            {"AWS_SECRET_ACCESS_KEY": torn(*cuts), "APP_KEY_FILE_AT": "/home/app/keys/one"},
            [f"{torn(*cuts)} /home/app/keys/one"],
            [masked("", torn(*cuts), " /home/app/keys/one")],
        )
        for cuts in ((0, 9), (5, 12), (3, 21))
    },
    "user, host and address of whoever recorded": (
        {"USER": "alice7", "HOSTNAME": "blue-box", "EMAIL": "a@b.example", "HOST": "x"},
        ["alice7@blue-box alice77 a@b.example"], ["xxxxxx@xxxxxxxx alice77 xxxxxxxxxxx"],
    ),
    # What a rule found is looked for elsewhere only when it cannot be meant otherwise.
    "neither words nor pieces of addresses": (
        {},
        ["https://someone:orange@host/ bob42@services.corp.example.io\r\n",
         "an orange, and all services.corp of it"],
        [masked("https://someone:", "orange", "@host/ ", "bob42@services.corp.example.io", "\r\n"),
         "an orange, and all services.corp of it"],
    ),
    # Though the value goes on with it, by chance; the piece of the value beside it goes.
    "a letter of the word on the row above or below stays": (
        {}, [PAGE.format(ALIKE, ALIKE[21:], ALIKE[:14])],
        [PAGE.format(*(masked("", piece) for piece in (ALIKE, ALIKE[21:], ALIKE[:14])))],
    ),
    # They go where nothing names them; what stands there as a name stays.
    "letters that no name has": (
        {}, ["token=kqzxwvbnmt auth=sessiontoken\r\nnow kqzxwvbnmt and sessiontoken"],
        [masked("token=", "kqzxwvbnmt", " auth=sessiontoken\r\nnow ", "kqzxwvbnmt",
                " and sessiontoken")],
    ),
    # A second look takes the words of the other column for none of its lines.
    "beside a masked key": (
        {}, [beside := "\r\n".join(
            [KEY_LINES[0], *[f"{'x' * 28}   other words of the other column"] * 4, KEY_LINES[1], ""]
        )], [beside],
    ),
    # Its beginning was shown before the rest of it was.
    "a value that ends like a short word": (
        {}, ["".join(f"curl -u bob:{TORN[:at]} x\r\n" for at in (14, 16)), f"{TORN[-8:]} ."],
        ["".join(f"curl -u bob:{'x' * at} x\r\n" for at in (14, 16)), "xxxxxxxx ."],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", LEARNT)
def test_what_is_learnt_goes_and_nothing_else(meta: SessionMeta, case: str) -> None:
    """From the environment, and from what was shown before."""
    environment, shown, left = LEARNT[case]
    head = msgspec.structs.replace(meta, environment=environment)
    events: list[JournalEvent] = [Output(at, text.encode()) for at, text in enumerate(shown)]

    assert [e.data.decode() for e in scrub(head, events) if isinstance(e, Output)] == left


def test_a_token_goes_wherever_it_stands(meta: SessionMeta, key: str) -> None:
    """Found by its shape in one channel, it is removed from all."""
    events: list[JournalEvent] = [
        Output(0, f"key {key[:30]}".encode()),
        Output(1, f"\x1b[31m{key[30:]}\x1b[0m\r\n{key[:40]}…\r\n".encode()),
        Output(2, base64.b64encode(b"." + key.encode())),
        Typed(3, key.encode(), key=key),
        Noted(4, {"text": key[:20]}),
        Noted(5, {"text": key[20:], "whole": f"see {key}"}),
        Probed(6, QuotaRecord(source=key, status="ok"), DiscoveryRecord(source="x", status=key)),
        Resized(7, Size(30, 90)),
        Signalled(8, "int"),
        Finished(t_us=9, final_text=key, metadata={key: [key]}, failure=f"no {key}"),
    ]
    after = scrub(meta, events)
    text = json.dumps(msgspec.to_builtins(after)) + repr(after)

    assert not any(key[at : at + 8] in text for at in range(13, len(key) - 8))
    assert [type(event) for event in after] == [type(event) for event in events]
    assert [len(e.data) for e in after if isinstance(e, Output | Typed)] == [
        len(e.data) for e in events if isinstance(e, Output | Typed)
    ]


def test_structured_text_gets_named_placeholders(meta: SessionMeta, key: str) -> None:
    """A reader sees what kind of thing stood there."""
    alice = msgspec.structs.replace(meta, home="/home/alice7", cwd="/home/alice7/top-project")
    scrubber = default_scrubber()
    list(scrubber.events(alice, lambda: iter([])))

    assert scrubber.text(f"use {key} now", channel="argv") == "use <anthropic-token> now"
    assert scrubber.text("/home/alice7/x", channel="argv") == "$HOME/x"
    assert scrubber.text("/home/alice7/top-project/x", channel="argv") == "$PWD/x"
    assert scrubber.text("in /home/alice7/top-project.", channel="argv") == "in $PWD."
    assert scrubber.text("by alice7", channel="argv") == "by <user>"
    assert scrubber.value({"to": ["bob.smith@corp.io"]}, channel="x") == {"to": ["<email>"]}


FOLDERS = [
    *("/home/ada/work", "/home/ada/app", "/home/ada/tmp", "/home/ada", "/home/ada/a/b", "/app"),
    *("/tmp", "/root", "/root/src", "/workspaces/x", "/usr/src/app", "/home/ada/my work"),
]


@pytest.mark.parametrize("cwd", FOLDERS)
@pytest.mark.parametrize("home", ["/home/ada", "/root", "/", ""])
@pytest.mark.parametrize("around", ["{}", "--cd={}", "-C{}", "{}/x.py", "look at {} first", "a:{}"])
def test_the_work_folder_has_one_name_in_arguments_wherever_it_is(
    meta: SessionMeta, cwd: str, home: str, around: str
) -> None:
    """A replay in another folder is started with another path."""
    here = msgspec.structs.replace(meta, home=home, cwd=cwd)
    scrubber = default_scrubber()
    list(scrubber.events(here, lambda: iter([])))
    for end in ("", "/"):
        text = scrubber.text(around.format(f"{cwd}{end}"), channel="argv")
        assert text == around.format(f"$PWD{end}")
    if home not in {"", "/"} and not home.startswith(cwd):
        assert scrubber.text(around.format(home), channel="argv") == around.format("$HOME")


def test_a_folder_that_everybody_may_have_is_named_in_arguments_alone(meta: SessionMeta) -> None:
    """It is no secret on a screen, nor as the place of the program, nor inside of another path."""
    here = msgspec.structs.replace(meta, home="/root", cwd="/app", argv=("/app/run", "/app"))
    scrubber = default_scrubber()
    list(scrubber.events(here, lambda: iter([])))
    texts = ("/app/run", "/app", "/data/app", "/apple", "./app", "/root")

    assert [scrubber.text(text, channel="argv") for text in texts] == [
        *("/app/run", "$PWD", "/data/app", "/apple", "./app", "$HOME")
    ]
    assert [scrubber.text(text, channel="final") for text in texts] == [*texts]


def test_the_root_folder_is_named_alone(meta: SessionMeta) -> None:
    """Every path begins with it."""
    scrubber = default_scrubber()
    list(scrubber.events(msgspec.structs.replace(meta, home="/", cwd="/"), lambda: iter([])))
    texts = ("/", "--cd=/", "/etc", "a / b")

    assert [scrubber.text(text, channel="argv") for text in texts] == [
        *("$PWD", "--cd=$PWD", "/etc", "a / b")
    ]


@pytest.mark.parametrize("beside", [".py", "-old/x", "2", "_x", ".d/x", "é"])
def test_what_is_beside_the_work_folder_is_not_named_by_it(meta: SessionMeta, beside: str) -> None:
    """In another work folder ``$PWD.py`` would be another file. It is masked, as on a screen."""
    alice = msgspec.structs.replace(meta, home="/home/alice7", cwd="/home/alice7/top-project")
    scrubber = default_scrubber()
    list(scrubber.events(alice, lambda: iter([])))
    masked = scrubber.text(f"/home/alice7/top-project{beside} now", channel="argv")

    assert masked == "x" * len("/home/alice7/top-project") + f"{beside} now"


def test_encoded_secrets_in_structured_text_keep_their_form(meta: SessionMeta, key: str) -> None:
    """What is base64 stays base64."""
    scrubber = default_scrubber()
    text = base64.b64encode(key.encode()).decode()
    masked = scrubber.text(text, channel="argv")

    assert set(base64.b64decode(masked)) <= set(b"x\x00" + key[:13].encode())
    assert len(masked) == len(text)


def test_the_environment_is_known(meta: SessionMeta) -> None:
    """Values of secret names and generated values go; others stay, and allowlisted ones."""
    environment = {
        "DEPLOY_PASSWORD": "s3cret-Phrase",
        "OPAQUE": "qP7xR2mK9vT4nB8sL3wZ",
        "DATABASE_URL": "postgres://app:pw0rd-of-db@db/app",
        "TERM": "xterm-256color",
        "SHELL": "/bin/bash",
        "SSH_AUTH_SOCK": "/tmp/ssh-XXXX/agent.1",
        "ALLOWED_TOKEN": "aA1bB2cC3dD4eE5f",
        "CREDENTIALS": json.dumps({"client_secret": "zY9xW8vU7tS6rQ5p"}),
        "PEM_KEY": "-----BEGIN X-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\n-----END X-----",
    }
    known = msgspec.structs.replace(meta, environment=environment, env_allowlist=("ALLOWED_TOKEN",))
    text = " ".join(environment.values())
    (after,) = scrub(known, [Output(0, text.encode())])
    assert isinstance(after, Output)
    shown = after.data.decode()

    assert "xterm-256color /bin/bash /tmp/ssh-XXXX/agent.1 aA1bB2cC3dD4eE5f" in shown
    for secret in ("s3cret", "qP7xR2mK9", "pw0rd", "zY9xW8vU", "MIIEvQIB"):
        assert secret not in shown


def test_the_report_says_what_was_done(meta: SessionMeta, key: str) -> None:
    """Hits by rule and by channel, and what was preserved; never a value."""
    scrubber = default_scrubber(preserved=["bob.smith@corp.io"])
    list(scrubber.events(meta, lambda: iter([Output(0, f"{key} bob.smith@corp.io".encode())])))
    scrubber.text(key, channel="argv")
    report = scrubber.report()

    assert report.status == "redacted"
    assert report.hit_counts == {"anthropic-token": 2}
    assert report.channels == {"argv": {"anthropic-token": 1}, "output": {"anthropic-token": 1}}
    assert report.intentionally_preserved == ("bob.smith@corp.io",)
    assert [(r.channel, r.offset, r.length) for r in scrubber.replacements] == [
        ("output", 0, len(key)),
        ("argv", None, None),
    ]


def test_nothing_found_is_clean(meta: SessionMeta) -> None:
    """No hit, no change, status clean."""
    scrubber = default_scrubber()
    events = [Output(0, b"nothing here\r\n"), Noted(1, {"a": [1, None]})]

    assert list(scrubber.events(meta, lambda: iter(events))) == events
    assert scrubber.report().status == "clean"


def test_rules_can_be_added_and_left_out(meta: SessionMeta) -> None:
    """A user's own rule is applied, an unwanted one is not."""
    rule = Rule(name="corp", pattern="corp_[0-9]{6}", anchors=("corp_",))
    (after,) = scrub(
        meta, [Output(0, b"corp_123456 bob.smith@corp.io")], rules=[rule], without=["email"]
    )

    assert isinstance(after, Output)
    assert after.data == b"xxxxxxxxxxx bob.smith@corp.io"


def test_volatile_facts_stay_unless_asked_for(meta: SessionMeta) -> None:
    """A colour sequence is no duration, and a limit no clock."""
    data = b"\x1b[0m5h limit at 2026-01-02T10:11:12Z pid 4711 /tmp/x.ab12 done in 3.2s"
    (kept,) = scrub(meta, [Output(0, data)])
    (gone,) = scrub(meta, [Output(0, data)], volatile=True)
    assert isinstance(kept, Output)
    assert isinstance(gone, Output)

    assert kept.data == data
    assert b"0000-00-00X00:00:00X pid 0000 /tmp/x.xx00 done in 0.0s" in gone.data
    assert gone.data.startswith(b"\x1b[0m")


@pytest.mark.parametrize("value", ["", "a", " ab "])
def test_a_value_that_cannot_be_told_apart_is_refused(value: str) -> None:
    """Failing is safer than not scrubbing what was declared."""
    with pytest.raises(ValueError, match="cannot be scrubbed safely"):
        default_scrubber(known=[value])


@pytest.mark.parametrize(
    "form", ["overwritten", "boxed", "spinner", "base64-twice", "typed-kitty", "deltas"]
)
def test_scrubbing_again_changes_nothing(cases: ModuleType, meta: SessionMeta, form: str) -> None:
    """What a scrub leaves behind is no secret."""
    case = cases.make_case("anthropic-api", form, 1)
    events: list[JournalEvent] = [
        *(Noted(0, payload) for payload in case.payloads),
        *((Typed if case.channel == "input" else Output)(0, chunk) for chunk in case.chunks),
    ]
    once = scrub(meta, events, known=[case.secret.value])

    assert once != events
    assert scrub(meta, once, known=[case.secret.value]) == once


def test_traffic_keeps_its_length(key: str) -> None:
    """Streamed deltas are joined, each stays as long as it was."""
    chunks = [
        f'data: {{"delta":{{"text":"{key[at : at + 5]}"}}}}\n\n'.encode()
        for at in range(0, len(key), 5)
    ]
    after = scrub_chunks(chunks, rows=24, cols=80, known=[key], channel="provider")

    assert [len(chunk) for chunk in after] == [len(chunk) for chunk in chunks]
    assert b"".join(after).count(b'"text":"xxxxx"') == len(key) // 5


def test_a_stream_in_memory_can_be_scrubbed(key: str) -> None:
    """For checks: chunks in, as many chunks out."""
    chunks = [key[:9].encode(), key[9:].encode(), b" end"]

    assert scrub_chunks(chunks, rows=24, cols=80) == [b"x" * 9, b"x" * (len(key) - 9), b" end"]
    assert scrub_chunks(chunks, rows=24, cols=80, channel="input")[2] == b" end"


def test_frames_of_another_emulator_are_masked_cell_for_cell(key: str) -> None:
    """Rows are searched as a screen, and keep their widths."""
    scrubber = default_scrubber()
    rows = (f"│ {key[:40]} │", f"│ {key[40:].ljust(40)} │", "漢字 stays")
    masked = scrubber.rows(rows)

    assert [len(row) for row in masked] == [len(row) for row in rows]
    assert masked[2] == rows[2]
    assert not any(key[at : at + 8] in "".join(masked) for at in range(len(key) - 8))
    assert scrubber.rows(("nothing",)) == ("nothing",)


@pytest.mark.parametrize("words", ["happened", "src/main.rs", "README.md", "./well-known"])
def test_words_of_the_row_below_a_token_stay_everywhere_else(
    meta: SessionMeta, key: str, words: str
) -> None:
    """The end of the row and the next one look like one token; that costs these words alone."""
    shown = f"{'. ' * 8}{key[:60]}\r\n{words}\r\n".encode()
    said = Output(1, f"see what {words} now\r\n".encode())
    first, second = scrub(meta, [Output(0, shown), said])

    assert isinstance(first, Output)
    assert key[:60].encode() not in first.data
    assert second == said


@pytest.mark.parametrize("skip", range(3))
def test_a_key_file_in_base64_is_scrubbed_once(meta: SessionMeta, skip: int) -> None:
    """A mask shares a digit with what stands beside it, at two of three alignments."""
    lines = (base64.b64encode(bytes(range(at, at + 48))).decode() for at in range(0, 96, 16))
    head, tail = (f"-----{mark} RSA {'PRIVATE'} KEY-----" for mark in ("BEGIN", "END"))
    body = "\n".join(lines)
    shown = base64.b64encode(("." * skip + f"{head}\n{body}\n{tail}").encode())
    once = scrub(meta, [Output(0, shown)])

    assert once != [Output(0, shown)]
    assert scrub(meta, once) == once


@pytest.mark.parametrize("skip", range(4))
def test_digits_of_base64_that_are_masked_as_text_stay(meta: SessionMeta, skip: int) -> None:
    """Read as base64 they say something, which is nobody's value."""
    shown = "." * skip + base64.b64encode(b"while OPENAI_API_KEY=").decode() + "x" * 60 + "IiB0aGU"

    assert scrub(meta, [Output(0, shown.encode())]) == [Output(0, shown.encode())]


def test_a_webhook_that_grows_goes_from_its_first_characters_on(meta: SessionMeta) -> None:
    """What stands before it is no part of what is learnt."""
    value = "T5D9ECLB0NJ/BIR3J423JKO/rwh9xGlUSa97" + "WT815hk3aMvR"
    shown = [f"\r\x1b[Khttps://hooks.slack.com/services/{value[:at]}" for at in (10, 30, 48)]
    first, *_ = scrub(meta, [Output(at, text.encode()) for at, text in enumerate(shown)])

    assert isinstance(first, Output)
    assert b"5D9ECLB0" not in first.data


@pytest.mark.slow
def test_a_piece_in_a_repainted_row_goes_when_it_is_known_at_last(
    meta: SessionMeta, key: str
) -> None:
    """However often the row was painted: it was searched once, before anybody knew."""
    halves = key[30:36], key[36:42]
    row = f"\x1b[3;7H{halves[1]}\x1b[3;1H{halves[0]}\x1b[2J".encode()
    painted: list[JournalEvent] = [Output(at, row * 50) for at in range(100)]
    events = [*painted, Output(100, key.encode()), *painted]
    after = b"".join(event.data for event in scrub(meta, events) if isinstance(event, Output))

    assert not any(half.encode() in after for half in halves)


def deltas(text: str, *, id_of: str = "") -> bytes:
    """Lines of JSON that say ``text``, four characters a line."""
    return b"".join(
        json.dumps({"type": "delta", "id": id_of or f"e{at}", "text": text[at : at + 4]}).encode()
        + b"\r\n"
        for at in range(0, len(text), 4)
    )


@pytest.mark.parametrize("size", [1, 50, 1 << 20])
def test_deltas_that_a_program_prints_are_one_message(
    meta: SessionMeta, key: str, size: int
) -> None:
    """Only the characters of the value change, by whatever rule or cut."""
    raw = b"$ agent --json\r\n" + deltas(f"the {key} key") + b"done\r\n"
    events = [Output(at, raw[at : at + size]) for at in range(0, len(raw), size)]
    out = b"".join(e.data for e in scrub(meta, list(events)) if isinstance(e, Output))

    assert out == raw.replace(deltas(f"the {key} key"), deltas(f"the {'x' * len(key)} key"))


@pytest.mark.slow
def test_deltas_are_swept_for_what_is_learnt_later(meta: SessionMeta) -> None:
    """A value without a shape, which only its surroundings give away, after it was streamed."""
    secret = base64.b64encode(bytes(range(40, 229, 9))).decode()
    events = [
        Output(0, deltas(f"a {secret} b") + b"plain words\r\n" * 9000),
        Output(1, f"DB_PASSWORD={secret}\r\n".encode()),
    ]
    first, _ = [e.data for e in scrub(meta, list(events)) if isinstance(e, Output)]

    assert first.startswith(deltas(f"a {'x' * len(secret)} b"))


def test_the_names_of_masked_keys_go(meta: SessionMeta, key: str) -> None:
    """Letter by letter they would spell the secret; other names stay."""
    events: list[JournalEvent] = [Typed(n, c.encode(), key=c) for n, c in enumerate(key)]
    after = scrub(meta, [*events, Typed(999, b"\r", key="enter")])
    names = [event.key for event in after if isinstance(event, Typed)]

    assert set(names[:-1]) <= {None, "x"}
    assert names[-1] == "enter"


GONE = {
    "the line is erased": "{token}\x1b[2K\rdone",
    "the line is erased from its start": "{token}\x1b[1K\rdone",
    "the rest of the line is erased": "{token}\r\x1b[Kdone",
    "the screen is erased": "{token}\x1b[2J\x1b[Hdone",
    "cells are erased": "{token}\r\x1b[60Xdone",
    "cells are deleted": "{token}\r\x1b[60Pdone",
    "the line is deleted": "{token}\r\x1b[Mdone",
    "it is rubbed out": "{token}" + "\b \b" * 60 + "done",
    "it is overwritten": "{token}\r" + "done" * 20,
    "it scrolls away": "{token}" + "\r\n" * 30 + "done",
    "the terminal is reset": "{token}\x1bcdone",
    "it is on the other screen": "\x1b[?1049h{token}\x1b[?1049l\r\ndone",
    "it is painted from its end": "\x1b[5;20H{tail}\x1b[5;1H{head}\x1b[2K\rdone",
    "its start was erased first": "{head}\x1b[2K\r{token}\x1b[2K\rdone",
}


@pytest.mark.parametrize("piece", [1, 7, 10_000])
@pytest.mark.parametrize("shown", GONE)
def test_what_was_erased_or_overwritten_is_masked(shown: str, piece: int) -> None:
    """It is in the bytes of the recording, though no screen shows it at the end."""
    text = GONE[shown].format(token=GHP, head=GHP[:19], tail=GHP[19:])
    data = f"token: \r\n{text}\r\n".encode()
    chunks = [data[at : at + piece] for at in range(0, len(data), piece)]
    after = b"".join(scrub_chunks(chunks, rows=24, cols=80))

    assert len(after) == len(data)
    assert GHP[4:16].encode() not in after
    assert GHP[-12:].encode() not in after
    assert b"done" in after


@pytest.mark.parametrize("known", [True, False])
def test_a_pasted_key_keeps_its_line_ends(known: bool) -> None:
    """They are CR, and text is searched as lines."""
    begin, end = (f"-----{mark} EC {'PRIVATE'} KEY-----" for mark in ("BEGIN", "END"))
    key = "\r".join([begin, "aB3dE5gH7jK9mN1p" * 4, "qR2sT4uV6wX8yZ0a" * 4, end])
    typed = f"\x1b[200~{key}\x1b[201~\r".encode()
    (after,) = scrub_chunks(
        [typed], rows=24, cols=80, channel="input", known=[key.replace("\r", "\n")] if known else []
    )

    assert [byte for byte in after if byte < 0x20] == [byte for byte in typed if byte < 0x20]
    assert b"gH7j" not in after
    assert b"uV6w" not in after


NAMED: list[dict[str, Any]] = [
    {"DB_PASSWORD": "letme" + "in"},
    {"DB_PASSWORD": 482913},
    {"deep": [{"env": {"API_KEY": "abcd" + "1234efgh"}}]},
    {"password": 'hun"' + "ter22x"},
    {"password": "p\u00e4ss" + "w\u00f6rd12"},
    {"apiKey": "zz11" + "yy22xx33", "n": 1},
    {"cookie": "sid=" + "abc123def456"},
    {"input_tokens": 123456, "max_tokens": 4096, "session_id": "abc123def456gh"},
    {"password": "<secret>", "token": True, "secret": ""},
    {"env": [{"name": "DB_PASSWORD", "value": "letme" + "in"}, {"name": "A", "value": "x1y2z3w4"}]},
    {"value": "letme" + "in", "name": "DB_PASSWORD"},
    {"ParameterKey": "DbPassword", "ParameterValue": "zz11" + "yy22xx33"},
    {"Name": "db.secret", "Type": "SecureString", "Value": "zz11" + "yy22xx33"},
    {"passwords": ["letme" + "in", "482" + "913"]},
    {"passwords": {"ada": "letme" + "in", "bob": "482" + "913"}},
    {"DB_PASSWORD": {"sensitive": True, "type": "string", "value": "letme" + "in"}},
    {"api_keys": ["abcdEF" + "1234efghIJ56", "mnopQR" + "1234efghIJ78"]},
    {"token": {"type": "string", "format": "uuid", "description": "A token2use"}},
    {"tokens": {"input": 12345678, "model": "gpt-4o-2024-11-20"}, "secrets": ["API_TOKEN_V2"]},
    {"name": "cache_key", "value": "linux-x64-node20"},
]


@pytest.mark.parametrize("payload", NAMED)
def test_the_name_of_a_member_declares_its_value_as_in_a_body(
    meta: SessionMeta, payload: dict[str, Any]
) -> None:
    """Arguments and results of tools are searched like the questions that they become."""

    def values(value: Any) -> list[Any]:
        if isinstance(value, dict):
            value = [*value.values()]
        return [one for item in value for one in values(item)] if isinstance(value, list) else [
            value
        ]  # fmt: skip

    [after] = scrub(meta, [Noted(0, {"type": "tool-call", "arguments": payload})])
    [body] = default_scrubber().traffic([json.dumps(payload).encode()])

    assert isinstance(after, Noted)
    kept = [one == two for one, two in zip(values(payload), values(json.loads(body)), strict=True)]
    arguments = after.payload["arguments"]
    assert kept == [one == two for one, two in zip(values(payload), values(arguments), strict=True)]
    assert default_scrubber().verify(meta, lambda: iter([after])) == ()


def test_a_call_does_not_continue_the_one_before_it(meta: SessionMeta) -> None:
    """A password at the end of a command is not as long as the commands that follow it."""
    commands = ["export DB_PASSWORD=" + "hunter22x", "ls", "make test"]
    calls: list[JournalEvent] = [
        Noted(number, {"type": "tool-call", "call_id": f"run-{number}", "arguments": {"cmd": one}})
        for number, one in enumerate(commands)
    ]
    asked: list[JournalEvent] = [
        Noted(number, {"type": "model-request", "entry": number, "target": one})
        for number, one in enumerate(["/v1?password=" + "hunter22x", "/v1/models"], 1)
    ]
    after = [one.payload for one in scrub(meta, [*calls, *asked]) if isinstance(one, Noted)]

    assert [one["arguments"]["cmd"] for one in after[:3]] == [
        "export DB_PASSWORD=<secret>", "ls", "make test",
    ]  # fmt: skip
    assert [one["target"] for one in after[3:]] == ["/v1?password=<secret>", "/v1/models"]


def test_a_token_is_masked_that_is_spread_over_calls(meta: SessionMeta) -> None:
    """Its shape gives it away, whatever the ids are of what brings its parts."""
    parts = [GHP[:10], GHP[10:25], GHP[25:]]
    events: list[JournalEvent] = [
        Noted(number, {"call_id": f"run-{number}", "delta": one})
        for number, one in enumerate(parts)
    ]
    after = [one.payload for one in scrub(meta, events) if isinstance(one, Noted)]

    assert [one["delta"] for one in after] == ["x" * len(one) for one in parts]


def readings(meta: SessionMeta, events: list[JournalEvent], scrubber: SessionScrubber) -> int:
    """How often the events are read until all secrets are found."""
    count = 0

    def source() -> Iterator[JournalEvent]:
        nonlocal count
        count += 1
        return iter(events)

    for _ in scrubber.steps(meta, source):
        pass
    return count


def test_a_session_without_secrets_is_read_once(meta: SessionMeta) -> None:
    """A second reading, which checks what was masked, comes where something was."""
    plain: list[JournalEvent] = [Noted(0, {"text": "words"}), Typed(1, b"ls\r"), Output(2, b"out")]
    secret = [*plain, Noted(3, {"text": f"the key {GHP}"})]

    assert readings(meta, plain, default_scrubber()) == 1
    assert readings(meta, secret, default_scrubber()) > 1


@pytest.mark.parametrize("count", [8, 32])
def test_values_that_are_learnt_late_restart_few_readings(meta: SessionMeta, count: int) -> None:
    """Each is shown before an event names it; not each starts a reading of its own."""
    draw = random.Random(count)
    values = ["".join(draw.choices(ascii_letters + digits, k=24)) for _ in range(count)]
    shown: list[JournalEvent] = [Noted(n, {"text": value}) for n, value in enumerate(values)]
    named: list[JournalEvent] = [
        Noted(count + n, {"text": f"API_TOKEN={value}"}) for n, value in enumerate(values)
    ]
    scrubber = default_scrubber()

    assert readings(meta, shown + named, scrubber) <= 6
    masked = [*scrubber.rest(lambda: iter(shown + named))]
    assert not [value for value in values if value in str(masked)]
