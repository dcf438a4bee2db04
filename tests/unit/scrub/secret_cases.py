"""Synthetic sessions with secrets in them: about a hundred kinds of secret in about fifty forms.

No value here is real. Every one is put together at run time from parts, so
that no file of this project ever holds anything that looks like a token.
"""

from __future__ import annotations

import base64
import json
import quopri
import random
import string
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import quote, quote_plus

ALNUM = string.ascii_letters + string.digits
LOWER = string.ascii_lowercase + string.digits
HEX = "0123456789abcdef"
URLSAFE = ALNUM + "_-"
BASE64 = ALNUM + "+/"
UPPER = string.ascii_uppercase + string.digits
LETTERS = "\u00e4\u00f6\u00fc\u00e9\u00f1\u00f8\u017e\u0142\u0431\u044f\u03bb" * 3
BASE32 = string.ascii_uppercase + "234567"

Rng = random.Random


def chars(rng: Rng, alphabet: str, count: int) -> str:
    """Random characters, mixed enough to look generated, not beginning or ending in a mark."""
    while True:
        text = "".join(rng.choice(alphabet) for _ in range(count))
        if len(set(text)) >= min(6, count) and text[0].isalnum() and text[-1].isalnum():
            return text


def _prefixed(
    *parts: str, alphabet: str = ALNUM, count: int, end: str = ""
) -> Callable[[Rng], str]:
    return lambda rng: "".join(parts) + chars(rng, alphabet, count) + end


def uuid(rng: Rng) -> str:
    """A random UUID of version 4."""
    digits = chars(rng, HEX, 32)
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


def jwt(rng: Rng) -> str:
    """A token of three parts (RFC 7519), signed by nobody."""

    def part(value: dict[str, Any]) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    head = part({"alg": "HS256", "typ": "JWT"})
    body = part({"sub": chars(rng, ALNUM, 12), "iat": rng.randrange(10**9)})
    return f"{head}.{body}.{chars(rng, URLSAFE, 43)}"


# kind -> a secret that its own shape gives away
SHAPED: dict[str, Callable[[Rng], str]] = {
    "anthropic-api": _prefixed("sk-", "ant-", "api03-", alphabet=URLSAFE, count=93, end="AA"),
    "anthropic-oauth": _prefixed("sk-", "ant-", "oat01-", alphabet=URLSAFE, count=93, end="AA"),
    "anthropic-refresh": _prefixed("sk-", "ant-", "ort01-", alphabet=URLSAFE, count=93, end="AA"),
    "anthropic-admin": _prefixed("sk-", "ant-", "admin01-", alphabet=URLSAFE, count=93, end="AA"),
    "openai-project": _prefixed("sk-", "proj-", alphabet=URLSAFE, count=124),
    "openai-service": _prefixed("sk-", "svcacct-", alphabet=URLSAFE, count=124),
    "openai-admin": _prefixed("sk-", "admin-", alphabet=URLSAFE, count=124),
    "openai-legacy": lambda r: (
        "sk" + "-" + chars(r, ALNUM, 20) + "T3Blbk" + "FJ" + chars(r, ALNUM, 20)
    ),
    "openrouter": _prefixed("sk-", "or-", "v1-", alphabet=HEX, count=64),
    "deepseek": _prefixed("sk", "-", alphabet=HEX, count=32),
    "google-api": _prefixed("AI", "za", alphabet=URLSAFE, count=35),
    "google-oauth": _prefixed("ya", "29.", alphabet=URLSAFE, count=120),
    "google-refresh": _prefixed("1/", "/0", alphabet=URLSAFE, count=60),
    "google-client": _prefixed("GOC", "SPX-", alphabet=URLSAFE, count=28),
    "github-classic": _prefixed("gh", "p_", count=36),
    "github-oauth": _prefixed("gh", "o_", count=36),
    "github-user": _prefixed("gh", "u_", count=36),
    "github-server": _prefixed("gh", "s_", count=36),
    "github-refresh": _prefixed("gh", "r_", count=76),
    "github-fine": lambda r: "github" + "_pat_" + chars(r, ALNUM, 22) + "_" + chars(r, ALNUM, 59),
    "gitlab-personal": _prefixed("gl", "pat-", alphabet=URLSAFE, count=20),
    "gitlab-runner": _prefixed("gl", "rt-", alphabet=URLSAFE, count=20),
    "gitlab-deploy": _prefixed("gl", "dt-", alphabet=URLSAFE, count=20),
    "gitlab-job": _prefixed("gl", "cbt-64_", alphabet=URLSAFE, count=20),
    "gitlab-feed": _prefixed("gl", "ft-", alphabet=URLSAFE, count=20),
    "aws-key-id": _prefixed("AK", "IA", alphabet=BASE32, count=16),
    "aws-session-id": _prefixed("AS", "IA", alphabet=BASE32, count=16),
    "aws-bedrock": _prefixed("AB", "SK", alphabet=BASE64, count=128),
    "azure-client": lambda r: chars(r, ALNUM, 3) + "8Q" + "~" + chars(r, ALNUM + "_.-", 34),
    "azure-openai": lambda r: chars(r, ALNUM, 52) + "JQQ" + "J99" + chars(r, ALNUM, 26),
    "slack-bot": lambda r: (
        f"xoxb-{r.randrange(10**11, 10**12)}-{r.randrange(10**12, 10**13)}-" + chars(r, ALNUM, 24)
    ),
    "slack-user": lambda r: (
        f"xoxp-{r.randrange(10**11, 10**12)}-{r.randrange(10**11, 10**12)}-" + chars(r, HEX, 32)
    ),
    "slack-app": lambda r: (
        "xa" + f"pp-1-{chars(r, UPPER, 11)}-{r.randrange(10**12, 10**13)}-" + chars(r, HEX, 64)
    ),
    "stripe-live": _prefixed("sk", "_live_", count=99),
    "stripe-test": _prefixed("sk", "_test_", count=24),
    "stripe-restricted": _prefixed("rk", "_live_", count=99),
    "stripe-webhook": _prefixed("wh", "sec_", count=32),
    "huggingface": _prefixed("h", "f_", alphabet=string.ascii_letters, count=34),
    "npm": _prefixed("np", "m_", count=36),
    "pypi": _prefixed("py", "pi-", "AgEIcHlwaS5vcmc", alphabet=URLSAFE, count=120),
    "crates": _prefixed("c", "io", count=32),
    "elevenlabs": _prefixed("s", "k_", alphabet=HEX, count=48),
    "groq": _prefixed("gs", "k_", count=52),
    "xai": _prefixed("xa", "i-", count=80),
    "perplexity": _prefixed("pp", "lx-", count=48),
    "replicate": _prefixed("r", "8_", count=37),
    "fireworks": _prefixed("f", "w_", count=24),
    "together": _prefixed("tg", "p_v1_", alphabet=URLSAFE, count=43),
    "cerebras": _prefixed("cs", "k-", alphabet=LOWER, count=48),
    "nvidia": _prefixed("nv", "api-", alphabet=URLSAFE, count=64),
    "tavily": _prefixed("tv", "ly-", count=32),
    "langsmith": lambda r: "ls" + "v2_pt_" + chars(r, HEX, 32) + "_" + chars(r, HEX, 10),
    "databricks": _prefixed("da", "pi", alphabet=HEX, count=32),
    "digitalocean": _prefixed("do", "p_v1_", alphabet=HEX, count=64),
    "doppler": _prefixed("d", "p.pt.", count=43),
    "linear": _prefixed("lin", "_api_", count=40),
    "notion": _prefixed("nt", "n_", count=46),
    "figma": _prefixed("fi", "gd_", alphabet=URLSAFE, count=40),
    "sendgrid": lambda r: "S" + "G." + chars(r, URLSAFE, 22) + "." + chars(r, URLSAFE, 43),
    "twilio": _prefixed("S", "K", alphabet=HEX, count=32),
    "mailgun": _prefixed("ke", "y-", alphabet=HEX, count=32),
    "mailchimp": lambda r: chars(r, HEX, 32) + "-u" + "s14",
    "shopify": _prefixed("shp", "at_", alphabet=HEX, count=32),
    "square": _prefixed("sq", "0atp-", alphabet=URLSAFE, count=22),
    "vault": _prefixed("hv", "s.", alphabet=URLSAFE, count=90),
    "age": _prefixed("AGE-", "SECRET-KEY-1", alphabet=UPPER, count=58),
    "docker": _prefixed("dckr", "_pat_", alphabet=URLSAFE, count=27),
    "grafana": lambda r: "gl" + "sa_" + chars(r, ALNUM, 32) + "_" + chars(r, HEX, 8),
    "newrelic": _prefixed("NR", "AK-", alphabet=UPPER, count=27),
    "postman": lambda r: "PM" + "AK-" + chars(r, HEX, 24) + "-" + chars(r, HEX, 34),
    "planetscale": _prefixed("pscale", "_tkn_", alphabet=URLSAFE, count=43),
    "pulumi": _prefixed("pu", "l-", alphabet=HEX, count=40),
    "rubygems": _prefixed("ruby", "gems_", alphabet=HEX, count=48),
    "supabase": _prefixed("sb", "p_", alphabet=HEX, count=40),
    "supabase-secret": _prefixed("sb", "_secret_", alphabet=URLSAFE, count=31),
    "netlify": _prefixed("nf", "p_", count=40),
    "fly": _prefixed("fo", "1_", alphabet=URLSAFE, count=43),
    "sentry": _prefixed("sntr", "yu_", alphabet=HEX, count=64),
    "atlassian": _prefixed("ATA", "TT3", alphabet=URLSAFE, count=184),
    "tailscale": lambda r: "ts" + "key-auth-" + chars(r, ALNUM, 17) + "-" + chars(r, ALNUM, 32),
    "telegram": lambda r: f"{r.randrange(10**8, 10**10)}:" + "AA" + chars(r, URLSAFE, 33),
    "discord": lambda r: (
        "M" + chars(r, ALNUM, 23) + "." + chars(r, ALNUM, 6) + "." + chars(r, URLSAFE, 38)
    ),
    "airtable": lambda r: "pa" + "t" + chars(r, ALNUM, 14) + "." + chars(r, HEX, 64),
    "circleci": lambda r: "CCI" + "PAT_" + chars(r, ALNUM, 22) + "_" + chars(r, HEX, 40),
    "buildkite": _prefixed("bk", "ua_", alphabet=HEX, count=40),
    "terraform": lambda r: chars(r, ALNUM, 14) + ".atlas" + "v1." + chars(r, ALNUM, 67),
    "nuget": _prefixed("oy", "2", alphabet=LOWER, count=43),
    "artifactory": _prefixed("AK", "Cp", count=69),
    "wandb": _prefixed("wandb", "_v1_", alphabet=URLSAFE, count=60),
    "jwt": jwt,
}


# Providers of less renown: kind -> the beginning in two parts, alphabet, length, end
_MORE: tuple[tuple[str, str, str, str, int, str], ...] = (
    ("adobe", "p8", "e-", LOWER, 32, ""),
    ("aikido", "AIK", "_CI_", ALNUM, 24, ""),
    ("apify", "apify", "_api_", ALNUM, 36, ""),
    ("asaas", "$aa", "ct_prod_", URLSAFE, 60, ""),
    ("atlassian-old", "AT", "AT", URLSAFE + "=", 120, ""),
    ("bitbucket", "BB", "DC-", BASE64, 44, ""),
    ("brave", "BS", "A", URLSAFE, 28, ""),
    ("brevo", "xkey", "sib-", HEX, 64, ""),
    ("browserbase", "bb", "_live_", URLSAFE, 27, ""),
    ("buildkite-user", "bk", "ua_", LOWER, 53, ""),
    ("cartesia", "sk", "_car_", ALNUM, 20, ""),
    ("circleci-project", "CCI", "PRJ_", ALNUM, 62, ""),
    ("cloudflare", "cf", "ut_", ALNUM, 48, ""),
    ("cloudsmith", "cs", "a_", HEX, 36, ""),
    ("contentful", "CF", "PAT-", URLSAFE, 43, ""),
    ("context7", "ctx7", "sk-", ALNUM, 36, ""),
    ("datastax", "Astra", "CS:", ALNUM, 64, ""),
    ("deno", "dd", "p_", ALNUM, 36, ""),
    ("devcycle", "dvc", "_server_", ALNUM, 32, ""),
    ("devin", "co", "g_", LOWER[:26] + "234567", 52, ""),
    ("docker-swarm", "SWM", "TKN-1-", LOWER, 50, ""),
    ("elastic", "es", "su_", URLSAFE, 64, "=="),
    ("facebook", "EA", "AC", ALNUM, 120, ""),
    ("firecrawl", "f", "c-", HEX, 32, ""),
    ("flutterwave", "FLW", "SECK_TEST-", HEX, 32, "-X"),
    ("gitlab-registration", "GR", "1348941", URLSAFE, 20, ""),
    ("gitlab-session", "_gitlab", "_session=", HEX, 32, ""),
    ("grafana-old", "eyJ", "rIjoi", BASE64, 80, "="),
    ("helicone", "sk-", "helicone-", ALNUM, 36, ""),
    ("inngest", "sign", "key-prod-", HEX, 64, ""),
    ("ionic", "io", "n_", ALNUM, 42, ""),
    ("jfrog", "cmVmdG", "tuOj", BASE64, 54, ""),
    ("jina", "ji", "na_", URLSAFE, 60, ""),
    ("kimi", "sk-", "kimi-", ALNUM, 64, ""),
    ("lichess", "li", "p_", ALNUM, 20, ""),
    ("llamacloud", "ll", "x-", ALNUM, 48, ""),
    ("logfire", "pylf", "_v1_us_", ALNUM, 43, ""),
    ("mailersend", "ml", "sn.", HEX, 64, ""),
    ("mem0", "m", "0-", ALNUM, 40, ""),
    ("mergify", "mergify", "_application_key_", URLSAFE, 60, ""),
    ("minimax", "sk-", "api-", URLSAFE, 119, ""),
    ("moonshot", "s", "k-", URLSAFE, 48, ""),
    ("neon", "na", "pi_", ALNUM, 64, ""),
    ("nylas", "ny", "k_", ALNUM, 67, ""),
    ("octopus", "AP", "I-", UPPER, 26, ""),
    ("onesignal", "os", "_v2_app_", LOWER[:26] + "234567", 103, ""),
    ("onfido", "api", "_live.", URLSAFE, 43, ""),
    ("openrouter-next", "sk-", "or-v2-", HEX, 64, ""),
    ("openshift", "sha", "256~", URLSAFE, 43, ""),
    ("packagist", "pack", "agist_out_", HEX, 68, ""),
    ("paddle", "pdl", "_live_apikey_", LOWER, 26, ""),
    ("persona", "persona", "_production_", LOWER, 36, ""),
    ("pinterest", "pi", "na_", URLSAFE, 60, ""),
    ("planetscale-oauth", "pscale", "_oauth_", URLSAFE + "=.", 40, ""),
    ("polar", "po", "lar_pat_", URLSAFE, 43, ""),
    ("postman-collection", "PM", "AT-", ALNUM, 26, ""),
    ("rootly", "root", "ly_", HEX, 64, ""),
    ("runpod", "rp", "a_", UPPER, 46, ""),
    ("samsara", "samsara", "_api_", ALNUM, 30, ""),
    ("scalingo", "tk-", "us-", URLSAFE, 48, ""),
    ("segment", "sg", "p_", ALNUM, 64, ""),
    ("settlemint", "sm", "_pat_", ALNUM, 16, ""),
    ("slack-cookie", "xo", "xd-", ALNUM + "%/+", 120, ""),
    ("sonarqube", "sq", "p_", HEX, 40, ""),
    ("sourcegraph", "sg", "p_local_", HEX, 40, ""),
    ("supabase-long", "sb", "p_", URLSAFE, 44, ""),
    ("thunderstore", "ts", "s_", ALNUM, 36, ""),
    ("trigger", "tr", "_prod_", ALNUM, 24, ""),
    ("turbopuffer", "tp", "uf_", ALNUM, 40, ""),
    ("unkey", "un", "key_", ALNUM, 24, ""),
    ("upcloud", "uc", "at_", UPPER, 26, ""),
    ("valtown", "vt", "wn_", ALNUM, 32, ""),
    ("vercel", "vc", "p_", URLSAFE, 56, ""),
    ("voyage-next", "a", "l-", URLSAFE, 43, ""),
    ("wakatime", "wa", "ka_", LOWER + "-", 36, ""),
    ("xendit", "xnd", "_production_", ALNUM, 64, ""),
)

# Kinds that only what is about rules looks at, for the forms do not depend on the provider.
FURTHER: dict[str, Callable[[Rng], str]] = {
    **{
        kind: _prefixed(first, second, alphabet=alphabet, count=count, end=end)
        for kind, first, second, alphabet, count, end in _MORE
    },
    "onepassword": lambda r: (
        "A" + "3-" + "-".join(chars(r, UPPER, count) for count in (6, 6, 5, 5, 5, 5))
    ),
    "cloudflare-origin": lambda r: "v1" + ".0-" + chars(r, HEX, 24) + "-" + chars(r, HEX, 146),
    "cockroach": lambda r: "CC" + "DB1_" + chars(r, ALNUM, 22) + "_" + chars(r, ALNUM, 40),
    "configcat": lambda r: (
        "configcat" + "-sdk-1/" + chars(r, ALNUM, 22) + "/" + chars(r, ALNUM, 22)
    ),
    "dynatrace": lambda r: "dt0" + "c01." + chars(r, UPPER, 24) + "." + chars(r, UPPER, 64),
    "harness": lambda r: (
        "pa" + "t." + chars(r, ALNUM, 22) + "." + chars(r, HEX, 24) + "." + chars(r, ALNUM, 20)
    ),
    "maxmind": lambda r: chars(r, ALNUM, 6) + "_" + chars(r, ALNUM, 29) + "_m" + "mk",
    "miro": lambda r: "eyJ" + "taXJv" + chars(r, ALNUM, 24) + "_" + chars(r, ALNUM, 27),
    "pinecone": lambda r: "pc" + "sk_" + chars(r, ALNUM, 6) + "_" + chars(r, ALNUM, 63),
    "resend": lambda r: "r" + "e_" + chars(r, ALNUM, 8) + "_" + chars(r, ALNUM, 24),
    "zai": lambda r: chars(r, HEX, 32) + "." + chars(r, ALNUM, 16),
    "ollama": lambda r: chars(r, HEX, 32) + "." + chars(r, ALNUM, 24),
    "zuplo": lambda r: "zp" + "ka_" + chars(r, LOWER, 32) + "_" + chars(r, HEX, 8),
}


def _words(rng: Rng) -> str:
    words = ["correct", "horse", "battery", "staple", "lunar", "pickle", "anchor", "violet"]
    return "-".join(rng.sample(words, 4)) + str(rng.randrange(10, 99))


# kind -> (a secret without a shape, how it stands in text that gives it away)
CONTEXTUAL: dict[str, tuple[Callable[[Rng], str], str]] = {
    "password-env": (lambda r: chars(r, ALNUM + "!%^*", 14), "export DB_PASSWORD={}"),
    "secret-env": (lambda r: chars(r, ALNUM, 40), "CLIENT_SECRET={}"),
    "api-key-env": (lambda r: chars(r, HEX, 32), "MISTRAL_API_KEY={}"),
    "json-token": (lambda r: chars(r, ALNUM, 40), '{{"token": "{}"}}'),
    "json-access": (lambda r: chars(r, URLSAFE, 48), '{{"access_token":"{}","expires_in":3600}}'),
    "yaml-secret": (lambda r: chars(r, ALNUM, 32), "  secret_key: {}"),
    "toml-key": (lambda r: chars(r, ALNUM, 32), 'api_key = "{}"'),
    "bearer": (lambda r: chars(r, URLSAFE, 40), "Authorization: Bearer {}"),
    "basic": (
        lambda r: base64.b64encode(f"bob:{chars(r, ALNUM, 16)}".encode()).decode(),
        "Authorization: Basic {}",
    ),
    "x-api-key": (lambda r: chars(r, ALNUM, 40), "x-api-key: {}"),
    "cookie": (lambda r: "sid=" + chars(r, ALNUM, 40), "Cookie: {}"),
    "url-password": (lambda r: chars(r, ALNUM, 20), "postgres://app:{}@db.internal:5432/app"),
    "url-token": (lambda r: chars(r, ALNUM, 40), "git clone https://{}@git.corp.io/a/b.git"),
    "url-query": (lambda r: chars(r, ALNUM, 32), "GET https://api.corp.io/v1?api_key={}"),
    "netrc": (lambda r: chars(r, ALNUM, 16), "machine api.corp.io login bob password {}"),
    "npmrc": (lambda r: chars(r, ALNUM, 36), "//registry.corp.io/:_authToken={}"),
    "aws-secret": (lambda r: chars(r, BASE64, 40), "aws_secret_access_key = {}"),
    "azure-storage": (lambda r: chars(r, BASE64, 86) + "==", "AccountName=a;AccountKey={};"),
    "curl-user": (lambda r: chars(r, ALNUM, 16), "curl -u bob:{} https://x.corp.io"),
    "option": (lambda r: chars(r, ALNUM, 24), "deploy --token {} --yes"),
    "account-uuid": (uuid, '"accountUuid": "{}"'),
    "aws-account": (lambda r: chars(r, string.digits, 12), '"Account": "{}"'),
    "google-client-id": (
        lambda r: chars(r, string.digits, 12) + "-" + chars(r, LOWER, 32),
        "client_id={}.apps.googleuser" + "content.com",
    ),
    "discord-webhook": (
        lambda r: chars(r, string.digits, 18) + "/" + chars(r, URLSAFE, 68),
        "https://discord.com/api/web" + "hooks/{}",
    ),
    "passphrase": (_words, "passphrase: {}"),
    "letters": (lambda r: chars(r, ALNUM + LETTERS, 18), "export ADMIN_PASSWORD={}"),
}

KINDS = (*SHAPED, *CONTEXTUAL)


@dataclass(frozen=True)
class Secret:
    """A secret, and the text in which it plainly stands."""

    kind: str
    value: str
    template: str = "{}"

    @property
    def text(self) -> str:
        """The secret where a rule can see what it is."""
        return self.template.format(self.value)


def make_secret(kind: str, rng: Rng) -> Secret:
    """A new secret of a kind."""
    shaped = SHAPED.get(kind) or FURTHER.get(kind)
    if shaped is not None:
        return Secret(kind, shaped(rng))
    maker, template = CONTEXTUAL[kind]
    return Secret(kind, maker(rng), template)


@dataclass(frozen=True)
class Case:
    """One channel's chunks with one secret in them.

    ``encoded`` cases hold the secret in base64, hexadecimal or the like. With
    ``resizes`` the terminal takes another size before the chunk of that number.
    """

    kind: str
    form: str
    secret: Secret
    chunks: tuple[bytes, ...]
    rows: int
    cols: int
    channel: str = "output"
    encoded: bool = False
    payloads: tuple[Any, ...] = ()
    resizes: dict[int, tuple[int, int]] = field(default_factory=dict)


NOISE = (
    "Reading src/parser.rs and its tests",
    "I will add a retry with a backoff of 2 s to the client.",
    "Running cargo test ... ok. 31 passed; 0 failed; finished in 0.42s",
    "total 48  drwxr-xr-x 2 dev dev 4096 Jan  3 10:11 docs",
    "diff --git a/main.py b/main.py",
    "+    return parse(tokens, start=0)",
    "warning: unused variable: `index`",
    "Done. See README.md for what changed.",
)


def noise(rng: Rng, lines: int) -> bytes:
    """Ordinary output, some of it coloured."""
    parts = []
    for _ in range(lines):
        text = rng.choice(NOISE)
        parts.append(
            f"\x1b[{rng.choice((1, 2, 32, 36))}m{text}\x1b[0m\r\n"
            if rng.random() < 0.3
            else f"{text}\r\n"
        )
    return "".join(parts).encode()


def pieces(rng: Rng, text: str, size: int = 12) -> list[str]:
    """``text`` in random pieces of 1 to ``size`` characters."""
    result = []
    at = 0
    while at < len(text):
        step = rng.randrange(1, size + 1)
        result.append(text[at : at + step])
        at += step
    return result


def at(row: int, col: int) -> str:
    """CUP, counted from 1."""
    return f"\x1b[{row};{col}H"


Form = Callable[[Rng, str, int, int], list[bytes]]


def _f_plain(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    return [f"{text}\r\n".encode()]


def _f_literals(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    seam = rng.choice(('" "', '"\r\n     "', '" \\\r\n  "', '"\r\n   + "', '" . "'))
    middle = rng.randrange(len(text) // 3, 2 * len(text) // 3)
    while not (text[middle - 1].isalnum() and text[middle].isalnum()):
        middle -= 1
    return [f'x = ("{text[:middle]}{seam}{text[middle:]}")\r\n'.encode()]


def _f_other_blanks(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    blank = rng.choice("\u00a0\u2002\u202f\u3000")
    return [f"{text.replace(' ', blank)}\r\n".encode()]


def _f_coloured(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    return [
        "".join(f"\x1b[{rng.randrange(30, 38)}m{p}" for p in pieces(rng, text)).encode()
        + b"\x1b[0m\r\n"
    ]


def _f_coloured_each(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    return ["".join(f"\x1b[38;5;{rng.randrange(256)}m{c}\x1b[0m" for c in text).encode() + b"\r\n"]


def _f_marked(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    marks = ("\u0301", "\ufe0f", "\u034f", "\u2060", "\u200b", "\u202c", "\U000e0061")
    mark, every = rng.choice(marks), rng.choice((1, 1, 3, 7))
    marked = (c + mark * (n % every == 0 and c.isalpha()) for n, c in enumerate(text))
    return ["".join(marked).encode() + b"\r\n"]  # a digit before U+FE0F would be wide


def _f_shown_a_moment(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    if rng.random() < 0.5:
        return [*(part for c in text for part in (c.encode(), b"\x08*")), b"\r\n"]
    room = cols - 2
    shown = ((at(2 + n // room, 1 + n % room), c) for n, c in enumerate(text))
    return [b"\x1b[2J", *(f"{place}{c}{place}*".encode() for place, c in shown), b"\r\n"]


def _f_bytewise(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    return [bytes([b]) for b in f"{text}\r\n".encode()]


def _f_wrapped(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    return [f"{'.' * (cols - rng.randrange(2, 9))} {text}\r\n".encode()]


def _f_hard_wrapped(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    width = cols - 2
    return ["\r\n".join(text[i : i + width] for i in range(0, len(text), width)).encode() + b"\r\n"]


def _f_indented(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    width = cols - 6
    lines = [text[i : i + width] for i in range(0, len(text), width)]
    return ["\r\n".join(f"    {line}" for line in lines).encode() + b"\r\n"]


def _some_words(rng: Rng) -> str:
    return "".join(
        f"{rng.choice(['we', 'look', 'again', 'log'])} " for _ in range(rng.randrange(6))
    )


def _f_narrow(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    text, width = _some_words(rng) + text, rng.randrange(16, 32)
    lines = [text[i : i + width] for i in range(0, len(text), width)]
    indent = rng.choice(["", "  ", "    "])
    return ["".join(f"{indent}{line}\r\n" for line in lines).encode() + b"\r\n"]


def _f_narrow_numbered(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    text, width = _some_words(rng) + text, rng.randrange(16, 32)
    lines = [text[i : i + width] for i in range(0, len(text), width)]
    return ["".join(f"{n:4} │ {line}\r\n" for n, line in enumerate(lines, 7)).encode() + b"\r\n"]


def _f_reflowed(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    """As programs do that break lines at blanks and behind hyphens, and else where they must."""
    lines = textwrap.wrap(_some_words(rng) + text, rng.randrange(18, 40), break_on_hyphens=True)
    return ["".join(f"  {line}\r\n" for line in lines).encode() + b"\r\n"]


def _f_boxed(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    width = cols - 4
    lines = [text[i : i + width].ljust(width) for i in range(0, len(text), width)]
    body = "\r\n".join(f"│ {line} │" for line in lines)
    return [f"╭{'─' * (cols - 2)}╮\r\n{body}\r\n╰{'─' * (cols - 2)}╯\r\n".encode()]


def _f_boxed_by_words(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    width = rng.randrange(34, 45)
    lines = textwrap.wrap(text, width, break_on_hyphens=False)
    body = "\r\n".join(f"║ {line.ljust(width)} ║" for line in lines)
    edge = "═" * (width + 2)
    return [f"╔{edge}╗\r\n{body}\r\n╚{edge}╝\r\n".encode()]


def _f_boxed_coloured(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    width = cols - 4
    lines = [text[i : i + width].ljust(width) for i in range(0, len(text), width)]
    body = "\r\n".join(f"\x1b[2m│\x1b[22m {line} \x1b[2m│\x1b[22m" for line in lines)
    return [f"{body}\r\n".encode()]


def _f_echoed(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    return [*(c.encode() for c in text), b"\r\n"]


def _f_growing(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    fits = text[: cols - 2]
    return [
        *(f"\r\x1b[2K> {fits[:n]}".encode() for n in range(1, len(fits) + 1)),
        f"\r\n{text}\r\n".encode(),
    ]


def _f_addressed(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    out, col, row = [], 1, rows // 2
    for piece in pieces(rng, text):
        for char in piece:
            if col > cols:
                col, row = 1, row + 1
            out.append(f"{at(row, col)}{char}".encode())
            col += 1
    return [b"\x1b[2J", b"".join(out), at(rows, 1).encode()]


def _placed(rng: Rng, text: str, rows: int, cols: int) -> list[tuple[int, int, str]]:
    """Pieces of ``text`` with the row and column at which each stands, wrapped at the margin."""
    placed = []
    position = 0
    row = max(1, rows // 2 - 2)
    for piece in pieces(rng, text, 5):
        for char in piece:
            placed.append((row + position // cols, position % cols + 1, char))
            position += 1
    groups: list[tuple[int, int, str]] = []
    for r, c, char in placed:
        last = groups[-1] if groups else None
        if last and last[0] == r and last[1] + len(last[2]) == c and rng.random() < 0.7:
            groups[-1] = (r, last[1], last[2] + char)
        else:
            groups.append((r, c, char))
    return groups


def _f_backwards(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    groups = _placed(rng, text, rows, cols)
    return [
        b"\x1b[2J",
        *(f"{at(r, c)}{t}".encode() for r, c, t in reversed(groups)),
        at(rows, 1).encode(),
    ]


def _f_scattered(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    groups = _placed(rng, text, rows, cols)
    rng.shuffle(groups)
    return [b"\x1b[2J", *(f"{at(r, c)}{t}".encode() for r, c, t in groups), at(rows, 1).encode()]


def _f_spinner(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    groups = _placed(rng, text, rows, cols)
    frames = "⠋⠙⠹⠸⠼⠴⠦⠧"
    out = [b"\x1b[2J"]
    for number, (r, c, t) in enumerate(groups):
        out.append(f"{at(r, c)}{t}{at(rows, 1)}{frames[number % 8]} Working… {number}s".encode())
    return [*out, at(rows, 1).encode() + b"\r\n"]


def _f_insert_chars(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    text = text[: cols - 1] if len(text) >= cols else text
    cut = rng.randrange(1, len(text))
    head, tail = text[:cut], text[cut:]
    return [f"\r{tail}\r\x1b[{len(head)}@{head}\r\n".encode()]


def _f_insert_mode(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    text = text[: cols - 1]
    cut = rng.randrange(1, len(text))
    return [f"\r{text[cut:]}\r\x1b[4h{text[:cut]}\x1b[4l\r\n".encode()]


def _f_delete_chars(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    text = text[: cols - 6]
    cut = rng.randrange(1, len(text))
    return [f"\r{text[:cut]}####{text[cut:]}\r\x1b[{cut}C\x1b[4P\r\n".encode()]


def _f_scrolled(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    return [at(rows, 1).encode() + text.encode() + b"\r\n" * (rows + 3)]


def _f_region(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    return [
        f"\x1b[2J\x1b[3;{rows - 3}r{at(rows - 3, 1)}{text}".encode() + b"\r\n" * rows + b"\x1b[r"
    ]


def _f_reverse_index(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    return [at(1, 1).encode() + b"\x1bM" * 4 + text.encode() + at(1, 1).encode() + b"\x1bM" * rows]


def _f_insert_line(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    groups = _placed(rng, text, rows, cols)
    half = len(groups) // 2
    out = [f"{at(r, c)}{t}".encode() for r, c, t in groups[:half]]
    out.append(f"{at(1, 1)}\x1b[2L".encode())
    return [
        b"\x1b[2J",
        *out,
        *(f"{at(r + 2, c)}{t}".encode() for r, c, t in groups[half:]),
        at(rows, 1).encode(),
    ]


def _f_inserted_above(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    width = cols - 4
    lines = [text[i : i + width] for i in range(0, len(text), width)]
    return [
        b"\x1b[2J",
        *(f"{at(2, 1)}\x1b[L{line}".encode() for line in reversed(lines)),
        b"\r\n$ ",
    ]


def _f_lines_between_deleted(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    width = cols - 4
    lines = [text[i : i + width] for i in range(0, len(text), width)]
    body = f"\r\n{rng.choice(NOISE)[:width]}\r\n".join(lines)
    return [
        f"\x1b[2J{at(1, 1)}{body}".encode(),
        *(f"{at(row, 1)}\x1b[M".encode() for row in range(2, len(lines) + 1)),
        b"\r\n",
    ]


def _f_region_of_few_rows(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    width = cols - 4
    lines = "\r\n".join(text[i : i + width] for i in range(0, len(text), width))
    return [f"\x1b[2J\x1b[3;8r{at(8, 1)}{lines}".encode() + b"\r\n" * 8 + b"\x1b[r"]


def _f_erased_line(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    return [f"{text[: cols - 1]}\r\x1b[2K".encode(), b"gone\r\n"]


def _f_erased_screen(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    groups = _placed(rng, text, rows, cols)
    return [
        b"\x1b[2J",
        *(f"{at(r, c)}{t}".encode() for r, c, t in reversed(groups)),
        b"\x1b[2J\x1b[H",
    ]


def _f_overwritten(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    groups = _placed(rng, text, rows, cols)
    top = groups[0][0]
    lines = -(-len(text) // cols)
    return [
        b"\x1b[2J",
        *(f"{at(r, c)}{t}".encode() for r, c, t in reversed(groups)),
        *(f"{at(top + n, 1)}{'-' * cols}".encode() for n in range(lines)),
        at(rows, 1).encode(),
    ]


def _f_alternate(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    groups = _placed(rng, text, rows, cols)
    return [
        b"\x1b[?1049h\x1b[2J",
        *(f"{at(r, c)}{t}".encode() for r, c, t in reversed(groups)),
        b"\x1b[?1049l",
    ]


def _f_saved_cursor(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    out = [b"\x1b[2J", at(rows // 2, 1).encode()]
    for piece in pieces(rng, text):
        out += [piece.encode(), f"\x1b7{at(1, 1)}{rng.randrange(100)}% \x1b8".encode()]
    return [*out, b"\r\n"]


def _f_forward(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    text = text[: cols - 2]
    cut = rng.randrange(1, len(text))
    return [f"\r\x1b[{cut}C{text[cut:]}\r{text[:cut]}\r\n".encode()]


def _f_two_columns(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    half = cols // 2
    out = [b"\x1b[2J"]
    for number in range(-(-len(text) // (half - 2))):
        row = 2 + number
        part = text[number * (half - 2) : (number + 1) * (half - 2)]
        out.append(f"{at(row, 1)}left {number}{at(row, half)}{part}".encode())
    return [*out, at(rows, 1).encode()]


def _broken(text: str, width: int) -> list[str]:
    return [text[at : at + width] for at in range(0, len(text), width)]


def _words(rng: Rng, width: int) -> str:
    line = " ".join(
        rng.choice(("while", "a", "quick", "dog", "over", "the", "lazy")) for _ in range(40)
    )
    return line[:width].ljust(width)


def _f_tight_columns(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    half = cols // 2
    parts = _broken(text, cols - half - 2)
    return [f"{_words(rng, half - 1)} {part}\r\n".encode() for part in parts]


def _f_left_column(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    width, between = cols // 2 - 2, rng.choice((" │ ", " | ", "   "))
    parts = _broken(text, width)
    room = cols - width - len(between)
    return [f"{part.ljust(width)}{between}{_words(rng, room - 2)}\r\n".encode() for part in parts]


def _f_panes_here_and_there(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    half = cols // 2
    out = [b"\x1b[2J"]
    for number, part in enumerate(_broken(text, half - 1)):
        out.append(f"{at(number + 2, 1)}{part}".encode())
        if rng.random() < 0.5:
            out.append(f"{at(number + 2, half + 1)}│ {_words(rng, half - 6)}".encode())
    return [*out, at(rows, 1).encode()]


def _f_pane_with_gap(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    half, bar = cols // 2, rng.choice("│|")
    said = f"{rng.choice(('the key:', 'see', 'a', '●'))}{' ' * rng.randrange(2, 9)}{text}"
    parts = [said[at : at + half] for at in range(0, len(said), half)]
    return [f"{_words(rng, 20):21}{bar} {part.ljust(half)}\r\n".encode() for part in parts]


def _f_pane_with_indent(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    width = cols // 2 - 3
    said = f"{_words(rng, 12)} {text}"
    parts = [said[at : at + width] for at in range(0, len(said), width)]
    before = ("● ", *("  " for _ in parts))
    return [
        f"{sign}{part.ljust(width)} │ {_words(rng, 20)}\r\n".encode()
        for sign, part in zip(before, parts, strict=False)
    ]


def _f_middle_pane(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    width = min(rng.randrange(20, 30), cols - 35)
    said = f"{_words(rng, 12)} {text}"
    parts = [said[at : at + width] for at in range(0, len(said), width)]
    left, right = _words(rng, 12), _words(rng, 12)
    return [f"│ {left:12} │ {part.ljust(width)} │ {right:12} │\r\n".encode() for part in parts]


def _f_gutter(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    gutter = rng.choice(("# ", "// ", "> ", "▌ ", "┃ ", "» ", "-- "))
    return [f"{gutter}{part}\r\n".encode() for part in _broken(text, cols - 8)]


def _f_folded_narrow(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    indent = rng.choice(("", "  ", "> "))
    said = f"{_some_words(rng)}{text}{rng.choice(('', ' and then it stopped', ' (check it)'))}"
    return [f"{indent}{part}\r\n".encode() for part in _broken(said, rng.randrange(10, 48))]


def _f_behind_a_sign(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    sign = rng.choice(("+", "-", "#", "\u00b7", "* ", "\u23d0 ", "$ "))
    return [f"{sign}{part}\r\n".encode() for part in _broken(text, rng.randrange(24, 50))]


def _f_behind_an_arrow(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    first = rng.randrange(1, 2000)
    parts = _broken(text, rng.randrange(24, 50))
    return [f"{n:6}\u2192{part}\r\n".encode() for n, part in enumerate(parts, first)]


def _f_box_of_signs(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    width, sign = rng.randrange(24, 50), rng.choice("*#:!")
    edge = f"+{sign * (width + 2)}+"
    lines = (f"{sign} {part.ljust(width)} {sign}" for part in _broken(text, width))
    return ["\r\n".join((edge, *lines, edge)).encode() + b"\r\n"]


def _f_wider_than_screen(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    parts = _broken(_some_words(rng) + text, rng.randrange(cols + 2, 2 * cols))
    return ["\r\n".join(parts).encode() + b"\r\n"]


def _f_box_on_few_rows(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    width = cols - 6
    lines = "".join(f"\u2502 {part.ljust(width)} \u2502\r\n" for part in _broken(text, width))
    return [lines.encode()]


def _f_truncated(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    keep = max(16, len(text) * 2 // 3)
    return [f"{text}\r\n{text[:keep]}…\r\n".encode()]


def _f_word_diff(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    cut = rng.randrange(len(text) // 2)
    new = chars(rng, LOWER, 12)
    return [f"{text[:cut]}\x1b[31m[-{text[cut:]}-]\x1b[m\x1b[32m{{+{new}+}}\x1b[m\r\n".encode()]


def _f_struck(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    bold = rng.random() < 0.5
    return [
        "".join(
            char if char in " \r\n" else f"{char if bold else '_'}\b{char}" for char in text
        ).encode()
        + b"\r\n"
    ]


def _f_beside_status(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    save, back = rng.choice((("\x1b7", "\x1b8"), ("\x1b[s", "\x1b[u")))
    out = [b"\x1b[2J\x1b[H"]
    for number, char in enumerate(text):
        out.append(char.encode())
        if rng.random() < 0.4:
            out.append(f"{save}{at(rows, 1)}{number} s\x1b[K{back}".encode())
    return [*out, b"\r\n"]


def _f_scrolled_back(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    lines = [
        line[at : at + cols] for line in text.split("\r\n") for at in range(0, len(line), cols)
    ]
    return [b"\x1b[2J", *(f"\x1b[T{at(1, 1)}{line}".encode() for line in reversed(lines))]


def _f_title(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    return [f"\x1b]0;{text}\x07".encode()]


def _f_link(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    return [f"\x1b]8;;https://x.corp.io/?q={text}\x1b\\click\x1b]8;;\x1b\\\r\n".encode()]


def _f_folder(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    return [f"\x1b]7;file://host/{text}\x1b\\".encode()]


def _f_clipboard(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    return [b"\x1b]52;c;" + base64.b64encode(text.encode()) + b"\x07"]


def _f_dcs(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    return [f"\x1bP+q{text}\x1b\\".encode()]


def _f_apc(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    return [f"\x1b_{text}\x1b\\".encode()]


def _f_cut_string(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    return [f"\x1b]0;{text[:9]}".encode(), f"{text[9:]}\x07".encode()]


def _f_resized(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    return [f"{text[:20]}".encode(), f"{text[20:]}\r\n".encode()]


def _f_json_lines(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    return [
        json.dumps({"type": "message_update", "uuid": uuid(rng), "text": piece}).encode() + b"\r\n"
        for piece in pieces(rng, f"see {text} .", 6)
    ]


def _f_json_lines_interleaved(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    said = [(1, piece) for piece in pieces(rng, f"see {text} .", 6)]
    other = iter((0, piece) for piece in pieces(rng, " ".join(NOISE * 8), 6))
    deltas = [delta for one in said for delta in (next(other), one)]
    return [
        json.dumps(
            {
                "type": "stream_event",
                "event": {
                    "type": "content_block_delta",
                    "index": index,
                    "delta": {"type": "text_delta", "text": piece},
                },
                "uuid": uuid(rng),
            }
        ).encode()
        + b"\r\n"
        for index, piece in deltas
    ]


def _f_events(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    item = f"msg_{chars(rng, HEX, 24)}"
    return [
        b"event: response.output_text.delta\r\ndata: "
        + json.dumps(
            {"type": "response.output_text.delta", "item_id": item, "delta": piece},
            separators=(",", ":"),
        ).encode()
        + b"\r\n\r\n"
        for piece in pieces(rng, f"see {text} .", 6)
    ]


def _f_json_pretty(rng: Rng, text: str, rows: int, cols: int) -> list[bytes]:
    return [
        json.dumps({"choices": [{"index": 0, "delta": {"content": piece}}]}, indent=2)
        .replace("\n", "\r\n")
        .encode()
        + b"\r\n"
        for piece in pieces(rng, f"see {text} .", 6)
    ]


def _json(text: str) -> str:
    return json.dumps({"message": text})


def _unicode(text: str) -> str:
    return "".join(f"\\u{ord(c):04x}" for c in text)


def _hexed(text: str) -> str:
    return "".join(f"\\x{b:02x}" for b in text.encode())


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _dump(text: str) -> str:
    raw = text.encode()
    lines = []
    for start in range(0, len(raw), 16):
        row = raw[start : start + 16]
        shown = "".join(chr(b) if 32 <= b < 127 else "." for b in row)
        lines.append(
            f"{start:08x}: "
            + " ".join(row[i : i + 2].hex() for i in range(0, len(row), 2))
            + f"  {shown}"
        )
    return "\r\n".join(lines)


def _lines(text: str, width: int) -> str:
    return "\r\n".join(text[at : at + width] for at in range(0, len(text), width))


def _scattered(step: int, text: str) -> str:
    return "".join(
        f"={byte:02X}" if at % step == 1 or byte == ord("=") or byte > ord("~") else chr(byte)
        for at, byte in enumerate(text.encode())
    )


def _character_dump(text: str) -> str:
    names = {"\n": "\\n", "\t": "\\t"}
    cells = [
        f"{names.get(chr(byte), chr(byte)):>4}" if byte < 0x80 else f" {byte:03o}"
        for byte in text.encode()
    ]
    return "\r\n".join(f"{at:07o}{''.join(cells[at : at + 16])}" for at in range(0, len(cells), 16))


ENCODERS: dict[str, Callable[[str], str]] = {
    "json": _json,
    "json-in-json": lambda t: json.dumps(_json(t)),
    "unicode-escapes": _unicode,
    "hex-escapes": _hexed,
    "long-escapes": lambda t: "".join(f"\\U{ord(c):08x}" for c in t),
    "js-escapes": lambda t: "".join(f"\\u{{{ord(c):x}}}" for c in t),
    "html-decimal": lambda t: "".join(f"&#{ord(c)};" for c in t),
    "html-hex": lambda t: "".join(f"&#x{ord(c):X};" for c in t),
    "numbers": lambda t: json.dumps(list(t.encode())),
    "numbers-in-lines": lambda t: json.dumps(list(t.encode()), indent=2).replace("\n", "\r\n"),
    "characters": lambda t: json.dumps(list(t)),
    "percent": lambda t: quote(t, safe=""),
    "percent-all": lambda t: "".join(f"%{b:02X}" for b in t.encode()),
    "base64-0": _b64,
    "base64-1": lambda t: _b64('"' + t + '"'),
    "base64-2": lambda t: _b64("= " + t + "\n"),
    "base64-url": lambda t: base64.urlsafe_b64encode(b"??" + t.encode()).decode().rstrip("="),
    "hex": lambda t: t.encode().hex(),
    "hex-upper": lambda t: t.encode().hex().upper(),
    "hex-dump": _dump,
    "hex-lines": lambda t: _lines(t.encode().hex(), 60),
    "character-dump": _character_dump,
    "quoted-printable": lambda t: (
        quopri.encodestring(f"Dear all, the key that you asked for: {t}".encode())
        .decode()
        .replace("\n", "\r\n")
    ),
    **{f"quoted-every-{step}": partial(_scattered, step) for step in (2, 3, 5, 7, 12)},
    "form-words": lambda t: "q=" + quote_plus(t) + "&z=1",
    "form-bare": quote_plus,
    "form-field": lambda t: "text=" + quote_plus(f'it is "{t}" now') + "&id=1",
    "base64-lines": lambda t: _lines(_b64(f"The first line\nand {t} in\nthe second.\n"), 76),
    "base64-lines-70": lambda t: _lines(_b64(f"The first line\nand {t} in\nthe second.\n"), 70),
    "base64-twice": lambda t: _b64(_b64(t)),
    "base64-in-percent": lambda t: quote(_b64(t), safe=""),
    "percent-in-base64": lambda t: _b64("".join(f"%{b:02x}" for b in t.encode())),
    "hex-in-base64": lambda t: _b64(t.encode().hex()),
    "base64-in-json": lambda t: _json(_b64(t)),
}

OUTPUT_FORMS: dict[str, Form] = {
    name[3:].replace("_", "-"): function
    for name, function in list(globals().items())
    if name.startswith("_f_")
}

# These cut off what does not fit in a row; they get a row in which all of it does.
_IN_ONE_ROW = {"insert-chars", "insert-mode", "delete-chars", "erased-line", "forward"}
_ROOM = 8

# How many rows and columns the screens of these have.
_SMALL = {
    "wider-than-screen": (range(24, 25), range(16, 40)),
    "box-on-few-rows": (range(5, 9), range(30, 44)),
}

INPUT_FORMS = (
    "typed",
    "typed-rubout",
    "typed-kill-line",
    "typed-kill-word",
    "typed-yank",
    "typed-before",
    "typed-between",
    "typed-kitty",
    "typed-kitty-events",
    "typed-kitty-released",
    "typed-kitty-text",
    "pasted",
)
SERVICE_FORMS = ("payload", "deltas", "deltas-json", "payload-json-string")
FORMS = (*OUTPUT_FORMS, *ENCODERS, *INPUT_FORMS, *SERVICE_FORMS)


def make_case(kind: str, form: str, seed: int, *, lines: int = 6) -> Case:
    """The case of a kind, a form and a seed; always the same."""
    rng = random.Random(f"{kind}/{form}/{seed}")
    secret = make_secret(kind, rng)
    rows, cols = rng.choice(((24, 80), (24, 80), (30, 100), (24, 60), (50, 132)))
    if form in _IN_ONE_ROW:
        cols = max(cols, len(secret.text) + _ROOM)
    if form in _SMALL:
        rows, cols = map(rng.choice, _SMALL[form])
    base = Case(kind=kind, form=form, secret=secret, chunks=(), rows=rows, cols=cols)
    if form in INPUT_FORMS:
        return _input_case(base, rng)
    if form in SERVICE_FORMS:
        return _service_case(base, rng)
    if form in ENCODERS:
        body = [f"{ENCODERS[form](secret.text)}\r\n".encode()]
    else:
        body = OUTPUT_FORMS[form](rng, secret.text, rows, cols)
    chunks = [noise(rng, rng.randrange(lines)), *body, noise(rng, rng.randrange(lines))]
    resizes = {len(chunks) - 2: (rows, cols - 17)} if form == "resized" else {}
    return Case(
        kind=kind,
        form=form,
        secret=secret,
        chunks=tuple(c for c in chunks) if form != "bytewise" else tuple(chunks),
        rows=rows,
        cols=cols,
        encoded=form in ENCODERS,
        resizes=resizes,
    )


def _kitty(char: str, form: str) -> str:
    """A key with all that a terminal may say of it, and its release."""
    small, shift = ord(char.lower()), 2 if char.isupper() else 1
    if form == "typed-kitty-released":
        return f"{char}\x1b[{small};{shift}:3u"
    codes = f"{small}:{ord(char.upper())}:{small}" if char.isalpha() else f"{ord(char)}"
    if form == "typed-kitty-text":
        return f"\x1b[{codes};{shift};{ord(char)}u"
    return f"\x1b[{codes};{shift}:1u\x1b[{codes};{shift}:3u"


def _input_case(base: Case, rng: Rng) -> Case:
    text = base.secret.text
    if base.form == "typed":
        keys = [c.encode() for c in text]
    elif base.form == "typed-rubout":
        keys = []
        for c in text:
            if rng.random() < 0.15:
                keys += [rng.choice(ALNUM).encode(), b"\x7f"]
            keys.append(c.encode())
    elif base.form == "typed-kill-line":
        keys = [text[: len(text) // 2].encode(), b"\x15", text.encode()]
    elif base.form == "typed-kill-word":
        keys = [b"echo ", b"oops", b"\x17", text.encode()]
    elif base.form == "typed-yank":
        middle = rng.randrange(1, len(text))
        keys = [text[middle:].encode(), b"\x15", text[:middle].encode(), b"\x19"]
    elif base.form in {"typed-before", "typed-between"}:
        keys = _edited_keys(rng, text, between=base.form == "typed-between")
    elif base.form == "typed-kitty":
        keys = [
            f"\x1b[{ord(c)}u".encode() if rng.random() < 0.8 else f"\x1b[{ord(c)};1:1u".encode()
            for c in text
        ]
    elif base.form.startswith("typed-kitty"):
        keys = [_kitty(c, base.form).encode() for c in text]
    else:
        keys = [b"\x1b[200~" + text.encode() + b"\x1b[201~"]
    return Case(
        kind=base.kind, form=base.form, secret=base.secret, chunks=(*keys, b"\r"), rows=base.rows,
        cols=base.cols, channel="input",
    )  # fmt: skip


def _edited_keys(rng: Rng, text: str, *, between: bool) -> list[bytes]:
    """Keys of a line of which the beginning, or what stands in it, is typed last."""
    first = rng.randrange(1, len(text) - 1) if between else 0
    last = rng.randrange(first + 1, len(text))
    left = "\x1b[D" if rng.random() < 0.5 else "\x02"
    back = [left] * (len(text) - last)
    home, end = rng.choice((("\x01", "\x05"), ("\x1b[H", "\x1b[F"), ("\x1bOH", "\x1bOF")))
    typed = [*text[:first], *text[last:], *(back if between else [home]), *text[first:last], end]
    return [key.encode() for key in typed]


def _service_case(base: Case, rng: Rng) -> Case:
    text = base.secret.text
    if base.form == "payload":
        payloads: list[Any] = [{"type": "tool_result", "content": [{"text": f"ran: {text} done"}]}]
    elif base.form == "payload-json-string":
        payloads = [{"type": "tool_use", "input": json.dumps({"command": text})}]
    elif base.form == "deltas":
        payloads = [
            {"type": "text_delta", "index": 0, "delta": {"text": p}}
            for p in pieces(rng, f"see {text} .")
        ]
    else:
        inner = json.dumps({"command": text})
        payloads = [{"type": "input_json_delta", "partial_json": p} for p in pieces(rng, inner)]
    return Case(
        kind=base.kind, form=base.form, secret=base.secret, chunks=(), rows=base.rows,
        cols=base.cols, channel="service", payloads=tuple(payloads),
    )  # fmt: skip
