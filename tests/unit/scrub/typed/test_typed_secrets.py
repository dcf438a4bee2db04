"""What was typed and is secret, learnt from events and the screen alone."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptycassette.model.records import JournalEvent, Output, Typed
from ptycassette.model.screen import Size
from ptycassette.scrub.typed.secrets import TypedSecrets, at_cursor, readings
from ptycassette.terminal.emulator import default_emulator

SECRET = "hunter" + "-22x"
ENTER = "\r"
OLD_RUBOUT, RUBOUT, KILL, KILL_WORD, LEFT = "\x08", "\x7f", "\x15", "\x17", "\x1b[D"


def learn(*events: JournalEvent) -> TypedSecrets:
    """Feed events, with the screen that they make."""
    learner, screen = TypedSecrets(), default_emulator(Size(12, 60))
    for event in events:
        if isinstance(event, Output):
            screen.feed(event.data)
        learner.feed(event, lambda: at_cursor(screen.snapshot()))
    learner.finish()
    return learner


def shown(text: str, t_us: int = 0) -> Output:
    """What the program writes."""
    return Output(t_us, text.replace("\n", "\r\n").encode())


def typed(text: str, t_us: int = 0, *, unseen: bool = False) -> Typed:
    """What a driver types."""
    return Typed(t_us, text.encode(), source="driver", masked=unseen)


def keys(text: str, *, unseen: bool = False) -> list[JournalEvent]:
    """Key by key."""
    return [typed(char, at * 1000, unseen=unseen) for at, char in enumerate(text)]


def hidden_keys(text: str, sign: str = "*") -> list[JournalEvent]:
    """Key by key, and a sign for each."""
    return [event for char in text for event in (typed(char), shown(sign))]


def texts(learner: TypedSecrets) -> list[str]:
    """The values."""
    return [secret.text for secret in learner.values()]


SIGNS = "*" * len(SECRET)
SECOND = "another" + "-77y"
TOKEN = "abcdefgh12" * 8


def echoed(text: str) -> list[JournalEvent]:
    """Key by key, and each shown."""
    return [event for char in text for event in (typed(char), shown(char))]


def sent(screen: str, answer: str, line: str = SECRET) -> list[JournalEvent]:
    """A line that a driver sends at once, and what the program writes then."""
    return [shown(screen), typed(line + ENTER), shown(answer)]


ECHOED: list[JournalEvent] = [shown("$ "), typed("ls"), shown("ls"), typed(ENTER)]
# As from a pipe, and echoed, because the program had not switched that off yet.
AHEAD: list[list[JournalEvent]] = [
    [typed(f"{SECRET}\n"), shown(f"{SECRET}\n"), shown("Password: ")],
    [typed(f"{SECRET}\nls\n"), shown(f"{SECRET}\nls\n"), shown("Passphrase: "),
     shown("\n$ ")],
    [typed(f"alice\n{SECRET}\n"), shown(f"alice\n{SECRET}\nlogin: "), shown("\n"),
     shown("Password: ")],
    [*keys(f"{SECRET}\n"), shown(f"{SECRET}\nWelcome.\n"), shown("Enter your PIN: ")],
    [typed(f"{SECRET}\n"), shown(f"{SECRET}\nv1: ready\nAPI token: \ngot {SECRET}\n$ ")],
    [typed(f"{SECRET}\n"), shown(f"{SECRET}\n"), shown(f"Token: got {SECRET}\n")],
    [typed(f"alice\n{SECRET}\n"),
     shown(f"alice\n{SECRET}\nlogin: \nPassword: \nok\n")],
    [shown("Password: "), typed("?\r", unseen=True), shown("\n"), typed(f"{SECRET}\r"),
     shown(f"{SECRET}\n"), shown("Password: ")],
]  # fmt: skip
# A command at a shell, a name that was asked for first, text that nobody asked for.
TAKEN: list[list[JournalEvent]] = [
    [shown("$ "), typed("sudo ls\r"), shown("sudo ls\n[sudo] password for alice: ")],
    [typed("first line\n"), shown("first line\nName: "), shown("\nPassword: ")],
    [shown("secret? "), typed("?\r", unseen=True), shown("\n"), typed("open\r"),
     shown("open\n")],
    [typed("say hi\n"), shown("say hi\nsay hi\nYour password has expired\n")],
    [typed("my notes\n"), shown("my notes\n$ "), typed("su\r"), shown("su\n"),
     shown("Password: ")],
]  # fmt: skip


LEARNT: dict[str, tuple[list[JournalEvent], list[str]]] = {
    # -- unseen: however it came
    "whole": ([typed(SECRET + ENTER, unseen=True)], [SECRET]),
    "key by key": (keys(SECRET + ENTER, unseen=True), [SECRET]),
    "Enter is seen": ([typed(SECRET, unseen=True), typed(ENTER)], [SECRET]),
    "no Enter": ([typed(SECRET, unseen=True)], [SECRET]),
    "ctrl-d": ([typed(SECRET + "\x04", unseen=True)], [SECRET]),
    "pasted": (
        [Typed(0, b"\x1b[200~" + SECRET.encode() + b"\x1b[201~\r", paste=True, masked=True)],
        [SECRET],
    ),
    "two prompts, answered in one piece": (
        [typed("first-1\rsecond-2\r", unseen=True)], ["first-1", "second-2"]
    ),
    "asterisks of older journals (before 0123) are none": (
        [typed("*******" + ENTER, unseen=True)], []
    ),
    "two characters are hidden and not sought": ([typed("42" + ENTER, unseen=True)], []),
    "an answer of the terminal in the middle is not typed": (
        [typed("hunter", unseen=True), Typed(0, b"\x1b[3;1R", source="terminal"),
         typed("-22x\r", unseen=True)],
        [SECRET],
    ),
    # -- asked for
    "a one-time code that is shown": (
        [shown("Verification code: "), typed("849201" + ENTER), shown("849201\n")], ["849201"]
    ),
    **{
        f"a prompt that is painted anew: {painting!r}": (
            [shown("Password: "), *keys(SECRET[:4]), shown(painting), *keys(SECRET[4:] + ENTER)],
            [SECRET],
        )
        for painting in ("\b \b\b \b", "\r", "\rPass")
    },
    "a long token that wraps": ([shown("Token: "), *echoed(TOKEN), typed(ENTER)], [TOKEN]),
    "a prompt that was answered does not ask for the next row": (
        [shown("Password: "), typed(SECRET + ENTER, unseen=True), shown("\n"), typed("open\r")],
        [SECRET],
    ),
    "an answer of the terminal before the prompt begins no field": (
        [Typed(0, b"\x1b[1;1R"), shown("Password: "), typed(SECRET + ENTER)], [SECRET]
    ),
    # -- signs in its place, for a line that was sent at once
    "behind it": (sent("Unlock > ", f"{SIGNS}\nok\n"), [SECRET]),
    "painted anew": (sent("Unlock > ", f"\r\x1b[KUnlock > {'•' * len(SECRET)}\nok"), [SECRET]),
    "one by one, and the secret at last": (
        [shown("Unlock > "), *keys(SECRET + ENTER), *[shown("•") for _ in SECRET],
         shown("\n" + SECRET)],
        [SECRET],
    ),
    "whiptail": (sent("\x1b[?1049h\x1b[3;5H", f"{SIGNS}\x1b[?1049l\n"), [SECRET]),
    "dialog": (
        sent("\x1b[?1049h| ", "\x1b[30m*\x1b[m\x1b(B" * len(SECRET) + "\x1b[?1049l"), [SECRET]
    ),
    "inquirer": (
        sent("? Say it ",
             f"\x1b[G? Say it ****\x1b[9G\x1b[2K\r✔ Say it {SIGNS}\nyou typed {SECRET}\n"),
        [SECRET],
    ),
    "prompts": (sent("? Say it › ", f"\x1b[2K\r✔ Say it … {'•' * len(SECRET)}\n"), [SECRET]),  # noqa: RUF001
    "no cursor": (
        sent("\x1b[?25lSay it\n\n",
             f"\x1b[1A\x1b[2K\r> {'●' * len(SECRET)} \n\x1b[?25h{SECRET}\n"),
        [SECRET],
    ),
    **{
        f"signs that are painted in another way: {name}": (
            sent("Say it> ", f"{answer}\n{SECRET}\n"), [SECRET]
        )
        for name, answer in {
            "spaced": "* " * len(SECRET),
            "two": "**" * len(SECRET),
            "three": "***" * len(SECRET),
            "placed": "".join(f"\x1b[6;{at}H●" for at in range(1, len(SECRET) + 1)),
            "one to three": "*" * sum(1 + at % 3 for at in range(len(SECRET))),
        }.items()
    },
    "the last character for a moment, sent at once": (
        sent("Say it> ", "\b*".join(SECRET)), [SECRET]
    ),
    "the last character for a moment, key by key": (
        [shown("Say it> "),
         *(event for at, char in enumerate(SECRET)
           for event in (typed(char), shown(("\b*" if at else "") + char))),
         typed(ENTER)],
        [SECRET],
    ),
    "two secrets in one piece": (
        sent("Say it> ", f"{SIGNS}\nAgain> {'*' * len(SECOND)}\n", f"{SECRET}\r{SECOND}"),
        [SECRET, SECOND],
    ),
    "a name in one piece with a secret is none": (
        sent("Name> ", f"alice-1\nCode> {SIGNS}\n", f"alice-1\r{SECRET}"), [SECRET]
    ),
    # -- nothing in its place, in the first prompt of a program
    "ticked off": (
        sent("? Say it ‣ ",
             f"\x1b[2K\r? Say it ‣ \x1b[2K\r✔ Say it · \nyou typed {SECRET}\n"),
        [SECRET],
    ),
    "box": (
        sent("\x1b[?1049h┌────────────┐\n│            │\x1b[2;3H",
             f"\x1b[?25l\x1b[?1049l{SECRET}\n"),
        [SECRET],
    ),
    "new line": (sent("Say it: ", f"\nyou typed {SECRET}\n"), [SECRET]),
    # -- typed ahead
    **{
        f"typed ahead of its prompt, {number}": (events, [SECRET])
        for number, events in enumerate(AHEAD)
    },
    # What the lines were for becomes known by the end of the input, which is not echoed.
    **{
        f"the end of the input, {number}": (
            [typed(lines), shown(lines), *map(shown, prompts), typed("\x04", unseen=True)], secrets
        )
        for number, (lines, prompts, secrets) in enumerate([
            (f"{SECRET}\n", ["Answer? "], [SECRET]),
            (f"{SECRET}\n", ["Answer? Traceback:\n"], [SECRET]),
            (f"alice\n{SECRET}\n", ["Name? ", "\nAnswer? "], [SECRET]),
            ("alice\n", ["Name? ", "\nAnswer? "], []),
        ])
    },
    **{
        f"what another prompt took, {number}": (events, [])
        for number, events in enumerate(TAKEN)
    },
    # -- signs of a program that paints a cursor of its own, or takes keys late and loses some (Ink)
    "no cursor, key by key": (
        [shown("\x1b[?25lUnlock > _\n\nesc to cancel\n"),
         *(event for count, char in enumerate(SECRET, 1)
           for event in (typed(char), shown(f"\x1b[3A\rUnlock > {'*' * count}_\x1b[3B\r"))),
         typed(ENTER)],
        [SECRET],
    ),
    **{
        f"signs behind the keys: {sign}": (
            [shown("\x1b[?25lUnlock > _\n"), *keys(SECRET),
             *(shown(f"\x1b[1A\rUnlock > {sign * count}_\n") for count in (4, len(SECRET) - 2)),
             typed(ENTER)],
            [SECRET],
        )
        for sign in "*•●"
    },
    # -- not shown, at a prompt where all else is, with time enough to show it
    **{
        f"nothing happens: {name}": (
            [*before, shown("\n" + prompt), typed("swordfish"), typed(ENTER, pause_us),
             shown("ok", 10**6)],
            secrets,
        )
        for name, prompt, before, pause_us, secrets in [
            ("all else was shown", "Answer? ", ECHOED, 400_000, ["swordfish"]),
            ("keys of a game", "Answer? ", [], 400_000, []),
            ("a slow program", "Answer? ", ECHOED, 100_000, []),
            ("a pager", "Answer", ECHOED, 400_000, []),
        ]
    },
}  # fmt: skip


@pytest.mark.parametrize("name", LEARNT)
def test_what_is_secret_of_what_was_typed_is_learnt(name: str) -> None:
    """What was typed unseen, asked for, or shown as signs or not at all; and nothing else."""
    events, secrets = LEARNT[name]

    assert texts(learn(*events)) == secrets


# -- unseen ----------------------------------------------------------------------------


def test_an_enter_that_is_seen_belongs_to_the_secret_before_it() -> None:
    """So that masked input is compared with its end, when it is replayed."""
    learner = learn(typed(SECRET, unseen=True), typed(ENTER), typed("ls" + ENTER))

    assert learner.hidden == {1}


def test_nothing_shown_is_learnt_without_a_screen() -> None:
    """Only what is masked is known then."""
    learner = TypedSecrets()
    for event in (shown("Password: "), typed(SECRET + ENTER), typed("abcd\r", unseen=True)):
        learner.feed(event)

    assert texts(learner) == ["abcd"]


@given(
    st.lists(st.sampled_from([*"abcé7#", ENTER, RUBOUT, KILL, KILL_WORD, LEFT]), max_size=40),
    st.sets(st.integers(1, 60), max_size=8),
)
def test_where_input_is_cut_changes_nothing(typing: list[str], cuts: set[int]) -> None:
    """Key by key, in reads, or at once: the same secrets."""
    data = "".join(typing).encode()
    edges = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
    parts = [data[start:end] for start, end in pairwise(edges)]

    whole = learn(Typed(0, data, masked=True))
    cut = learn(*(Typed(0, part, masked=True) for part in parts))
    assert texts(cut) == texts(whole)


# -- short ones ------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "whole"), [("1234", True), ("12345", True), ("123456", False)])
def test_short_secrets_are_removed_as_words_from_where_they_were_typed(
    text: str, whole: bool
) -> None:
    """A log that shows 1234 before keeps it."""
    learner = learn(shown("1234\nPIN? "), *keys(text + ENTER, unseen=True))
    (secret,) = learner.values()

    assert (secret.text, secret.whole, secret.since) == (text, whole, 1)


# -- readings --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("4RkB9sX" + RUBOUT + "-tail", ["4RkB9s-tail", "4RkB9sX", "4RkB9sX-tail"]),
        ("wrong-1" + KILL + SECRET, [SECRET, "wrong-1"]),
        ("wrong one" + KILL_WORD + "two", ["wrong two", "wrong one"]),
        ("ter-22x" + LEFT * 7 + "hun", [SECRET, "ter-22xhun"]),
        ("pässwörd" + RUBOUT * 2 + "rd", ["pässwörd"]),
        ("pässwé" + RUBOUT + "e", ["pässwe", "pässwé"]),
        ("abc\x1b[100;5udef", ["abcdef"]),
        ("1234", ["1234"]),
    ],
)
def test_a_line_is_read_in_every_way_in_which_programs_read_it(line: str, meant: list[str]) -> None:
    """As edited, as it stood before something was removed, as typed."""
    assert set(meant) <= set(readings(line.encode()))


@given(st.binary(max_size=60))
def test_any_bytes_have_readings_of_three_characters_or_more(line: bytes) -> None:
    """Nothing raises, and nothing is too short to be told from ordinary text."""
    assert all(len(text.strip()) >= 3 for text in readings(line))


@given(st.text(st.characters(min_codepoint=0x21, max_codepoint=0x2FF), min_size=3, max_size=20))
def test_what_was_typed_without_editing_is_read_as_it_stands(text: str) -> None:
    """Whatever its letters are."""
    if "\x7f" in text or set(text) == {"*"} or any("\x80" <= char <= "\xa0" for char in text):
        return
    assert next(readings(text.encode())) == text


# -- prompts that name it --------------------------------------------------------------


@pytest.mark.parametrize(
    "screen",
    [
        "Password: ",
        "\x1b[31m? \x1b[1mPassword:\x1b[0m ",
        "Enter your API key\n╭──────────╮\n│ >        │\n╰──────────╯\x1b[2;5H\x1b[1B",
        "+---------------+\n| Enter a PIN   |\n| +-----------+ |\n| |           | |\x1b[4;4H",
        "> Paste your API key here\x1b[1;3H",
        "\x1b[?25lVault\n? Password: \n\nesc to cancel",
        "パスワード: ",
        "-> Token: ",
        ">> Token:",
        "> API key: ",
        "\x1b[2J\x1b[3;1H> \x1b[4;1HEnter your password\x1b[3;3H",
    ],
    ids=[
        "row",
        "coloured",
        "box",
        "dialog",
        "placeholder",
        "no cursor",
        "wide",
        "arrow",
        "signs",
        "sign",
        "below",
    ],
)
def test_what_is_typed_where_a_secret_is_asked_for_is_secret(screen: str) -> None:
    """Although the terminal is in raw mode; its input is to be hidden."""
    learner = learn(shown(screen), *keys(SECRET + ENTER))

    assert texts(learner) == [SECRET]
    assert learner.hidden == set(range(1, len(SECRET) + 2))


def test_a_field_that_is_left_without_enter_ends() -> None:
    """A PIN of four digits; what comes then is another field."""
    learner = learn(shown("PIN: "), typed("4931"), shown("ok\nName: "), typed("alice" + ENTER))

    assert texts(learner) == ["4931"]
    assert learner.hidden == {1}


# -- signs in its place ----------------------------------------------------------------


@pytest.mark.parametrize("sign", ["*", "•", "●", "**", "#", "-", "_", "X"])
def test_what_is_shown_as_signs_is_secret(sign: str) -> None:
    """Whatever the prompt says; more than one sign a key, too."""
    learner = learn(shown("Unlock > "), *hidden_keys(SECRET, sign), typed(ENTER))

    assert texts(learner) == [SECRET]
    assert 1 in learner.hidden


@pytest.mark.parametrize("sign", ["*", "•"])
def test_signs_that_are_cut_anywhere_tell(sign: str) -> None:
    """Also within a control function, and within a sign."""
    signs = sign * len(SECRET)
    answer = f"\x1b[37m\x1b[44m{signs[:4]}\x1b[m{signs[4:]}\x1b[?25l\x1b[?1049l\r\n".encode()
    for cut in range(len(answer)):
        parts = (Output(0, answer[:cut]), Output(0, answer[cut:]))
        learner = learn(shown("\x1b[?1049h| "), typed(SECRET + ENTER), *parts)

        assert texts(learner) == [SECRET], cut


@pytest.mark.parametrize(
    ("content", "echo", "learnt"),
    [(" " * 12, "", [SECRET]), (" " * 12, SECRET, []), ("  item one  ", "", [])],
    ids=["box", "text box", "menu"],
)
def test_a_line_that_was_sent_while_a_box_was_painted(
    content: str, echo: str, learnt: list[str]
) -> None:
    """Wherever the box was when it was sent, and also where all the rest came as one."""
    begun = "\x1b[?1049h\x1b[2J\x1b[2;5H┌────────────────┐\x1b[3;5H│ Enter it       │"
    rest = (
        "\x1b[4;5H│ ┌────────────┐ │",
        f"\x1b[5;5H│ │{content}│ │",
        "\x1b[6;5H│ └────────────┘ │\x1b[7;5H└────────────────┘",
        "\x1b[5;8H",
        f"{echo}\x1b[7;23H\x1b[12;1H\x1b[?1049l",
    )
    for cut in range(len(rest)):
        before, behind = begun + "".join(rest[:cut]), "".join(rest[cut:])
        learner = learn(shown(before), typed(SECRET + ENTER), shown(behind), shown("you typed"))

        assert texts(learner) == learnt, cut


SETS = {"utf-8": ("", ""), "designated": ("\x1b(0", "\x1b(B"), "shifted": ("\x0e", "\x0f")}
DRAWN = str.maketrans("┌─┐│└┘", "lqkxmj")


@pytest.mark.parametrize("lines", SETS)
def test_a_box_is_known_wherever_its_output_was_cut(lines: str) -> None:
    """In a control sequence, in a character, and behind the choice of the set for lines."""
    on, off = SETS[lines]

    def draw(text: str) -> str:
        return f"{on}{text if lines == 'utf-8' else text.translate(DRAWN)}{off}"

    begun = "\x1b[?1049h\x1b[2J" + ("\x1b)0" if lines == "shifted" else "") + "\x1b[3;5HEnter it"
    box = (
        f"\x1b[4;5H{draw('┌────────────┐')}\x1b[5;5H{draw('│')}{' ' * 12}{draw('│')}"
        f"\x1b[6;5H{draw('└────────────┘')}\x1b[5;6H"
    ).encode()
    rest = b"\x1b[7;23H\x1b[12;1H\x1b[?1049l"
    for cut in range(len(box) + 1):
        sent = Output(0, box[:cut]), typed(SECRET + ENTER), Output(0, box[cut:] + rest)

        assert texts(learn(shown(begun), *sent, shown("you typed"))) == [SECRET], cut


def echoed_at(screen: str, text: str = "hello") -> list[JournalEvent]:
    """Text that is typed and shown, key by key, where the screen is like this."""
    return [shown(screen), *echoed(text), typed(ENTER), shown("\n")]


ORDINARY: dict[str, list[JournalEvent]] = {
    # -- talk of passwords is no prompt
    "shell": echoed_at("$ "),
    "name": echoed_at("Name: "),
    "log above": echoed_at("I changed the password handling.\n╭────╮\n│ >  │\x1b[2;5H\x1b[1B"),
    "typed above": echoed_at("> reset the password\n\n> "),
    "typed": echoed_at("> reset it and then tell me the password: "),
    "no cursor": echoed_at("vault\x1b[?25l\n✔ Password: ****\n? Name: "),
    "no cursor, no sign": echoed_at("vault\x1b[?25l\n✔ Password: ****\nName: "),
    # -- what was sent at once, and is shown, or answered in words
    "echo": sent("> ", "hello there\n***********\n", "hello there"),
    "keys": sent("> ", "h\x1b[4Ge\x1b[5Gllo there\n***********\n", "hello there"),
    "another field": sent(
        "Password: *******\nName> ", "\x1b[HPassword: *******\nName> alice-1\n", "alice-1"),
    "dots": sent("> ", "............\n", "hello there"),
    "answer": sent("? Say it ‣ ",
                   "\x1b[2K\r? Say it ‣ blue-green\x1b[2K\r✔ Say it · blue\n", "blue-green"),
    "confirm": sent("? Go on? ‣ ", "\x1b[2K\r✔ Go on? · true\n", "yes!"),
    "input box": sent("\x1b[?1049h┌────────────┐\n│            │\x1b[2;3H",
                      "hello\x1b[?1049l\n", "hello"),
    "menu": sent("\x1b[?1049h┌────────────┐\n│  item one  │\x1b[2;3H", "\x1b[?1049l\n", "jjjj"),
    "prompt": sent("Say it: ", "hello\n", "hello"),
    "chat": sent("› ", "\nhello\n", "hello"),  # noqa: RUF001
    "pager": sent("-- more --", "\nnext line\n", "jjjj"),
    # -- signs that are the text itself, or no signs
    **{
        f"{text!r} shown as {echo!r}": [
            shown("> "), typed(text), shown(echo), typed(ENTER), shown("\n> ")
        ]
        for text, echo in [("hello", "hello"), ("****", "****"), ("*args", "*args"),
                           ("hello", "..."), ("hi", ""), ("x = 1", "x = 1")]
    },
}  # fmt: skip


# As agents paint it: a logo that moves, an input box in the middle, rows of status below.
TUI = (
    "\x1b[2J\x1b[2;20H@@@@ *@@@\x1b[3;20H@@@@ *@@@"
    "\x1b[5;10HWhat can I do for you?\x1b[6;5H────────────────"
    "\x1b[7;5H> Ask anything\x1b[8;5H────────────────\x1b[9;6Hgpt-4o (0) $0.00 ● Act (Tab)\x1b[7;7H"
)


def logo(*columns: int) -> str:
    """A step of the animation: a sign in each row, at a column."""
    signs = "".join(f"\x1b[{row};{column}H*" for row, column in enumerate(columns, 1))
    return f"\x1b[s{signs}\x1b[u"


def painted(text: str, screen: str = TUI, before: str = "") -> list[JournalEvent]:
    """Text that is typed key by key into a box, while something else moves, and is shown late."""
    events: list[JournalEvent] = [shown(screen)]
    for char in text:
        events += [
            typed(char),
            shown(logo(22, 24, 27, 21)),
            shown(before + char),
            shown(logo(1, 9)),
        ]
    return [*events, shown(logo(7, 7, 9, 20, 22, 25, 30, 31)), typed(ENTER), shown("\x1b[2J")]


def asked_above(label: str) -> str:
    """A box below a row of the conversation."""
    return f"\x1b[2J{label}\n╭──────────╮\n│ >        │\n╰──────────╯\x1b[3;5H"


ORDINARY |= {
    "a logo that moves": painted("please say hello"),
    "a logo that moves, two letters": painted("hi"),
    "a logo that moves, four letters": painted("stop"),
    "a logo that moves, and all at once": [
        shown(TUI), typed("stop\r"), shown(logo(22, 24, 27, 21)),
        shown("\x1b[2J\x1b[1;1H> stop\n")],
    "a question of the agent in the row above": painted(
        "never mind it", asked_above("Please enter your password:")),
    "a placeholder": painted(
        "fix it", "\x1b[2J\x1b[3;1H> Paste your API key here\x1b[3;3H", "\x1b[K"),
    "a program that is busy, and shows it then": [
        *ECHOED, shown("\n> "), typed("continue"), typed(ENTER, 900_000),
        shown("\r> continue\n> ", 950_000)],
    "a dialog that was closed with Escape": [
        shown("\x1b[?25lSign in\n\nEnter your API key:\n\nesc to cancel"), typed("\x1b"),
        shown(TUI + "\x1b[?25h"), *echoed("fix the tests"), typed(ENTER), shown("\n")],
    "a screen behind a dialog, without a cursor": [
        shown("\x1b[?25lSign in\n\nEnter your API key:\n\nesc to cancel"), typed("\x1b"),
        shown("\x1b[2J\x1b[HWhat can I do for you?\n> _"),
        *(event for count, char in enumerate("fix it", 1)
          for event in (typed(char), shown(f"\r> {'fix it'[:count]}_"))),
        typed(ENTER)],
}  # fmt: skip


def test_a_hidden_field_ends_when_the_screen_moves_on() -> None:
    """Also without a cursor, and where nothing ended it that was typed."""
    asks = "\x1b[?25lSign in\n\nEnter your API key:\n\nesc to cancel"
    other = "\x1b[2J\x1b[HWelcome\n\nWhat can I do for you?\n> _"
    learner = learn(shown(asks), *keys(SECRET), shown(other), *keys("hello"), typed(ENTER))

    assert texts(learner) == [SECRET]
    assert learner.hidden == set(range(1, len(SECRET) + 1))


def test_a_key_that_is_asked_for_near_the_field_is_secret_although_it_is_shown() -> None:
    """Some programs show it; what nobody would say to an agent is no prompt."""
    token = "abcdef12" * 4
    learner = learn(*echoed_at(asked_above("Enter your API key:"), token), typed("ls"))

    assert texts(learner) == [token]


def test_escape_ends_a_hidden_field() -> None:
    """What is typed then is for what the screen shows then, also where it looks much the same."""
    asks = "\x1b[?25lSign in\n\nEnter your API key:\n\nesc to cancel"
    learner = learn(
        shown(asks), *keys(SECRET), typed("\x1b"), shown("\x1b[3;1HCancelled. Name?      "),
        *keys("hello"), typed(ENTER),
    )  # fmt: skip

    assert texts(learner) == [SECRET]
    assert learner.hidden == set(range(1, len(SECRET) + 2))


@pytest.mark.parametrize(
    "screen",
    [asked_above("Enter your API key:"), "\x1b[2J> Paste your API key here\x1b[1;3H"],
    ids=["above", "placeholder"],
)
@pytest.mark.parametrize("sign", ["", "*", "•"])
def test_a_field_that_hides_what_is_typed_is_one_while_a_logo_moves(screen: str, sign: str) -> None:
    """Signs, or nothing, where a secret is asked for near the cursor."""
    events: list[JournalEvent] = [shown(screen)]
    for char in SECRET:
        events += [typed(char), shown(logo(22, 24, 27, 21)), shown(sign)]
    learner = learn(*events, typed(ENTER), shown("\x1b[2J"))

    assert texts(learner) == [SECRET]


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_input_is_not_secret(name: str) -> None:
    """Nor is any of it to be hidden."""
    learner = learn(*ORDINARY[name])

    assert (texts(learner), learner.hidden) == ([], set())
