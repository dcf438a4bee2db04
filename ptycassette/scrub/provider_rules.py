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
_W = "[A-Za-z0-9_-]"
_A = "[A-Za-z0-9]"
_H = "[0-9a-fA-F]"

# (name, prefix, what follows)
_TABLE: tuple[tuple[str, str, str], ...] = (
    *(
        ("anthropic-token", f"sk-ant-{kind}-", f"{_W}{{16,}}")
        for kind in ("api03", "oat01", "ort01", "sid01", "sid02", "admin01")
    ),
    ("anthropic-token", "sk-ant-", f"{_W}{{16,}}"),
    ("openrouter-key", "sk-or-v1-", f"{_A}{{24,}}"),
    ("openai-key", "sk-proj-", f"{_W}{{20,}}"),
    ("openai-key", "sk-svcacct-", f"{_W}{{20,}}"),
    ("openai-key", "sk-admin-", f"{_W}{{20,}}"),
    ("openai-key", "sk-None-", f"{_W}{{20,}}"),
    ("langfuse-key", "sk-lf-", f"{_W}{{20,}}"),
    ("sk-key", "sk-", f"{_A}{{20,}}"),
    ("google-api-key", "AIza", f"{_W}{{24,}}"),
    ("google-api-key", "AQ.", f"{_W}{{24,}}"),
    ("google-oauth-token", "ya29.", "[A-Za-z0-9_.-]{20,}"),
    ("google-refresh-token", "1//0", f"{_W}{{24,}}"),
    ("google-client-secret", "GOCSPX-", f"{_W}{{20,}}"),
    ("github-token", "ghp_", f"{_A}{{24,}}"),
    ("github-token", "gho_", f"{_A}{{24,}}"),
    ("github-token", "ghu_", f"{_A}{{24,}}"),
    ("github-token", "ghr_", f"{_A}{{24,}}"),
    ("github-token", "github_pat_", "[A-Za-z0-9_]{30,}"),
    *(
        ("gitlab-token", prefix, "[A-Za-z0-9_.-]{14,}")
        for prefix in (
            "glpat-",
            "gloas-",
            "gldt-",
            "glrt-",
            "glrtr-",
            "glcbt-",
            "glptt-",
            "glft-",
            "glimt-",
            "glagent-",
            "glwt-",
            "glsoat-",
            "glffct-",
        )
    ),
    *(
        ("aws-session-token", prefix, "[A-Za-z0-9+/=]{24,}")
        for prefix in ("IQoJb3JpZ2lu", "FwoGZXIvYXdz", "FQoGZXIvYXdz")
    ),
    ("aws-bedrock-key", "ABSK", "[A-Za-z0-9+/]{30,}={0,2}"),
    ("aws-bedrock-key", "bedrock-api-key-", "[A-Za-z0-9+/=_-]{30,}"),
    *(
        ("slack-token", prefix, "[A-Za-z0-9-]{10,}")
        for prefix in ("xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxo-", "xoxc-", "xoxd-")
    ),
    ("slack-token", "xoxe-", "[A-Za-z0-9-]{10,}"),
    ("slack-token", "xoxe.xox", "[A-Za-z0-9.-]{10,}"),
    ("slack-token", "xapp-", "[A-Za-z0-9-]{10,}"),
    ("slack-webhook", "vices/T", "(?P<s>[A-Z0-9]{8,12}/B[A-Z0-9]{8,12}/[A-Za-z0-9]{16,})"),
    (
        "slack-webhook",
        "hooks.slack.com/",
        "(?:services|workflows|triggers)/(?P<s>[A-Za-z0-9/_-]{20,})",
    ),
    *(
        ("stripe-key", f"{kind}_{mode}_", f"{_A}{{16,}}")
        for kind in ("sk", "rk")
        for mode in ("live", "test", "prod")
    ),
    ("stripe-webhook-secret", "whsec_", "[A-Za-z0-9+/=]{16,}"),
    ("huggingface-token", "hf_", f"{_A}{{26,}}"),
    ("huggingface-token", "api_org_", f"{_A}{{24,}}"),
    ("npm-token", "npm_", f"{_A}{{24,}}"),
    ("pypi-token", "pypi-AgE", f"{_W}{{30,}}"),
    ("crates-token", "cio", f"{_A}{{26,32}}"),
    ("elevenlabs-key", "sk_", f"{_H}{{32,48}}"),
    ("groq-key", "gsk_", f"{_A}{{30,}}"),
    ("xai-key", "xai-", f"{_W}{{30,}}"),
    ("perplexity-key", "pplx-", f"{_A}{{24,}}"),
    ("replicate-token", "r8_", f"{_A}{{26,}}"),
    ("together-key", "tgp_v1_", f"{_W}{{30,}}"),
    ("fireworks-key", "fw_", f"{_A}{{20,}}"),
    ("cerebras-key", "csk-", f"{_A}{{24,}}"),
    ("nvidia-key", "nvapi-", f"{_W}{{30,}}"),
    ("voyage-key", "pa-", f"{_W}{{40,}}"),
    ("tavily-key", "tvly-", f"{_W}{{20,}}"),
    ("exa-or-e2b-key", "e2b_", f"{_H}{{26,}}"),
    ("cursor-key", "crsr_", f"{_H}{{26,}}"),
    ("langsmith-key", "lsv2_", "(?:pt|sk)_[A-Za-z0-9_]{30,}"),
    ("databricks-token", "dapi", f"{_H}{{24,32}}(?:-\\d)?"),
    ("digitalocean-token", "dop_v1_", f"{_H}{{30,}}"),
    ("digitalocean-token", "doo_v1_", f"{_H}{{30,}}"),
    ("digitalocean-token", "dor_v1_", f"{_H}{{30,}}"),
    *(
        ("doppler-token", f"dp.{kind}.", "[A-Za-z0-9._-]{30,}")
        for kind in ("pt", "st", "ct", "sa", "scim", "audit")
    ),
    ("linear-key", "lin_api_", f"{_A}{{24,}}"),
    ("linear-token", "lin_oauth_", f"{_A}{{24,}}"),
    ("notion-token", "ntn_", f"{_A}{{30,}}"),
    ("figma-token", "figd_", f"{_W}{{26,}}"),
    ("sendgrid-key", "SG.", f"{_W}{{16,}}\\.{_W}{{16,}}"),
    ("twilio-key", "SK", "[0-9a-f]{26,32}"),
    ("twilio-sid", "AC", "[0-9a-f]{26,32}"),
    ("mailgun-key", "key-", "[0-9a-f]{26,32}(?![0-9a-f])"),
    *(("shopify-token", f"shp{kind}_", f"{_H}{{24,}}") for kind in ("at", "ca", "pa", "ss")),
    ("square-token", "sq0atp-", f"{_W}{{18,}}"),
    ("square-secret", "sq0csp-", f"{_W}{{30,}}"),
    ("vault-token", "hvs.", f"{_W}{{24,}}"),
    ("vault-token", "hvb.", f"{_W}{{24,}}"),
    ("vault-token", "hvr.", f"{_W}{{24,}}"),
    ("age-secret-key", "AGE-SECRET-KEY-", "[A-Z0-9]{30,}"),
    ("docker-token", "dckr_pat_", f"{_W}{{16,}}"),
    ("docker-token", "dckr_oat_", f"{_W}{{16,}}"),
    ("grafana-token", "glsa_", f"{_A}{{24,32}}(?:_{_H}{{1,8}})?"),
    ("grafana-token", "glc_", "[A-Za-z0-9+/=]{32,}"),
    ("newrelic-key", "NRAK-", "[A-Z0-9]{20,}"),
    ("postman-key", "PMAK-", "[A-Za-z0-9-]{24,}"),
    *(
        ("planetscale-token", f"pscale_{kind}_", "[A-Za-z0-9_.-]{24,}")
        for kind in ("tkn", "oauth", "pw")
    ),
    ("pulumi-token", "pul-", f"{_H}{{26,}}"),
    ("rubygems-key", "rubygems_", f"{_H}{{26,}}"),
    ("supabase-token", "sbp_", f"{_H}{{26,}}"),
    ("supabase-key", "sb_secret_", f"{_W}{{20,}}"),
    ("netlify-token", "nfp_", f"{_A}{{26,}}"),
    *(("vercel-token", f"vc{kind}_", f"{_A}{{28,}}") for kind in "paikr"),
    ("fly-token", "fo1_", f"{_W}{{30,}}"),
    ("fly-token", "FlyV1 ", "(?P<s>fm[12][ar]?_[A-Za-z0-9+/=,_-]{40,})"),
    *(("fly-token", f"fm{kind}_", "[A-Za-z0-9+/=,_-]{40,}") for kind in ("2", "1a", "1r")),
    ("render-key", "rnd_", f"{_A}{{24,}}"),
    ("sentry-token", "sntrys_", "[A-Za-z0-9+/=_-]{30,}"),
    ("sentry-token", "sntryu_", f"{_H}{{30,}}"),
    ("posthog-key", "phx_", f"{_W}{{30,}}"),
    ("posthog-key", "phc_", f"{_W}{{30,}}"),
    ("atlassian-token", "ATATT3", "[A-Za-z0-9_=-]{40,}"),
    ("atlassian-token", "ATCTT3", "[A-Za-z0-9_=-]{40,}"),
    ("bitbucket-password", "ATBB", f"{_A}{{24,}}"),
    ("dropbox-token", "sl.", f"{_W}{{100,}}"),
    ("heroku-key", "HRKU-", f"{_W}{{26,}}"),
    ("tailscale-key", "tskey-", f"{_W}{{20,}}"),
    ("onepassword-token", "ops_eyJ", "[A-Za-z0-9+/=_-]{40,}"),
    ("clojars-token", "CLOJARS_", f"{_A}{{36,}}"),
    ("nuget-key", "oy2", "[a-z0-9]{34,43}"),
    ("circleci-token", "CCIPAT_", f"{_W}{{30,}}"),
    ("buildkite-token", "bkua_", f"{_H}{{28,40}}"),
    ("openai-webhook-or-session", "sess-", f"{_A}{{40}}"),
    ("wandb-key", "wandb_v1_", f"{_W}{{30,}}"),
    ("modal-token", "ak-", f"{_A}{{22}}"),
    ("modal-secret", "as-", f"{_A}{{22}}"),
    ("scaleway-key", "SCW", "[A-Z0-9]{17}"),
    ("alibaba-key", "LTAI", f"{_A}{{16,}}"),
    ("tencent-key", "AKID", f"{_A}{{28,}}"),
    (
        "hubspot-token",
        "pat-",
        f"(?:na|eu|ap)\\d-{_H}{{8}}-{_H}{{4}}-{_H}{{4}}-{_H}{{4}}-{_H}{{12}}",
    ),
    ("readme-key", "rdme_", "[a-z0-9]{60,}"),
    ("duffel-token", "duffel_", f"(?:test|live)_{_W}{{40,}}"),
    ("easypost-key", "EZAK", f"{_A}{{50,}}"),
    ("frameio-token", "fio-u-", f"{_W}{{60,}}"),
    ("prefect-key", "pnu_", f"{_A}{{26,36}}"),
    ("typeform-token", "tfp_", f"{_W}{{40,}}"),
    ("shippo-token", "shippo_", f"(?:live|test)_{_H}{{40}}"),
    ("dynatrace-token", "dt0c01.", "[A-Z0-9]{24}\\.[A-Z0-9]{60,}"),
    ("artifactory-token", "AKCp", f"{_A}{{30,}}"),
    ("lark-or-infracost-key", "ico-", f"{_A}{{32}}"),
    # The claims of one that was cut off begin with a JSON object too.
    (
        "jwt",
        "eyJ",
        f"{_W}{{8,}}\\.(?:[A-Za-z0-9_-]{{8,}}(?:\\.[A-Za-z0-9_-]*){{1,3}}|eyJ[A-Za-z0-9_-]{{5,}})",
    ),
)

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
        pattern=r"[A-Za-z0-9]{20,52}JQQJ99[A-Za-z0-9+/=]*",
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
    Rule(
        name="discord-webhook",
        pattern=r"discord(?:app)?\.com/api/webhooks/(?P<s>\d{15,22}(?:/[A-Za-z0-9_-]*)?)",
        anchors=("discord",),
        placeholder="<webhook>",
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
    *(_token(*entry) for entry in _TABLE),
    *(rule for entry in _TABLE for rule in _shortened(*entry)),
    *_UNANCHORED_PREFIX,
)
"""In the order in which they are tried; several rules may share a name."""
