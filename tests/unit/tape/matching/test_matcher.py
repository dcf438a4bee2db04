"""What is a hit, what is a miss, and what is served."""

from __future__ import annotations

import json

import pytest

from ptycassette.tape.matching.matcher import Hit
from ptycassette.tape.matching.misses import Miss
from ptycassette.tape.matching.question import Question
from tests.tapes import answered, asked, cli_rules, matcher, rules, tape


def conversation(name: str, prompt: str, said: str) -> list[tuple[object, object]]:
    """Two questions with their answers: a prompt, and what a tool that was called returned."""
    call = f"id-call{name}"
    prompt_turn = {"role": "user", "content": prompt}
    call_turn = {"role": "assistant", "content": said, "call": call}
    result = {"role": "tool", "call": call, "content": f"result for {said}"}
    return [
        ({"session": f"id-ses{name}", "messages": [prompt_turn]}, {"call": call, "said": said}),
        (
            {"session": f"id-ses{name}", "messages": [prompt_turn, call_turn, result]},
            {"said": f"end {said}"},
        ),
    ]


@pytest.mark.parametrize(
    ("recorded", "live"),
    [
        ({"last": "x", "result": "1"}, {"last": "x", "result": "2"}),
        ({"a": {"usage": {"n": 1}}}, {"a": {"usage": {"n": 2}}}),
        ({"a": {"date": "2026-01-01"}}, {"a": {"date": "2026-01-02"}}),
        ({"text": "one " * 100 + "x"}, {"text": "one " * 100 + "y"}),
        ({"n": 1}, {"n": 1.0}),
        ({"n": 1}, {"n": "1"}),
        ({"n": 1}, {"n": 1, "m": None}),
        ({"n": None}, {}),
        ({"n": [1, 2]}, {"n": [2, 1]}),
        ({"a": "b"}, {"b": "a"}),
        ({"a": ["x", "y"]}, {"a": ["xy"]}),
        ({"a": True}, {"a": "true"}),
        ({"id": "id-abcd"}, {"id": "abcd"}),
        ({"id": "id-abcd"}, {"id": "<id>"}),
        ({"id": "<id> id-bbbb"}, {"id": "id-aaaa id-bbbb"}),
        ({"date": "today"}, {"date": 1}),
        (b"plain text", b"plain texT"),
        (b'{"a": 1, "a": 2}', b'{"a": 2, "a": 1}'),
    ],
)
def test_what_differs_is_a_miss(recorded: object, live: object) -> None:
    """Nothing is dropped, nothing is minor, a number is as it is written."""
    run = matcher(tape((recorded, {})))

    assert isinstance(run.ask(asked(live)), Miss)
    assert isinstance(run.ask(asked(recorded)), Hit)


@pytest.mark.parametrize(
    ("recorded", "live"),
    [
        (b'{"a": 1, "b": "\\u0041"}', b'{"b":"A" , "a":1}'),
        (b'{"a": "/home/me"}', b'{"a": "\\/home\\/me"}'),
        (b'{"a": "\xc3\xa9\\ud83d\\ude00"}', b'{"a": "\\u00e9\xf0\x9f\x98\x80"}'),
        ({"date": "monday"}, {"date": "tuesday"}),
        ({"clock": 1.25}, {"clock": 17}),
        ({"x": "see id-abcd."}, {"x": "see id-wxyz9."}),
        ({"id-abcd": 1}, {"id-wxyz": 1}),
    ],
)
def test_spelling_and_names_may_differ(recorded: object, live: object) -> None:
    """The order of members, escapes, and the values of declared tokens."""
    run = matcher(tape((recorded, {})))

    assert isinstance(run.ask(asked(live)), Hit)


HEAD = {"headers": (("x-session", "s1"), ("host", "a"))}
NAMES: list[object] = [
    {"id": f"id-{name}", "n": n} for n, name in enumerate(["aaaa", "bbbb", "aaaa"])
]
SECRETS = ((9, 6), (28, 6))
DEEP = b"[" * 100_000 + b'"id-abcd"' + b"]" * 100_000
SOCKETS = {"kind": "websocket"}
RUNS: dict[str, tuple[list[object], list[tuple[object, bool]]]] = {
    # What was recorded, and what is asked in one run: is it a hit?
    "method, target, provider and the listed headers belong to the question": (
        [asked({}, **HEAD)],
        [*((asked({}, **{**HEAD, **other}), False) for other in (
            {"method": "PUT"}, {"target": "/v2"}, {"upstream": "http://b"}, {"headers": ()})),
         (asked({}, headers=(("x-session", "s2"), ("host", "b"))), True)],
    ),
    "a name that was another before is a miss": (
        NAMES,
        [({"id": "id-xxxx", "n": 0}, True), ({"id": "id-yyyy", "n": 2}, False),
         ({"id": "id-yyyy", "n": 1}, True), ({"id": "id-xxxx", "n": 2}, True)],
    ),
    "so is a second name for one": (
        NAMES, [({"id": "id-xxxx", "n": 0}, True), ({"id": "id-xxxx", "n": 1}, False)]
    ),
    "two durations that were equal may differ, and the other way round": (
        [{"clock": 1, "n": 1}, {"clock": 1, "n": 2}, {"clock": 3, "n": 3}],
        [({"clock": 5, "n": 1}, True), ({"clock": 6, "n": 2}, True), ({"clock": 6, "n": 3}, True)],
    ),
    "what the scrubber masks may differ, and is still one name": (
        [asked({"key": "abc123", "again": "abc123"}, secrets=SECRETS)],
        [(asked({"key": "xyzxyz", "again": "xyzxyy"}, secrets=SECRETS), False),
         (asked({"key": "xyzxyz", "again": "xyzxyz"}, secrets=SECRETS), True)],
    ),
    "the WebSocket that a message came over is a name, too": (
        [asked(b"", **SOCKETS, within=1), asked(b"", **SOCKETS, within=2),
         asked({"n": 1}, kind="message", within=1), asked({"n": 2}, kind="message", within=1)],
        [(asked(b"", **SOCKETS, within="a"), True), (asked(b"", **SOCKETS, within="b"), True),
         (asked({"n": 1}, kind="message", within="a"), True),
         (asked({"n": 2}, kind="message", within="b"), False)],
    ),
    # Bounded cost for whatever is sent: names in them are not looked for.
    "deep and dense bodies are compared by bytes": (
        [DEEP], [(DEEP.replace(b"abcd", b"wxyz"), False), (DEEP, True)]
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", RUNS)
def test_what_hits_in_one_run(case: str) -> None:
    """A name is one name over the whole run."""
    recorded, asks = RUNS[case]
    run = matcher(tape(*((question, b"") for question in recorded)))

    found = [
        isinstance(run.ask(one if isinstance(one, Question) else asked(one)), Hit)
        for one, _ in asks
    ]

    assert found == [hit for _, hit in asks]


def test_equal_questions_are_answered_in_order_and_once() -> None:
    """First in, first out; a third one is a miss that says so."""
    run = matcher(tape(({"q": 1}, {"n": 1}), ({"q": 1}, {"n": 2})))

    assert [answered(run.ask(asked({"q": 1}))) for _ in range(2)] == [{"n": 1}, {"n": 2}]
    third = run.ask(asked({"q": 1}))
    assert isinstance(third, Miss)
    assert third.reason == "it was asked 2 times in the recording, and now again"


def test_what_was_served_must_come_back() -> None:
    """An id that the provider never gave is a miss."""
    exchanges = tape(*conversation("1", "hello", "yes"))
    run = matcher(exchanges)
    first = run.ask(
        asked({"session": "id-live", "messages": [{"role": "user", "content": "hello"}]})
    )
    assert answered(first) == {"call": "id-call1", "said": "yes"}
    second = json.loads(exchanges[1].question())
    second["session"] = "id-live"
    other = json.loads(json.dumps(second).replace("id-call1", "id-call9"))

    assert isinstance(run.ask(asked(other)), Miss)
    assert isinstance(run.ask(asked(second)), Hit)


def test_concurrent_conversations_are_told_apart() -> None:
    """Each goes on with what it was served, in whatever order; nothing of the other is served."""
    one, two = conversation("1", "hello", "yes"), conversation("2", "hello", "no")
    run = matcher(tape(one[0], two[0], two[1], one[1]))

    for question, answer in (one[0], two[0], one[1], two[1]):
        assert answered(run.ask(asked(question))) == answer
    assert run.unused() == ()


def test_swapped_answers_are_caught() -> None:
    """A CLI that goes on with the answer of another conversation gets none."""
    one, two = conversation("1", "hello", "yes"), conversation("2", "good day", "no")
    run = matcher(tape((one[0][0], two[0][1]), (two[0][0], one[0][1]), one[1], two[1]))
    served = answered(run.ask(asked(one[0][0])))
    went_on = json.loads(
        json.dumps(one[1][0]).replace("id-call1", served["call"]).replace("yes", "no")
    )

    assert isinstance(run.ask(asked(went_on)), Miss)


def test_names_are_renamed_in_what_is_served() -> None:
    """Also in headers, in JSON within JSON, and where the model wrote a name in pieces."""
    pieces = [
        b'data: {"type":"d","index":0,"text":"see id-se"}\n\n',
        b'data: {"type":"d","index":1,"text":"id-sess"}\n\ndata: {"type":"d","ind',
        b'ex":0,"text":"ss at /home/m"}\n\n',
        b'data: {"type":"d","index":0,"text":"e/x"}\n\ndata: [DONE]\n\n',
    ]
    run = matcher(
        tape(({"session": "id-sess", "cwd": "/home/me"}, pieces), declared={"cwd": "/home/me"}),
        declared={"cwd": '/tmp/"q"'},
    )
    hit = run.ask(asked({"session": "id-liveone", "cwd": '/tmp/"q"'}))

    assert isinstance(hit, Hit)
    assert [data for _, data in hit.pieces] == [
        b'data: {"type":"d","index":0,"text":"see id-liveone"}\n\n',
        b'data: {"type":"d","index":1,"text":"id-liveone"}\n\ndata: {"type":"d","ind',
        b'ex":0,"text":" at /tmp/\\"q\\""}\n\n',
        b'data: {"type":"d","index":0,"text":"/x"}\n\ndata: [DONE]\n\n',
    ]
    assert [chunk.length for chunk, _ in hit.pieces] == [len(data) for _, data in hit.pieces]


@pytest.mark.parametrize(
    ("name", "served"),
    [
        ("id-longerx", [b'{"a":"id-longe', b"rx", b'","b":"id-longerx"}']),
        ("id-some", [b'{"a":"id-some', b"", b'","b":"id-some"}']),
    ],
)
def test_a_cut_within_a_name_stays_within_it(name: str, served: list[bytes]) -> None:
    """Pieces of bytes end where they ended, or at the end of a name that is shorter."""
    cut = [b'{"a":"id-sessi', b"on", b'","b":"id-session"}']
    hit = matcher(tape(({"session": "id-session"}, cut))).ask(asked({"session": name}))

    assert isinstance(hit, Hit)
    assert [data for _, data in hit.pieces] == served


def test_a_conversation_is_strict_if_asked() -> None:
    """Two questions with one parent: free in order, unless it is to be kept."""
    first = {"messages": ["a"]}
    left, right = {"messages": ["a", "b"]}, {"messages": ["a", "c"]}
    exchanges = tape((first, {}), (left, {"n": 1}), (right, {"n": 2}), ({"messages": ["z"]}, {}))
    free, strict = matcher(exchanges), matcher(exchanges, strict=True)
    for run in (free, strict):
        assert isinstance(run.ask(asked({"messages": ["z"]})), Hit)
        assert isinstance(run.ask(asked(first)), Hit)

    assert isinstance(free.ask(asked(right)), Hit)
    refused = strict.ask(asked(right))
    assert isinstance(refused, Miss)
    assert refused.reason == "in its conversation entry 2 comes first"


def test_a_miss_names_the_nearest_and_shows_no_token() -> None:
    """By place, with the types of tokens instead of their values."""
    exchanges = tape(
        ({"session": "id-sess", "messages": [{"content": "hello world"}]}, {}),
        ({"other": True}, {}),
    )
    live = {"session": "id-live", "messages": [{"content": "hello there"}], "new": 1}
    secret = json.dumps(live).index("live")
    miss = matcher(exchanges).ask(asked(live, secrets=((secret, 4),)))

    assert isinstance(miss, Miss)
    assert miss.nearest == 1
    assert miss.text().splitlines() == [
        "POST /v1/messages: no recorded question is equal",
        "  nearest is entry 1",
        "  messages[0].content: recorded 'hello world', asked 'hello there'",
        "  new: recorded nothing, asked '1'",
    ]


def test_a_changed_header_is_shown() -> None:
    """Of those that are compared; a key is not among them."""
    by = cli_rules()
    recorded, live = (
        asked({}, headers=(("anthropic-beta", beta), ("x-api-key", beta))) for beta in ("a", "b")
    )
    miss = matcher(tape((recorded, {}), by=by), by).ask(live)

    assert isinstance(miss, Miss)
    assert [str(one) for one in miss.differences] == ["anthropic-beta: recorded 'a', asked 'b'"]


def test_tokens_in_numbers_and_in_json_within_json_are_shown_in_their_place() -> None:
    """A difference beside them is still one at its path."""
    by = cli_rules("codex")
    metadata = '{"turn_started_at_unix_ms":17955174,"model":"x"}'
    item = {"internal_chat_message_metadata_passthrough": {"create_time": 1.5}, "output": "a"}
    recorded = {"input": [item], "client_metadata": {"x-codex-turn-metadata": metadata}}
    other = {**recorded, "input": [{**item, "output": "b"}]}
    miss = matcher(tape((recorded, {}), (asked(b"", kind="websocket"), b""), by=by), by).ask(
        asked(other)
    )

    assert isinstance(miss, Miss)
    assert [str(one) for one in miss.differences] == ["input[0].output: recorded 'a', asked 'b'"]


def test_a_changed_name_is_explained() -> None:
    """A question that is equal but for a name says which."""
    run = matcher(tape(({"id": "id-aaaa", "n": 1}, {}), ({"id": "id-aaaa", "n": 2}, {})))
    run.ask(asked({"id": "id-xxxx", "n": 1}))
    miss = run.ask(asked({"id": "id-yyyy", "n": 2}))

    assert isinstance(miss, Miss)
    assert miss.reason == "the id 'id-aaaa' is 'id-xxxx' in this run, not 'id-yyyy'"


def test_what_is_called_otherwise_is_reported() -> None:
    """A new version of a CLI is a hit, and is named."""
    by = cli_rules("claude")
    agent = "claude-cli/2.1.{} (external, cli)"
    run = matcher(tape((asked({}, headers=(("user-agent", agent.format(197)),)), {}), by=by), by)
    run.ask(asked({}, headers=(("user-agent", agent.format(201)),)))

    [renaming] = run.renamings()
    assert (renaming.type, renaming.recorded, renaming.live) == ("version", "2.1.197", "2.1.201")


@pytest.mark.parametrize(
    ("cli", "place", "text", "here", "other"),
    [
        (
            "aider",
            "messages",
            "- Platform: {}\\n- Shell: bash\\n",
            "Linux-6.18",
            "macOS-16.1-arm64",
        ),
        ("claude", "system", "- Shell: bash\\n - OS Version: {}\\n - You", "Linux 6.18", "Linux 7"),
        (
            "codex",
            "user-agent",
            "tui/0.169.0 ({}) xterm (tui; 0.169.0)",
            "Debian 12; x86_64",
            "B; x",
        ),
    ],
)
def test_another_machine_is_a_name_in_what_a_cli_asks(
    cli: str, place: str, text: str, here: str, other: str
) -> None:
    """A committed tape is to be run again elsewhere; what is beside the name is compared."""
    by = cli_rules(cli)

    def question(text: str) -> Question:
        if place == "user-agent":
            return asked({}, headers=((place, text),))
        item = {"content": text} if place == "messages" else {"type": "text", "text": text}
        return asked({place: [item]})

    recorded = tape((question(text.format(here)), {"a": 1}), by=by)
    changed = question(text.format(other).replace("bash", "zsh").replace("xterm", "dumb"))

    assert isinstance(matcher(recorded, by).ask(changed), Miss)
    assert isinstance(matcher(recorded, by).ask(question(text.format(other))), Hit)


def test_all_built_in_rules_agree() -> None:
    """The rules of all CLIs can be used together."""
    names = ("aider", "claude", "codex", "gemini", "opencode")

    assert cli_rules(*names).names == ("common", "anthropic", "google", "openai", *names)
    assert rules().type_of("unknown").answers is False


def test_the_name_of_a_tool_is_no_id() -> None:
    """Tools of MCP servers are called ``mcp__server__tool``; an id of theirs is ``mcp_0a1b...``."""
    by = cli_rules("codex")
    recorded = tape(({"tools": [{"name": "mcp__calendar__read_events"}]}, {"a": 1}), by=by)

    other = asked({"tools": [{"name": "mcp__calendar__send_events"}]})
    assert answered(matcher(recorded, by).ask(other)) is None


def test_an_id_of_codexs_tools_is_another_one_each_time() -> None:
    """Of the item ``additional_tools``; a word that begins alike is none."""
    by = cli_rules("codex")
    first, second = "01a21525-0038-75f0-9a34-41c52614ee17", "01a21527-3db8-7ee1-bc3e-2cd9055ed452"
    recorded = tape(({"input": [{"id": f"at_{first}"}], "tool": "at_once"}, {"a": 1}), by=by)
    for tool, found in (("at_noon", None), ("at_once", {"a": 1})):
        again = asked({"input": [{"id": f"at_{second}"}], "tool": tool})

        assert answered(matcher(recorded, by).ask(again)) == found
