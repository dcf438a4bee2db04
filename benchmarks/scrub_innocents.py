"""What scrubbing changes where there is no secret: ``python -m benchmarks.scrub_innocents``.

Look-alikes (digests, commits, UUIDs, versions, base64 images, integrity hashes,
code about tokens) are scrubbed one by one; then a long session without secrets.
"""

from __future__ import annotations

import argparse
import base64
import random
from collections import Counter
from collections.abc import Callable

from benchmarks.scrub_blocks import WORDS, blocks
from benchmarks.scrub_cases import CASES
from ptycassette.model.records import Harness, Output, SessionMeta
from ptycassette.model.screen import Size
from ptycassette.scrub.session import default_scrubber

Maker = Callable[[random.Random], str]


def hexadecimal(rng: random.Random, count: int) -> str:
    """Random hexadecimal digits."""
    return str(CASES.chars(rng, CASES.HEX, count))


def words(rng: random.Random, count: int = 6) -> str:
    """Some words."""
    return " ".join(rng.choices(WORDS, k=count))


def fixed(text: str) -> Maker:
    """A text that is the same for every seed."""
    return lambda _: text


LOOK_ALIKES: dict[str, Maker] = {
    "git commit": lambda r: f"commit {hexadecimal(r, 40)}\nAuthor: A U Thor <author@example.com>",
    "git log": lambda r: f"{hexadecimal(r, 7)} {words(r)}",
    "git index": lambda r: f"index {hexadecimal(r, 10)}..{hexadecimal(r, 10)} 100644",
    "sha256": lambda r: f"{hexadecimal(r, 64)}  dist/app-1.{r.randrange(9)}.0.tar.gz",
    "image digest": lambda r: f"docker.io/library/alpine@sha256:{hexadecimal(r, 64)}",
    "md5": lambda r: f"MD5 (file) = {hexadecimal(r, 32)}",
    "integrity": lambda r: (
        '"integrity": "sha512-' + base64.b64encode(r.randbytes(64)).decode() + '"'
    ),
    "go.sum": lambda r: (
        f"golang.org/x/net v0.{r.randrange(40)}.0 h1:" + base64.b64encode(r.randbytes(32)).decode()
    ),
    "uuid": lambda r: f"request {CASES.uuid(r)} done",
    "uuid path": lambda r: f"~/.cache/jobs/{CASES.uuid(r)}/result.json",
    "version": lambda r: (
        f"package-lock: left-pad@{r.randrange(9)}.{r.randrange(99)}.{r.randrange(9)}"
    ),
    "npm scope": lambda r: f"added @types/node@{r.randrange(20)}.{r.randrange(20)}.3",
    "data url": lambda r: "data:image/png;base64," + base64.b64encode(r.randbytes(900)).decode(),
    "certificate": lambda r: (
        "-----BEGIN CERTIFICATE-----\n"
        + "\n".join(base64.b64encode(r.randbytes(48)).decode() for _ in range(12))
        + "\n-----END CERTIFICATE-----"
    ),
    "public key": lambda r: (
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + CASES.chars(r, CASES.ALNUM, 43)
    ),
    "code password": fixed("password = input('Password: ')"),
    "code getenv": fixed('token = os.environ["GITHUB_TOKEN"]'),
    "code type": fixed("def login(self, password: str, token: Optional[str] = None) -> Token:"),
    "code env js": fixed("const apiKey = process.env.OPENAI_API_KEY;"),
    "usage": lambda r: f"tokens: {r.randrange(10**6)} in, {r.randrange(10**5)} out",
    "usage cache": lambda r: (
        f"Total tokens={r.randrange(10**6)} cache_read_input_tokens: {r.randrange(10**5)}"
    ),
    "placeholder": fixed("export ANTHROPIC_API_KEY=your-api-key-here"),
    "placeholder sk": fixed("Enter your key (sk-ant-...): "),
    "placeholder env": fixed("Authorization: Bearer $TOKEN"),
    "template": fixed("password: ${{ secrets.DB_PASSWORD }}"),
    "docs": fixed("Set the secret key in settings. See the token section for auth details."),
    "decorator": fixed("@pytest.fixture\ndef client(): ..."),
    "ssh url": fixed("git@github.com:corp/app.git"),
    "url": lambda r: (
        f"https://docs.python.org/3/library/{r.choice(WORDS)}.html?highlight={r.choice(WORDS)}"
    ),
    "url user": fixed("ssh://git@github.com/corp/app"),
    "address": fixed("Contact support@github.com or noreply@github.com"),
    "ipv6": fixed("listening on [::1]:8080 and 0.0.0.0:3000"),
    "time": lambda r: (
        f"2026-01-0{r.randrange(1, 9)}T10:11:12Z took {r.randrange(900)}ms pid {r.randrange(9999)}"
    ),
    "ls": lambda r: f"-rw-r--r-- 1 dev dev {r.randrange(10**6)} Jan  3 10:11 {r.choice(WORDS)}.py",
    "path": lambda r: (
        f"/usr/lib/python3/dist-packages/{r.choice(WORDS)}/site.py:{r.randrange(999)}"
    ),
    "traceback": lambda r: (
        f'  File "/usr/lib/python3.11/asyncio/tasks.py", line {r.randrange(999)}, in run'
    ),
    "camel": fixed("getUserAuthenticationTokenFromRequestHeaderOrCookieStoreFactory"),
    "snake": fixed("test_user_authentication_token_is_refreshed_before_it_expires_v2"),
    "minified": fixed("!function(e,t){var n=e.token,r=t.auth;n&&r(n)}(this,window);"),
    "hex dump": lambda r: (
        f"00000010: {' '.join(hexadecimal(r, 4) for _ in range(8))}  ................"
    ),
    "colour": lambda r: f"--accent: #{hexadecimal(r, 6)}; --shadow: rgba(0,0,0,.{r.randrange(9)})",
    "cargo": lambda r: f'checksum = "{hexadecimal(r, 64)}"',
    "nix": lambda r: f"/nix/store/{CASES.chars(r, CASES.LOWER, 32)}-bash-5.2",
    "etag": lambda r: f'etag: W/"{hexadecimal(r, 32)}"',
    "sk words": fixed("the task-runner and the disk-usage-monitor-for-large-volumes run"),
    "css": fixed(".btn-primary-outline-secondary-large{margin:0 auto}"),
    "prose": lambda r: words(r, 14),
    "ansible": fixed("become_password: '{{ vault_become_password }}'"),
    "help": fixed("  --token TOKEN    the token to use (default: $GH_TOKEN)"),
    "base64 word": lambda r: base64.b64encode(words(r, 8).encode()).decode(),
}


def scrub(data: bytes) -> bytes:
    """One stream, scrubbed."""
    meta = SessionMeta(
        id="00000000-0000-4000-8000-000000000001",
        argv=("agent",),
        size=Size(24, 120),
        recorded_at="2026-01-01T00:00:00Z",
        harness=Harness(name="agent"),
    )
    events = default_scrubber().events(meta, lambda: iter([Output(0, data)]))
    return b"".join(event.data for event in events if isinstance(event, Output))


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--mib", type=float, default=5)
    options = parser.parse_args()
    total = 0
    changed: Counter[str] = Counter()
    for seed in range(options.seeds):
        for kind, maker in LOOK_ALIKES.items():
            rng = random.Random(f"{kind}/{seed}")  # noqa: S311 - the same texts every time
            data = maker(rng).replace("\n", "\r\n").encode() + b"\r\n"
            total += 1
            changed[kind] += scrub(data) != data
    for kind, number in changed.items():
        if number:
            print(f"  {number} of {options.seeds}: {kind}")
    print(
        f"look-alikes: {sum(changed.values())} of {total} changed "
        f"({sum(changed.values()) / total:.2%})"
    )
    if options.mib:
        data = b"".join(blocks(int(options.mib * (1 << 20))))
        after = scrub(data)
        bytes_changed = sum(a != b for a, b in zip(data, after, strict=True))
        print(f"secret-free session: {bytes_changed} of {len(data)} bytes changed")


if __name__ == "__main__":
    main()
