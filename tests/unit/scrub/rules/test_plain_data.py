"""What out of files and the environment is ordinary data, and what may be a secret."""

from __future__ import annotations

import pytest

from ptycassette.scrub.rules.values import declares_a_secret, is_plain_data

from .conftest import Expand

INNOCENT = """
firstStartTime                2026-11-02T08:00:00.123Z
claudeCodeFirstTokenDate      2025-05-30T18:05:49.108467Z
last_refresh                  2026-11-02T08:00:00.123456789Z
lastSessionStart              2026-11-02 08:00:00+01:00
sessionDate                   2026-11-02
tokenExpiry                   Mon, 02 Nov 2026 08:00:00 GMT
authTime                      Mon Nov  2 08:00:00 2026
token                         2026-11-02T08:00:00Z
session_started               20261102T080000Z
sessionDay                    02/11/2026
authHour                      08:15:30
accessTime                    8:15 pm
access                        1793606400
expires                       1793606400123
last_access                   1793606400.25
sessionTimeout                PT15M
refreshInterval               1h30m
token_budget                  8,192
session_limit                 100MB
authRetry                     2.5e3
keyColour                     #ff8800
session_pointer               0x7f3a9c2e51d0
sessionVersion                1.2.3-beta.4
auth_version                  v20.11.0
keyRange                      ^1.2.0
accessVersion                 2026.11.2+build.77
sessionRange                  >=3.11
session_dir                   /home/bob/.local/share/sessions
privateFile                   ~/.ssh/id_ed25519.pub
AUTH_HELPER                   ./bin/auth-helper.sh
KEYSTORE                      C:\\Users\\bob\\keys.jks
token                         /run/secrets/token
session_path                  src/auth/session_store.py
auth_url                      https://auth.corp.example/oauth2/v2.0/token
token                         https://oauth2.googleapis.com/token
accessUrl                     postgres://localhost:5432/app
session_socket                unix:///run/user/1000/bus
sessionHost                   127.0.0.1:8443
auth_address                  fe80::1ff:fe23:4567:890a
accessHost                    api.eu-west-1.corp.example:443
sessionEnabled                true
authToken                     false
apiKey                        null
auth                          none
lastSessionModel              claude-sonnet-4-5-20250929
authModel                     us.anthropic.claude-3-7-sonnet-20250219-v1:0
sessionModel                  gpt-5.1-codex-mini
accessModel                   gemini-2.5-pro-preview-06-05
keyModel                      anthropic/claude-opus-4-1
authModel2                    qwen3-coder-480b-a35b-instruct
sessionModel3                 deepseek-r1-0528
accessModel4                  llama-3.3-70b-versatile
sessionId                     3f2b8c1e-7a4d-4c9b-9e1f-5d6a7b8c9d0e
machineID                     3f2b8c1e-7a4d-4c9b-9e1f-5d6a7b8c9d0e
lastSessionId                 3f2b8c1e7a4d4c9b9e1f5d6a7b8c9d0e
SESSION_LOCALE                en_US.UTF-8
session_language              de_DE@euro
authLocale                    zh-Hans-CN
sessionZone                   America/Argentina/Buenos_Aires
sessionTerm                   xterm-256color
sessionShell                  Apple_Terminal
commit_sha                    6dcd4ce23d88e2ee9568ba546c007c63d9131c1b
sessionDigest                 sha256:{hex:64}
sessionRuntime                node-v20.11.0-linux-x64
maxTokens                     unlimited
credentials                   same-origin
secrets                       db_password_file
trustedKeys                   default-and-corporate
keyEpsilon                    2.5e-06
integrity                     sha512-{alnum:86}==
file_md5                      9e107d9d372bb6826bd81d3542a419d6
binaryHash                    {hex:64}
etag                          W/"9e107d9d372bb6826bd81d3542a419d6"
AUTH_PROVIDER                 github-enterprise-server
auth_method                   oauth_personal
session                       interactive terminal session
KEYBINDINGS                   emacs-style-bindings
keyFormat                     application/vnd.api+json
ACCESS_LEVEL                  read-only-for-everybody
authSource                    ChatGPT Plus subscription
NPM_TOKEN                     ${NPM_TOKEN}
_authToken                    ${GITHUB_TOKEN}
password                      <your password>
api_key                       your-api-key-here
password                      ********
client_secret                 changeme
salesforceRegion              eu-central-2
"""

SECRET = """
password                      correct-horse-battery-staple
DB_PASSWORD                   hunter
PGPASSWORD                    Tr0ub4dor
mysql_pwd                     sesame open
passphrase                    four words of mine
client_secret                 wonderful-secret-of-words
clientSecret                  $ecretly!
apiKey                        someKeyOfWords
OPENAI_API_KEY                {alnum:40}
aws_secret_access_key         {base64:39}k
signing_key                   {hex:32}
secretKeyBase                 {hex:64}
token                         {alnum:24}
accessToken                   {alnum:20}.{alnum:20}
_authToken                    3f2b8c1e-7a4d-4c9b-9e1f-5d6a7b8c9d0e
HEROKU_API_KEY                3f2b8c1e-7a4d-4c9b-9e1f-5d6a7b8c9d0e
secret_id                     3f2b8c1e-7a4d-4c9b-9e1f-5d6a7b8c9d0e
accountUuid                   3f2b8c1e-7a4d-4c9b-9e1f-5d6a7b8c9d0e
userID                        {hex:64}
organizationId                3f2b8c1e-7a4d-4c9b-9e1f-5d6a7b8c9d0e
passwordHash                  {hex:64}
token_sha256                  {hex:64}
refresh                       {alnum:40}
BUILD_AUTH                    {alnum:32}
access                        {alnum:32}
session                       {hex:32}
SALT                          qzxkwvjhpf
private                       {alnum:28}
approved                      {alnum:20}
anything                      {alnum:16}
anything                      {hex:32}
anything                      {alnum:8}-{alnum:8}-{alnum:8}
auth                          P@ssw0rd!x
webhook                       https://hooks.corp.example/services/{alnum:24}
database                      https://{alnum:24}@git.corp.example/a.git
cookie                        sid={alnum:24}
password                      180824296339e625
commit                        {alnum:40}
anything                      ñC9яvXTdédøvrdλoñs
"""


def rows(table: str) -> list[tuple[str, str]]:
    """Names and values of a table."""
    return [(row[:30].strip(), row[30:]) for row in table.strip().splitlines()]


@pytest.mark.parametrize(("name", "vector"), rows(INNOCENT))
def test_ordinary_data_is_no_secret(name: str, vector: str, expand: Expand) -> None:
    """Dates, numbers, versions, places, models, ids, digests, words and placeholders."""
    text, _ = expand(vector, 0)

    assert is_plain_data(text, name=name)


@pytest.mark.parametrize(("name", "vector"), rows(SECRET))
@pytest.mark.parametrize("seed", range(3))
def test_what_may_be_a_secret_is_not_ordinary(
    name: str, vector: str, seed: int, expand: Expand
) -> None:
    """Words where the name declares them, ids of accounts, and what looks generated."""
    text, _ = expand(vector, seed)

    assert not is_plain_data(text, name=name)


@pytest.mark.parametrize(
    "name", ["firstStartTime", "tokenCount", "monkey", "compass", "keybindings", "hash", "", "id"]
)
def test_a_name_that_holds_such_letters_declares_nothing(name: str) -> None:
    """Whole words of it count, and the last one."""
    assert not declares_a_secret(name)
