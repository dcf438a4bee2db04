"""Tokens that providers hand out: each has a prefix, an alphabet and a length of its own.

The shapes come from what the providers publish about their tokens (GitHub
"Behind GitHub's new authentication token formats"; GitLab "Token overview";
AWS IAM "Understanding unique ID prefixes"; Slack "Token types"; Stripe "API
keys"; npm "About access tokens"; PyPI "What is a PyPI token"; Microsoft
"Common annotated security keys"; RFC 7519 for JWT; RFC 7468 for PEM; and the
key pages of the model providers). Lengths are lower bounds, well below what is
handed out: providers change them without notice, a token that a row or a column
cut off is a secret as well, and what was cut off is too short to be found.
Checksums, where there are any (GitHub, npm), are not asked for: a mistyped
token on a screen is still nobody's business.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import structs

from ptycassette.scrub.known import is_random
from ptycassette.scrub.provider_table import NAMES_TOO, TOKENS
from ptycassette.scrub.rules import Rule
from ptycassette.scrub.spelling import spelt_by_chance

__all__ = ["PROVIDER_RULES"]


def _token(
    name: str, prefix: str, body: str, *, kind: str = "", edge: bool = True, reach: int = 2048
) -> Rule:
    """A rule for a literal ``prefix`` followed by ``body``."""
    return Rule(
        name=name,
        pattern=_literal(prefix) + body,
        anchors=(prefix.lower(),),
        placeholder=f"<{kind or name}>",
        public=0 if "(?P<s>" in body else len(prefix),  # of what is scrubbed
        edge=edge and not _distinctive(prefix),
        reach=reach,
    )


def _judged(name: str, prefix: str, body: str) -> Rule:
    """A rule for a prefix that other names share: what follows is asked for."""
    return structs.replace(_token(name, prefix, body), accept=lambda text: _no_name(text, prefix))


def _shortened(name: str, prefix: str, body: str) -> Iterator[Rule]:
    """A rule for what is shorter than any such token, and says that its end was left out."""
    least = _AT_LEAST.fullmatch(body)
    if least and int(least["number"]) > _SHORTENED:
        short = f"{least['class']}{{{_SHORTENED},{int(least['number']) - 1}}}"
        rule = _token(name, prefix, f"{short}(?=\xe2\x80\xa6|\\.\\.)")
        yield structs.replace(rule, accept=_made_by_nobody)


def _made_by_nobody(text: str) -> bool:
    """Whether so short a text is no name: names follow the same prefixes."""
    return (is_random(text) and any(map(str.isdigit, text))) or spelt_by_chance(text)


def _no_name(text: str, prefix: str) -> bool:
    """Whether what follows the prefix has digits all over, or is spelt as no name is."""
    body = text[len(prefix) :]
    numbers = len(_NUMBER_INSIDE.findall(body))
    return is_random(body) and (numbers >= _NUMBERS or spelt_by_chance(body))


def _distinctive(prefix: str) -> bool:
    """Whether no ordinary word ends as ``prefix`` begins: anything may stand before it."""
    return len(prefix) > _SHORT and not prefix.isalpha() and prefix != "ops_eyJ"


def _mixed_case(text: str) -> bool:
    """Whether capitals and small letters stand in it, as in all but one of a million tokens."""
    return any(char.isupper() for char in text) and any(char.islower() for char in text)


def _signed(text: str) -> bool:
    """Whether the last of the parts between dots looks generated, as no name does."""
    signature = text.rpartition(".")[2]
    return _mixed_case(signature) and any(char.isdigit() for char in text)


def _no_host(text: str) -> bool:
    """Whether what stands where a host would reads as none: capitals and digits all over."""
    return _mixed_case(text) and sum(map(str.isdigit, text)) > 1 and is_random(text)


def _literal(text: str) -> str:
    return "".join(f"\\{char}" if char in ".+-/$" else char for char in text)


_SHORT = 4
_SHORTENED = 10
_AT_LEAST = re.compile(r"(?P<class>\[[^]]+\])\{(?P<number>\d+),\d*\}")
_VARIED = 16
_NUMBER_INSIDE = re.compile("[0-9]+(?=[A-Za-z])")
_NUMBERS = 2
_UNANCHORED_PREFIX = (
    *(
        Rule(  # the documentation's own ends in EXAMPLE
            name="aws-access-key-id",
            pattern=f"{prefix}[A-Z2-7]{{12,16}}",
            anchors=(prefix.lower(),),
            placeholder="<aws-access-key-id>",
            public=4,
            accept=lambda text: not text.endswith("EXAMPLE"),
        )
        for prefix in ("AKIA", "ASIA", "ABIA", "ACCA")
    ),
    Rule(
        name="notion-token",
        pattern="secret_[A-Za-z0-9]{34,43}",
        anchors=("secret_",),
        placeholder="<notion-token>",
        public=7,
        accept=lambda text: _mixed_case(text[7:]) and any(map(str.isdigit, text)),
    ),
    Rule(  # Base64 of binary data begins so as well, and goes on with more of the same
        name="square-token",
        pattern="EAAA[A-Za-z0-9+=_-]{44,}",
        anchors=("eaaa",),
        placeholder="<square-token>",
        public=4,
        accept=lambda text: "AAA" not in text[4:] and is_random(text) and len(set(text)) > _VARIED,
    ),
    Rule(  # of two forms, one of them with dots; "highs_bindings.cpython-311..." is none
        name="github-token",
        pattern="ghs_[A-Za-z0-9._-]{30,}",
        anchors=("ghs_",),
        placeholder="<github-token>",
        public=4,
        reach=2048,
        accept=_mixed_case,
    ),
    Rule(
        name="telegram-token",
        pattern=r"(?:bot)?(?P<s>\d{8,10}:AA[A-Za-z0-9_-]{28,})",  # so in URLs
        anchors=(":aa",),
        lead=13,
        placeholder="<telegram-token>",
    ),
    Rule(
        name="azure-client-secret",
        pattern=r"[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{26,34}",
        anchors=("q~",),
        lead=4,
        placeholder="<azure-client-secret>",
    ),
    Rule(
        name="azure-annotated-key",
        pattern=r"[A-Za-z0-9]{20,52}JQQJ99[A-Za-z0-9+/=]{0,26}",
        anchors=("jqqj99",),
        lead=52,
        placeholder="<azure-key>",
    ),
    Rule(
        name="mailchimp-key",
        pattern=r"[0-9a-f]{32}-us\d{1,2}",
        anchors=("-us",),
        lead=32,
        placeholder="<mailchimp-key>",
    ),
    Rule(
        name="terraform-token",
        pattern=r"[A-Za-z0-9]{10,20}\.atlasv1\.[A-Za-z0-9_-]{16,}",
        anchors=(".atlasv1.",),
        lead=20,
        placeholder="<terraform-token>",
    ),
    Rule(
        name="airtable-token",
        pattern=r"pat[A-Za-z0-9]{14}\.[0-9a-f]{20,}",
        anchors=("pat",),
        public=3,
        placeholder="<airtable-token>",
    ),
    # An id in base64, a time, a signature. None of it is fixed, so it is looked for everywhere.
    Rule(
        name="discord-token",
        pattern=r"[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{25,40}",
        placeholder="<discord-token>",
        accept=_signed,
    ),
    Rule(  # an id in hexadecimal and a secret; Ollama's are alike
        name="zai-key",
        pattern=r"[0-9a-f]{32}\.[A-Za-z0-9_-]{16,24}",
        placeholder="<zai-key>",
        accept=lambda text: _mixed_case(text[33:]) and _made_by_nobody(text[33:]),
    ),
    Rule(
        name="discord-webhook",
        pattern=r"discord(?:app)?\.com/api/webhooks/(?P<s>\d{15,22}(?:/[A-Za-z0-9_-]*)?)",
        anchors=("discord",),
        placeholder="<webhook>",
    ),
    Rule(
        name="teams-webhook",
        pattern=r"webhook\.office\.com/webhookb2/(?P<s>[A-Za-z0-9@/-]{36,})",
        anchors=("webhook.office",),
        placeholder="<webhook>",
        edge=False,
    ),
    Rule(
        name="gitlab-mail-token",
        pattern=r"incoming\+(?:[A-Za-z0-9._-]{1,80}-)?\d{1,12}-(?P<s>[A-Za-z0-9_-]{16,40}?)-(?:issue|merge)",
        anchors=("incoming+",),
        placeholder="<gitlab-mail-token>",
    ),
    Rule(
        name="maxmind-key",
        pattern=r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk",
        anchors=("_mmk",),
        lead=36,
        placeholder="<maxmind-key>",
    ),
    Rule(  # cut off before the @ that would tell
        name="url-token",
        pattern=r"://(?P<s>[A-Za-z0-9_~%-]{20,256})(?:[^A-Za-z0-9_.:~%-]|\Z)",
        anchors=("://",),
        edge=False,
        placeholder="<token>",
        accept=_no_host,
    ),
)

PROVIDER_RULES: tuple[Rule, ...] = (
    *(_token(*entry) for entry in TOKENS),
    *(_judged(*entry) for entry in NAMES_TOO),
    *(rule for entry in TOKENS for rule in _shortened(*entry)),
    *_UNANCHORED_PREFIX,
)
"""In the order in which they are tried; several rules may share a name."""
