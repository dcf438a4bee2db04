"""Secrets that only their surroundings give away: headers, assignments, URLs, key files.

What is scrubbed is the value, never the name in front of it, so that a reader
still sees what kind of thing stood there (RFC 6750 and RFC 7617 for the
``Authorization`` header, RFC 3986 3.2.1 for user information in URLs, RFC 7468
for PEM, the manual pages of ``netrc`` and ``npmrc``).
"""

from __future__ import annotations

import re

from ptycassette.scrub.rules import Rule
from ptycassette.scrub.values import (
    generated_or_signed,
    looks_generated,
    looks_like_a_value,
    of_letters,
)

__all__ = ["CONTEXT_RULES", "NAMES"]

_VERSION = re.compile(r"v?\d{1,4}(?:\.\d{1,4}){1,3}(?:[-+.].*)?\Z")
_EXAMPLE_PASSWORDS = frozenset({"pass", "passwd", "password", "pwd", "pw", "secret", "token"})
NAMES = (
    r"(?i:passwords?|passwd|pwd|passphrase|[_-]pass|sshpass|secret|token|[_-]key|api[_ ]?key|"
    r"accesskey|access key|privatekey|secretkey|accountkey|sessionkey|credentials?|auth|cookie|psk|"
    r"device_code|code_verifier)"
    r"(?:[_-]?(?i:id|key|value|secret|token|base64|base|b64|hash|data)){0,2}\d{0,2}"
)
_ASSIGN = (
    r"[\"'\\]{0,3}(?:\sis|\s\[[^\]\r\n]{0,40}\])?\s{0,4}(?:=>|:=|=|:)\s{0,4}"
    r"[\"'\\]{0,3}(?:\[-|\{\+)?"  # and what git shows of a changed word
)
_GENERATED_TEXT = r"[A-Za-z0-9+/=_.~-]{16,512}"

# Another variable: the value before it ended with its row. Base64 ends in =, and has no underscore.
_NEXT_NAME = (
    rf"[+-]?[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+=[^=]|(?:KEY|PAT|PSK|SALT|{NAMES})=[^=]|{NAMES}=\Z"
)

CONTEXT_RULES: tuple[Rule, ...] = (
    Rule(
        name="assignment",
        pattern=NAMES + _ASSIGN + r"(?P<s>(?!\|)[^\s\"'`,;<>\\\x1b\x00-\x1f]{6,512})",
        anchors=(
            "passw",
            "pwd",
            "passphrase",
            "secret",
            "token",
            "apikey",
            "api key",
            "_key",
            "-key",
            "accesskey",
            "access key",
            "privatekey",
            "secretkey",
            "accountkey",
            "sessionkey",
            "credential",
            "auth",
            "cookie",
            "psk",
            "_pass",
            "-pass",
            "sshpass",
            "device_code",
            "code_verifier",
        ),
        reach=700,
        edge=False,
        until=_NEXT_NAME,
        accept=looks_like_a_value,
    ),
    Rule(
        name="environment-assignment",
        pattern=r"(?:KEY|PAT|PSK|SALT)[\"']?=[\"']?(?P<s>[^\s\"'`;<>]{8,512})",
        anchors=("key=", 'key"=', "pat=", "psk=", "salt="),
        reach=560,
        edge=False,
        until=_NEXT_NAME,
        accept=looks_like_a_value,
    ),
    Rule(  # a JSON string with escapes in it, at which an assignment ends
        name="json-secret",
        pattern=r"(?i:passwords?|passwd|passphrase|secret|token|api_?key)[\w-]{0,20}\"\s{0,4}:\s{0,4}\""
        r"(?P<s>(?:[^\"\\\x00-\x1f]|\\[\"\\/bfnrtu]){6,512})\"",
        anchors=("passw", "passphrase", "secret", "token", "apikey", "api_key"),
        reach=600,
        edge=False,
        accept=lambda text: "\\" in text and looks_like_a_value(text.replace("\\", "")),
    ),
    Rule(  # in a table, on the next row, as an argument
        name="named-value",
        pattern=r"(?i:[_-]key|token|secret|passwords?|passwd|api[_ ]?key|access key)[\"']?"
        rf"\s{{0,30}}(?:\||:|\xe2\x94\x82)?\s{{1,30}}[\"']?(?P<s>{_GENERATED_TEXT})",
        anchors=("_key", "-key", "token", "secret", "passw", "apikey", "api key", "access key"),
        reach=600,
        edge=False,
        accept=looks_generated,
    ),
    Rule(  # in the next cell of a table, or the next column of a list
        name="table-value",
        pattern=r"(?i:[_-]key|token|secret|passwords?|passwd|passphrase|api[_ ]?key|access key|"
        r"credentials?|device_code)"
        r"[\"'`*]{0,3}(?:\s{0,40}(?:\||\xe2\x94\x82)\s{0,30}[\"'`*]{0,3}|[ ]{2,40})"
        r"(?P<s>[^\s\"'`*|,;<>\\\x00-\x1f\x80-\xff]{8,512})",
        anchors=(
            "_key",
            "-key",
            "token",
            "secret",
            "passw",
            "passphrase",
            "apikey",
            "api key",
            "access key",
            "credential",
            "device_code",
        ),
        reach=640,
        edge=False,
        accept=generated_or_signed,
    ),
    Rule(
        name="kubernetes-variable",
        pattern=r"name:\s{0,4}[\"']?\w{0,64}(?:PASSWORD|PASSWD|TOKEN|SECRET|KEY)[\"']?\s{1,80}"
        r"value:\s{0,4}[\"']?(?P<s>[^\s\"'`,;<>]{6,512})",
        anchors=("name:",),
        reach=700,
        edge=False,
        accept=looks_like_a_value,
    ),
    Rule(  # of 64 bytes; also where a row begins inside of the name
        name="azure-storage-key",
        pattern=r"(?i:key)=(?P<s>[A-Za-z0-9+/]{86}==)",
        anchors=("key=",),
        edge=False,
        placeholder="<azure-key>",
    ),
    Rule(
        name="xml-secret",
        pattern=r"<(?i:password|passwd|token|secret|api-?key|access-?token|client-?secret)>"
        r"(?P<s>[^<\s]{6,512})</",
        anchors=("<passw", "<token", "<secret", "<api", "<access", "<client"),
        edge=False,
        reach=560,
        accept=looks_like_a_value,
    ),
    Rule(
        name="password-argument",
        pattern=r"(?:sshpass|docker login[^\r\n]{0,120}|mysql[^\r\n]{0,120})\s-p\s?[\"']?"
        r"(?P<s>[^\s\"'`]{6,256})",
        anchors=("sshpass", "docker login", "mysql"),
        edge=False,
        accept=lambda text: looks_like_a_value(text) and any(c.isdigit() for c in text),
    ),
    Rule(  # what a command prints that is there to print a secret
        name="printed-secret",
        pattern=r"(?:auth token|print-(?:access|identity)-token|op read [^\r\n]{1,100}|"
        r"pass show[^\r\n]{1,80}|echo \$\w{0,40}(?:TOKEN|KEY|SECRET|PASSWORD)\w{0,20}|"
        rf"cat [^\r\n]{{0,80}}(?:token|secret)s?)[\"']?\s{{1,6}}(?P<s>{_GENERATED_TEXT})",
        anchors=("auth token", "print-", "op read", "pass show", "echo $", "cat "),
        reach=700,
        edge=False,
        accept=looks_generated,
    ),
    Rule(
        name="bearer",
        pattern=r"(?i:bearer)(?:\s|%20|\+|:){1,3}(?P<s>[A-Za-z0-9._~+/=-]{12,})",
        anchors=("bearer",),
        reach=4096,
        placeholder="<bearer-token>",
        accept=looks_like_a_value,
    ),
    Rule(
        name="basic-auth",
        pattern=r"(?i:basic)\s{1,3}(?P<s>[A-Za-z0-9+/]{10,}={0,2})",
        anchors=("basic",),
        reach=1024,
        placeholder="<basic-credentials>",
        accept=lambda text: (
            (
                any(c.isdigit() or c.isupper() for c in text[1:])
                and not text.isalpha() | text.isdigit()
            )
            or text.endswith("=")
        ),
    ),
    Rule(
        name="authorization-header",
        pattern=r"(?i:authorization)[\"']?\s{0,2}[:=]\s{0,2}[\"']?(?:[A-Za-z-]{3,20}\s{1,2})?(?P<s>[A-Za-z0-9._~+/=:-]{12,})",
        anchors=("authorization",),
        reach=4096,
        placeholder="<credentials>",
        accept=looks_like_a_value,
    ),
    Rule(
        name="api-key-header",
        pattern=r"(?i:x-(?:api-key|goog-api-key|auth-token|access-token|amz-security-token)|api-key)"
        r"[\"']?\s{0,2}:\s{0,2}[\"']?(?P<s>[A-Za-z0-9._~+/=-]{8,})",
        anchors=(
            "x-api-key",
            "x-goog-api-key",
            "x-auth-token",
            "x-access-token",
            "api-key",
            "x-amz-s",
        ),
        reach=4096,
        edge=False,
        placeholder="<api-key>",
        accept=looks_like_a_value,
    ),
    Rule(
        name="cookie-header",
        pattern=r"(?i:(?:set-)?cookie)\s{0,2}:\s{0,2}(?P<s>[A-Za-z0-9_.-]{1,64}=[^\r\n\"'\\|]{8,2048})",
        anchors=("cookie",),
        reach=2200,
        edge=False,
        placeholder="<cookie>",
    ),
    Rule(
        name="url-credentials",
        pattern=r"[A-Za-z][A-Za-z0-9+.-]{0,20}://[^\s/:@\"'<>]{0,128}:(?P<s>[^\s/@\"'<>]{3,256})@",
        anchors=("://",),
        lead=21,
        placeholder="<password>",
        accept=lambda text: (
            text.lower() not in _EXAMPLE_PASSWORDS and not text.startswith(("$", "{", "<", "["))
        ),
    ),
    Rule(
        name="url-token",
        pattern=r"[A-Za-z][A-Za-z0-9+.-]{0,20}://(?P<s>[A-Za-z0-9_.~%-]{16,256})@",
        anchors=("://",),
        lead=21,
        placeholder="<token>",
        accept=looks_like_a_value,
    ),
    Rule(
        name="url-query-secret",
        pattern=r"[?&](?i:key|api_?key|token|access_token|sig|signature|auth|password|secret|code|"
        r"x-amz-signature|x-amz-security-token|x-amz-credential)=(?P<s>[A-Za-z0-9._~+/%=-]{8,2048})",
        anchors=("?", "&"),
        reach=2200,
        edge=False,
        accept=looks_like_a_value,
    ),
    Rule(
        name="netrc",
        pattern=r"(?:machine\s+\S{1,256}|default)\s+(?:account\s+\S+\s+)?login\s+\S{1,256}\s+"
        r"(?:account\s+\S+\s+)?password\s+(?P<s>\S{3,256})",
        anchors=("machine", "default"),
        reach=900,
        placeholder="<password>",
        accept=lambda text: (
            text.lower() not in _EXAMPLE_PASSWORDS and not text.startswith(("$", "{", "<", "["))
        ),
    ),
    Rule(
        name="login-password",
        pattern=r"(?<![/.-])password\s{1,3}(?P<s>[^\s\"'`,;<>()]{6,256})",
        anchors=("password",),
        placeholder="<password>",
        accept=lambda text: (
            looks_like_a_value(text)
            and (any(c.isdigit() for c in text) or of_letters(text))
            and not _VERSION.match(text)
            and not text.startswith("\\")
        ),
    ),
    Rule(
        name="command-line-password",
        pattern=r"--(?:[A-Za-z0-9_]{1,24}-){0,4}(?:password|passwd|passphrase|pass|token|secret|"
        r"(?:api|access|auth|secret|account|license|signing|encryption)-?key)"
        r"(?:=|\s{1,2}|[\"'],\s{0,2})[\"']?(?P<s>[^\s\"'`]{6,512})",
        anchors=(
            *("-pass", "-token", "-secret", "apikey", "accesskey", "authkey", "secretkey"),
            *("api-key", "access-key", "auth-key", "secret-key", "account-key", "license-key"),
            *("signing-key", "encryption-key"),
        ),
        lead=100,
        reach=560,
        edge=False,
        accept=looks_like_a_value,
    ),
    Rule(  # RFC 8628: who types it in is let in
        name="device-code",
        pattern=r"(?i:(?:one-time|user|device|verification|activation|pairing|login|the)[ _-]code)"
        r"[\"']?\s{0,2}(?:is|:|=)?\s{0,3}[\"']?(?P<s>[A-Z0-9]{4}-[A-Z0-9]{4,5})(?![A-Za-z0-9-])",
        anchors=("-code", " code", "_code"),
        lead=16,
        placeholder="<device-code>",
    ),
    Rule(
        name="curl-user",
        # What is an option's own name (--user-agent:, --base-url:) and URLs are no users.
        pattern=r"(?:(?<![A-Za-z0-9_-])-u(?:=|\s{0,2})|-u\s{1,2}|"
        r"--user(?:=|\s{1,2}|(?!s?[:=_]|name|agent|data|id)))"
        r"[\"']?[A-Za-z0-9_.@+][A-Za-z0-9_.@+-]{0,127}:(?!//)(?P<s>[^\s\"'`:][^\s\"'`]{3,255})",
        anchors=("-u", "--user"),
        edge=False,
        placeholder="<password>",
        accept=looks_like_a_value,
    ),
)
"""Rules on surroundings. What they take is checked, because code talks about passwords too."""
