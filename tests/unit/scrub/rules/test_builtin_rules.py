"""The built-in rules: what they find, and what they let stand."""

from __future__ import annotations

import random
from types import ModuleType

import pytest

from ptycassette.scrub.rules.rule_set import RuleSet, default_rules
from ptycassette.testing import scrub_chunks

RULES = RuleSet(default_rules())


def found(text: str) -> list[str]:
    """The texts that rules would scrub."""
    return [text[hit.start : hit.end] for hit in RULES.find(text)]


@pytest.mark.parametrize("seed", range(4))
def test_every_shaped_token_is_found_whole(cases: ModuleType, seed: int) -> None:
    """A token of each provider is found by its shape alone."""
    missed = []
    for kind in (*cases.SHAPED, *cases.FURTHER):
        secret = cases.make_secret(kind, random.Random(f"{kind}{seed}"))
        if not any(secret.value in text for text in found(f"see {secret.text} there")):
            missed.append(kind)

    assert missed == []


@pytest.mark.parametrize("seed", range(4))
def test_every_secret_in_its_surroundings_is_found(cases: ModuleType, seed: int) -> None:
    """Assignments, headers, URLs and key files give their values away."""
    missed = []
    for kind in cases.CONTEXTUAL:
        secret = cases.make_secret(kind, random.Random(f"{kind}{seed}"))
        if not any(secret.value in text or text in secret.value for text in found(secret.text)):
            missed.append(kind)

    assert missed == []


KEY = "key" + "-a2e3f3f185524dd5" + "c6bb4d563d008a89"
ESCAPED = "%2B" + "PevE3TvJHTZUupwxMIGQpyBZug7hU%3D"
AWS = "nbgsqSB/drkp/0LVA3zjXM4qZ6uoXW9" + "hkoOAVUcD"
LOWER, CAPITALS, SIGNED = "xCYXeruoj" + "uYyIiba", "xUGqEiRb" + "tKaWJhlC", "8*" + "GghPMskEBcfJ"
VALUE, NEXT = "qP7xR2mK9vT4", "nB8sL3wZ5yH1"
DISCORD = "M" + "TA5ODc2NTQzMjEwOTg3NjU0.{}.kz_Qw-ErTyUiopAsDfGh" + "JkLzXcVbNm"
HF = "hf" + "_aB3dE5gH7jK9"
EXACTLY: list[tuple[str, list[str]]] = [
    # What follows a key may be a digit of it, where a line goes on; a digest has eight more.
    (f"{KEY}diff --git", [KEY]),
    (f"{KEY}01234567", []),
    # Types and remarks in the next cell say what is to be put there.
    ("| API_KEY | string | required |\n| token | sha-256 hash | `max_tokens` | 8192 |", []),
    ("password  optional\n--token          the-token-of-the-user2 account_id  default", []),
    # A value may begin with an escape, which format strings do not.
    (f"https://acme.corp.io/b?sp=r&sig={ESCAPED}", [ESCAPED]),
    ("password=%(name)s and token=%s %z", []),
    # What is called with arguments is no value.
    ("secret_key = derive_key_of_user2(password_of_user, salt)", []),
    # Letters alone may be a password, where no name is spelt so: capitals begin words in names.
    (f"> password {LOWER} and then", [LOWER]),
    ("the password PasswordEncoderFactory and password authenticationManager", []),
    (f"login bob, password {CAPITALS}", [CAPITALS]),
    (f"export DB_PASSWORD={SIGNED}", [SIGNED]),
    ("password=*password, secret=*tokenString, token=4*SIZE, key=*userID", []),
    ("the password ResetPasswordConfiguration", []),
    *((f"password = {name}", [])
      for name in ("getUserToken", "oAuthTokenFile", "XMLHttpRequest", "PassThrough")),
    # No value goes over what parts pictures, nor over the beginning of a sequence.
    *((f"Cookie: a=b1c2d3e4f5{end}and more of it", ["a=b1c2d3e4f5"]) for end in "\0\x1b"),
    # It ends where the name of another begins, also where nothing is left of that but its name.
    (f"token={VALUE}password=", [VALUE]),
    (f"token={VALUE}secret={NEXT}", [VALUE, NEXT]),
    (f"token={VALUE}AUTH_TOKEN==", [f"{VALUE}AUTH_TOKEN=="]),
    # A token of which the end was left out may be short; sentences and functions end so too.
    *((f"key {HF}{gap} so", [HF]) for gap in ("\xe2\x80\xa6", "...", "..")),
    (f"key {HF} so", []),
    *((f"hf_hubDownloadOf{gap} npm_configuration{gap}", [])
      for gap in ("\xe2\x80\xa6", "...", "..")),
]  # fmt: skip


@pytest.mark.parametrize(("text", "values"), EXACTLY)
def test_a_value_is_found_exactly(text: str, values: list[str]) -> None:
    """With nothing around it, and nothing that only looks so."""
    assert list(dict.fromkeys(found(text))) == values


@pytest.mark.parametrize(
    ("text", "value"),
    [
        # A value may begin as placeholders do, when what goes on is generated, and no words.
        *((text.format(word + "kX7vQ2mN9pR4sT6w" + "Zb3Lc8Hd"), word + "kX7vQ2mN9pR4sT6wZb3Lc8Hd")
          for word in ("my-", "My_", "your_", "YOUR-")
          for text in ("Authorization: Bearer {}", "export SERVICE_TOKEN={}")),
        # It may have a remark behind it, where rows were joined.
        (f"aws_secret_access_key = {AWS}(check it)", AWS),
        # Letters that no name has, without a digit, of one case or both.
        *((name % value, value) for value in ("kqzxwvbnm", "hGfKqWzX", "QvZrTkPwjX", "zkvqhjwnbxtr")
          for name in ("token=%s", "password: %s", '"secret": "%s"', "--api-key %s")),
        # The part between the dots of a token of Discord is a number that nothing fixes.
        *((f"token of the bot {DISCORD.format(middle)}{end} here", DISCORD.format(middle) + end)
          for middle in ("GhIjKl", "a1B2c3", "_9-xYz", "Zq3rTs") for end in ("12", "no")),
        # Cut off by a narrow column, and a password of letters alone.
        ("export DB_PASSWORD" + "=fAWzjUniIMWwax", "fAWzjUniIMWwax"),
        ("see eyJhbGciOiJI.ey" + "JzdWIiOiAiUkFoU …", "eyJhbGciOiJI.eyJzdWIiOiAiUkFoU"),
        ("gxLeNHA7LHIfbh8LKqBYUaPd6qsA4WjrufVY8D2s" + "JQQ" + "J99 ", "JQQJ99"),
        ("iEZntPgaSxtEsL.atlas" + "v1.TFOJ5jJT29tVz9xFBa ", ".atlasv1.TFOJ5jJT29tVz9xFBa"),
        # Two thirds of a token are enough where its prefix is like no word.
        ("shp" + "at_" + "a1b2c3d4" * 3, "a1b2c3d4" * 3),
        ("gl" + "pat-" + "nPHxeX-ILL5KVv", "nPHxeX-ILL5KVv"),
        ("api_" + "org_" + "aBcDeFgH" * 3, "aBcDeFgH" * 3),
        ("see ser" + "vices/T" + "A1B2C3D4E/B5F6G7H8I9/a1b2C3d4e5F6g7H8",
         "A1B2C3D4E/B5F6G7H8I9/a1b2C3d4e5F6g7H8"),
    ],
)  # fmt: skip
def test_a_value_is_in_what_is_found(text: str, value: str) -> None:
    """Whatever is taken along with it."""
    assert any(value in one for one in found(text))


@pytest.mark.parametrize(
    "cells",
    ["| {} | `{}` |", "| **{}** | {} |", "│ {:24} │ {} │", "{:30} {}", '| "{}" | "{}" |'],
)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("API_KEY", "9382DFFX1Kvzq2TQm" + "NmClrKboZzu3g8X"),
        ("TWILIO_AUTH_TOKEN", "e810beacd557705a5" + "4b5edbbbe5ce7f8"),
        ("POSTGRES_PASSWORD", "nm__0na!" + ".uJrBY"),
        ("accountUuid", "361e198b-7436-4588-" + "bd6b-1ed8101db9b8"),
    ],
)
def test_a_value_may_stand_in_the_next_cell(cells: str, name: str, value: str) -> None:
    """Of a table in Markdown, in a box or of columns; what agents quote."""
    text = cells.format(name, value).encode().decode("latin-1")

    assert set(found(text)) == {value}


def test_both_engines_find_the_same(cases: ModuleType) -> None:
    """A machine without the libraries scrubs the same."""
    kinds = (*cases.KINDS, *cases.FURTHER)
    texts = [cases.make_secret(kind, random.Random(3)).text for kind in kinds]

    assert [found(t) for t in texts] == [found(t) for t in texts]


@pytest.mark.parametrize(
    "text",
    [
        "--openai-api-key OPENAI_API_KEY  the key, --api-key-file config/keys2.json",
        "--max-token 8192 --token-budget b4096k --encryption-key-id alias/main2",
        "re_compiled_pattern_for_matching_all and pre_a1b2c3d4_some_very_long_name_2",
        "sk-loading-indicator-container-of-the-primary-toolbar-2 sk-or-value-of-the-things-2",
        "API-REFERENCEMANUALFORUSERSOFIT tss_handshake_key_share_exchange_2",
        "lip_movement_tracking_model prf_counter_overflow_handler_v2 polar_at_angle_coordinates",
        "dvc_client_configuration al-jazeera-english-news-coverage-of-the-elections-2024",
        "d41d8cd98f00b204e9800998ecf8427e.min-stylesheet-css d41d8cd98f00b204e9800998ecf8427e.js",
        "sha256~not-a-digest persona_production_environment_settings api_live.reload_configuration",
        "commit 6dcd4ce23d88e2ee9568ba546c007c63d9131c1b",
        "password = input('Password: ')",
        "def login(password: str, token: Optional[str] = None) -> Token:",
        'token = os.environ["GITHUB_TOKEN"]',
        "const apiKey = process.env.OPENAI_API_KEY;",
        "total tokens: 123456, cache_read_input_tokens: 99999",
        "export ANTHROPIC_API_KEY=your-api-key-here",
        "Authorization: Bearer my-service-token-v12 and Bearer YOUR_API_TOKEN_12345",
        "token = my_Access_Token_Value_2 and secret=My-App-Config-v2.1",
        "Enter your key (sk-ant-...): ",
        "password: ${{ secrets.DB_PASSWORD }}",
        "git@github.com:corp/app.git and someone@example.com",
        "https://user:password@host/ and https://docs.python.org/3/?key=value",
        "the task-runner and the disk-usage-monitor-for-volumes",
        "Token: #dcdccc, STATS_KEY = '_hypothesis_stats'",
        "/home/user/src and /Users/runner/work",
        "added @types/node@20.1.3",
        "image@sha256 icon@2x.png",
        "curl -u Some::Module",
        "--user-input-color:#00cc00--verify-ssl:True1",
        "--user-agent:Mozilla/5.0 --username:bob12345 --user_data:x9y8z7w6",
        "--check-url:/v1/models2 and follow-up:item12345",
        "sqlmap -u https://host1.corp.io/page?id=1",
        "input_cost_per_token: 2.5e-06, token: 1.25E+10,",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "scipy/_highs_bindings.cpython-311-x86_64-linux-gnu.so",
        "ghs_bindings.cpython-311-x86_64-linux-gnu.so",
        "/usr/lib/systemd/system/getty@tty1.service and systemd.be@latin.catalog",
        "machine example.com login myself password secret",
        "if ssh_key==True: return",
        "# token = 1*tchar",
        "auth: MultiDomainBasicAuth, password: HTTPBasicAuthHandler",
        "ParsedCookie::kMaxPairs",
        "private_key: rust_openssl.x448.X448PrivateKey",
        "{self.output_key: output}",
        "authorization = base64.decodebytes(authorization)",
        "PWD=/usr/src/app OLDPWD=/usr/src SECRETS_DIR=/run/secrets/app",
        "ANTHROPIC_API_KEY=sk-ant-... OPENAI_API_KEY=sk-... GITHUB_TOKEN=\xe2\x80\xa6",
        "AKIAIOSFODNN7EXAMPLE",
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "sed -e 's/password=.*/password=REDACTED/'",
        "github.com/token/password v1.6.0 h1: password v16.12.3-beta",
        "cache key: key-f57a191c71e3336de56a6e451ab09481bcf2bbfc",
        r"password \ud83c\udf89 ok1",
        "auth: getHTTPResponseCode, token: accessTokenFor",
        "token=workspace.get(name) token=access- password: workspace.",
        "secret=_TokenType() api_key=x-amazon-apigateway-authorizer",
        "password token=--user api_key=user.name= auth=-login",
        '"Account": "123456789012"',
        "account: 111122223333",
        "Account: 1111-2222-3333",
        "account: 4829136507181",
        "account 482913650718",
        "the accounting of 482913650718 bytes",
        "client-id.apps.googleusercontent.com",
        "cache/1763798400-d41d8cd98f00b204e9800998ecf8427e.json",
        "MyNotificationCenterManager.create.somethingWithAVeryLongName",
        "NOTIFICATION_CENTER_MANAGER.CREATE.SOMETHING_WITH_4_VERY_LONG_NAMES",
        "SERVER_AUTH = '1.3.6.1.5.5.7.3.1'",
        "in stream_parser (secret=0x64ee52c7c510)",
        "/usr/bin/systemd-ask-password\n9f0c4d2e8a7b6c5d4e3f2a1b0c9d8e7f  /usr/bin/systemd-cat",
        f"publishable: pk_{'test'}_a1B2c3D4e5F6g7H8i9J0",
        "aws_secret_acceforkethexxxxxxxxxxxxxxxxxxxxxxxxxxxxxxag",
    ],
)
def test_innocent_text_stands(text: str) -> None:
    """Talk about secrets, names that begin as tokens do, digests, numbers of manuals."""
    assert found(text) == []


def test_the_borders_of_a_dump_are_no_value() -> None:
    """They stand where a row that ends with a name goes on; nothing is found a second time."""
    said = (
        b"to for stripe_webhook_secret = '" + b"whsec" + b"_u73MqbfepAsXMRDXv6xM0FoSSCbUOFnk' and"
    )
    rows = [said[at : at + 16] for at in range(0, len(said), 16)]
    shown = "".join(
        f"{16 * at:08x}  {row[:8].hex(' '):23}  {row[8:].hex(' '):23}  |{row.decode()}|\r\n"
        for at, row in enumerate(rows)
    ).encode()
    (after,) = scrub_chunks([shown], rows=24, cols=80)

    assert b" = '|\r\n00000020" in after
    assert scrub_chunks([after], rows=24, cols=80) == [after]


def test_a_key_ends_though_its_last_dashes_are_not_all_there() -> None:
    """A mask in base64 may have changed the first of them; then nothing is left to scrub."""
    text = f"-----BEGIN {'PRIVATE'} KEY----,{'x' * 64}\n{'x' * 60}x----END {'PRIVATE'} KEY-----"

    assert not any(value.strip("x,-\n") for value in found(text))


# Of these the last part, or each of few, is what tells them.
_TOLD_BY_THEIR_END = {"openai-legacy", "mailchimp", "postman", "sendgrid", "airtable", "discord"}


@pytest.mark.parametrize("seed", range(3))
def test_a_token_is_found_though_its_end_is_cut_off(cases: ModuleType, seed: int) -> None:
    """Where a row or a column ends; what goes on elsewhere is too short to be found."""
    missed = []
    for kind in cases.SHAPED:
        value = cases.make_secret(kind, random.Random(f"{kind}{seed}")).value
        kept = value[: len(value) - min(5, len(value) // 7)]
        if not any(kept in text for text in found(f"see {kept} there")):
            missed.append(kind)

    assert set(missed) <= _TOLD_BY_THEIR_END


@pytest.mark.parametrize("gap", ["\xe2\x80\xa6", "...", "***"])
@pytest.mark.parametrize("before", ["Authorization: Bearer ", "?key=", "invalid key ya" + "29."])
def test_a_secret_of_which_the_middle_was_left_out_is_found(before: str, gap: str) -> None:
    """Its end too, where that looks generated."""
    head, tail = "aB3dE5gH7jK9mN1pQ3rS5tU7", "vW9xY1zA3bC5dE7f"

    assert any(hit.endswith(tail) for hit in found(f"{before}{head}{gap}{tail} so"))
    if gap != "...":  # of dots a value may have some
        assert not any("wonder" in hit for hit in found(f"{before}{head}{gap}wonderful so"))
