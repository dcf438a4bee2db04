"""Who was recorded: mail addresses, account identifiers, user names in paths and prompts."""

from __future__ import annotations

import re

from ptycassette.scrub.rules import Rule

__all__ = ["EXAMPLE_DOMAINS", "IDENTITY_RULES", "PUBLIC_USERS", "is_ordinary"]

EXAMPLE_DOMAINS = re.compile(
    r"(?:.*[.@])?(?:example\.(?:com|org|net|edu)|example|test|invalid|localhost|"
    r"users\.noreply\.github\.com)\Z",
    re.IGNORECASE,
)
"""RFC 2606: addresses there belong to nobody."""

PUBLIC_USERS = frozenset(
    """
    root user users home ubuntu debian fedora centos alpine admin administrator runner
    runneradmin vscode node app me you username shared public guest default name agent agents
    build builder builds ci bot buildkite circleci travis gitlab github jenkins docker podman
    container containers dev developer devs test tester testing tests demo example sandbox
    code coder codespace codespaces gitpod workspace workspaces work worker workers project
    projects vagrant pi ec2-user opc azureuser cloud cloudshell jovyan service services server
    daemon nobody www www-data web nginx apache http mysql postgres redis mail git svn system
    operator staff deploy deployer release main master local host localhost mac macos linux
    windows claude codex gemini opencode aider cursor llm ai model data tmp temp nix nixbld
    brew linuxbrew conda python ruby java rust golang <user> $user user.name
    """.split()  # noqa: SIM905 - a list of words reads better
)
"""Account names that say nothing about anybody: of systems, images, services and tools."""

_WORDS = frozenset(
    """
    angel april baker blaze brook buddy candy chance chase chuck clark cliff coral crystal daisy
    dawn destiny duke earl ember faith felix fisher flora foster frank gates genie ginger glory
    grace grant green hazel heath honor hunter ivory jasmine jewel jordan joy june king knight
    lance lily logan magic major march marsh mason melody mercy miles miller misty norman olive
    opal page paris parker patience pearl penny piper porter price prince queen ranger raven
    ready reader ridge river robin rocky rose ruby rusty sage sandy scout shell short silver
    singer skip small smith spencer star stone storm summer sunny taylor terry tiger trinity
    turner victor viola violet walker ward warner waters weaver white winter woods woody young
    """.split()  # noqa: SIM905 - a list of words reads better
)
"""Names that are words as well."""

_SHORT_NAME = 4


def is_ordinary(name: str) -> bool:
    """Whether a name is, or may well be, a word that texts use without meaning anybody."""
    return name.isalpha() and (len(name) <= _SHORT_NAME or name.lower() in _WORDS)


_PUBLIC_LOCAL_PARTS = frozenset(
    """
    git noreply no-reply support info hello help contact admin root security
    donotreply
    """.split()  # noqa: SIM905 - a list of words reads better
)


def _personal_address(text: str) -> bool:
    local, _, domain = text.partition("@")
    if EXAMPLE_DOMAINS.match(domain) or local.lower() in _PUBLIC_LOCAL_PARTS:
        return False
    ending = domain.rsplit(".", 1)[-1]
    return ending.lower() not in _FILE_ENDINGS and bool(set(text) - set("x@."))


_FILE_ENDINGS = frozenset(
    """
    py js ts tsx jsx mjs cjs rs go md txt json toml yml yaml sh png jpg svg so pyc html css map
    service socket target mount timer slice scope path device automount swap catalog conf cfg
    list sources log lock rules mo po pm pl rb java cpp hpp vue lua vim xml gz xz bz tgz whl
    """.split()  # noqa: SIM905 - a list of words reads better
)


def _personal_user(text: str) -> bool:
    return text.lower() not in PUBLIC_USERS and bool(set(text) - set("x*._-"))


def _somebodys_account(text: str) -> bool:
    """Whether a number is none of those that manuals use (1234..., 1111 2222 3333, ...)."""
    digits = text.replace("-", "")
    return len(set(digits)) >= _DIGITS_OF_A_NUMBER and digits not in _COUNTED


_DIGITS_OF_A_NUMBER = 5
_COUNTED = frozenset({"123456789012", "012345678901", "210987654321", "098765432109"})


_ACCOUNT = (
    r"(?i:(?:account|organi[sz]ation|org|user|workspace|tenant|subscription|customer|device"
    r"|installation|billing)[_ -]?(?:uu)?id)"
)
_UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
_ACCOUNT_ANCHORS = (
    "accountid",
    "accountuuid",
    "account_id",
    "account_uuid",
    "account-id",
    "account id",
    "organizationid",
    "organizationuuid",
    "organization_id",
    "organization_uuid",
    "organization-id",
    "organization id",
    "organisation",
    "orgid",
    "org_id",
    "org-id",
    "org id",
    "userid",
    "user_id",
    "user-id",
    "user id",
    "useruuid",
    "user_uuid",
    "workspaceid",
    "workspace_id",
    "tenantid",
    "tenant_id",
    "tenant id",
    "subscriptionid",
    "subscription_id",
    "subscription id",
    "customerid",
    "customer_id",
    "deviceid",
    "device_id",
    "installation_id",
    "billing_id",
    "orguuid",
    "org_uuid",
)

IDENTITY_RULES: tuple[Rule, ...] = (
    Rule(
        name="email",
        kind="identity",
        pattern=r"[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,6}"
        r"[A-Za-z]{2,24}",
        anchors=("@",),
        lead=64,
        reach=256,
        edge=False,
        placeholder="<email>",
        accept=_personal_address,
    ),
    Rule(
        name="home-path",
        kind="identity",
        pattern=r"/(?:home|Users)/(?P<s>[A-Za-z0-9._-]{2,64})",
        anchors=("/home/", "/users/"),
        edge=False,
        learn=False,
        placeholder="<user>",
        accept=_personal_user,
    ),
    Rule(
        name="home-path",
        kind="identity",
        pattern=r"[A-Za-z]:\\{1,4}Users\\{1,4}(?P<s>[A-Za-z0-9._-]{2,64})",
        anchors=(":\\",),
        lead=1,
        learn=False,
        placeholder="<user>",
        accept=_personal_user,
    ),
    Rule(
        name="account-id",
        kind="identity",
        pattern=_ACCOUNT + r"[\"'\\]{0,3}\s{0,3}[:=]\s{0,3}[\"'\\]{0,3}"
        rf"(?P<s>{_UUID}|[A-Za-z0-9_-]{{0,8}}[A-Za-z0-9]{{16,64}})",
        anchors=_ACCOUNT_ANCHORS,
        edge=False,
        placeholder="<account-id>",
        accept=lambda text: any(c.isdigit() for c in text),
    ),
    Rule(  # in the next cell of a table, or the next column of a list
        name="account-id",
        kind="identity",
        pattern=_ACCOUNT
        + r"[\"'`*]{0,3}(?:\s{0,40}(?:\||\xe2\x94\x82)\s{0,30}[\"'`*]{0,3}|[ ]{2,40})"
        rf"(?P<s>{_UUID})",
        anchors=_ACCOUNT_ANCHORS,
        edge=False,
        placeholder="<account-id>",
    ),
    Rule(
        name="account-id",
        kind="identity",
        pattern=r"org-[A-Za-z0-9]{20,32}",
        anchors=("org-",),
        placeholder="<account-id>",
        public=4,
        accept=lambda text: any(c.isdigit() for c in text),
    ),
    Rule(
        name="account-id",
        kind="identity",
        pattern=r"(?:acct|cus|user|proj)_[A-Za-z0-9]{14,40}",
        anchors=("acct_", "cus_", "user_", "proj_"),
        placeholder="<account-id>",
        public=5,
        accept=lambda text: (
            any(c.isdigit() for c in text[5:]) and any(c.isalpha() for c in text[5:])
        ),
    ),
    Rule(
        name="aws-account-id",
        kind="identity",
        pattern=r"arn:aws[a-z-]*:[a-z0-9-]{2,32}:[a-z0-9-]{0,20}:(?P<s>\d{12}):",
        anchors=("arn:aws",),
        placeholder="<account-id>",
    ),
    Rule(  # as a number of its own, and as the console groups it
        name="aws-account-id",
        kind="identity",
        pattern=r"(?i:account(?:[ _-]?(?:ids?|no|number))?)[\"'\\]{0,3}\s{0,3}[:=]\s{0,3}"
        r"[\"'\\\[]{0,3}(?P<s>\d{12}|\d{4}-\d{4}-\d{4})(?![\d-])",
        anchors=("account",),
        reach=60,
        edge=False,
        placeholder="<account-id>",
        accept=_somebodys_account,
    ),
    Rule(  # in the names of registries
        name="aws-account-id",
        kind="identity",
        pattern=r"(?P<s>\d{12})\.dkr\.ecr[.-]",
        anchors=(".dkr.ecr",),
        lead=12,
        placeholder="<account-id>",
        accept=_somebodys_account,
    ),
    Rule(  # and of queues
        name="aws-account-id",
        kind="identity",
        pattern=r"\.amazonaws\.com/(?P<s>\d{12})/",
        anchors=(".amazonaws.com/",),
        edge=False,
        placeholder="<account-id>",
        accept=_somebodys_account,
    ),
    Rule(  # a project's number and a name that is generated, or the number alone
        name="google-client-id",
        kind="identity",
        pattern=r"(?P<s>\d{8,21}(?:-[a-z0-9]{20,40})?)\.apps\.goo",
        anchors=(".apps.goo",),
        lead=62,
        placeholder="<client-id>",
    ),
    Rule(  # the same cut off
        name="google-client-id",
        kind="identity",
        pattern=r"(?i:client_?id)[\"'\\]{0,3}\s{0,3}[:=]\s{0,3}[\"'\\]{0,3}"
        r"(?P<s>\d{10,13}-[a-z0-9]{4,32})",
        anchors=("client_id", "clientid"),
        edge=False,
        placeholder="<client-id>",
    ),
)
"""What is replaced because it names a person or an account. Secrets stand elsewhere."""
