"""``ptycassette fake-provider SCRIPT``: a scripted model provider on 127.0.0.1."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ptycassette.cli._options import pairs_of, path_option, script_options
from ptycassette.errors import StorageError, UsageError
from ptycassette.extras import needing_extra
from ptycassette.model.visible_text import printable, visible

if TYPE_CHECKING:
    from ptycassette.agents.harness.io.fake_provider import FakeProviderServer

PROBLEMS_STATUS = 1


@click.command("fake-provider")
@click.argument("script", type=click.Path(path_type=Path))
@script_options
@click.option(
    "--accept-key-env",
    multiple=True,
    metavar="NAME",
    help="Accept only the API key in the environment variable NAME.",
)
@path_option(
    "--tls-ca", metavar="FILE", text="Serve over TLS and write the certificate to trust to FILE."
)
@click.option("--check", is_flag=True, help="Check the script and stop.")
@click.option("--json", "as_json", is_flag=True, help="Print the addresses as one JSON object.")
@click.option("--all-replies", is_flag=True, help="Also report unused replies as problems.")
def command(
    script: Path,
    port: int,
    log: Path | None,
    settings: tuple[str, ...],
    accept_key_env: tuple[str, ...],
    tls_ca: Path | None,
    check: bool,
    as_json: bool,
    all_replies: bool,
) -> int:
    """Answer model requests from SCRIPT until interrupted.

    It serves the APIs Anthropic Messages, OpenAI Responses (also over WebSocket)
    and Chat Completions, and Gemini. Ends with 0, with 1 if a request was
    unexpected, or with 125 if the log could not be written.

    Example: ptycassette fake-provider hello.toml --port 8080
    """
    with needing_extra("provider"):
        from ptycassette.agents.harness.io.fake_provider import FakeProviderServer, read_script
    checked = read_script(script, pairs_of(settings, option="--set"))
    if check:
        click.echo(f"{visible(str(script))}: ok, {len(checked.replies)} replies")
        return 0
    server = FakeProviderServer(
        checked,
        port=port,
        log=log,
        accepted_keys=_keys(accept_key_env),
        ca_file=tls_ca,
        tell=lambda failed: click.echo(f"warning: {printable(failed.message)}", err=True),
    )
    try:
        with server:
            _say_where(server.url, server.openai_url, as_json=as_json)
            _wait_for_the_end()
    except StorageError:
        _say_problems(server, all_replies=all_replies)
        raise
    return _say_problems(server, all_replies=all_replies)


def _say_problems(server: FakeProviderServer, *, all_replies: bool) -> int:
    """Print the problems; returns the exit status for them."""
    problems = list(server.problems)
    if all_replies:
        problems += [f"reply {name}: not asked for" for name in server.unused]
    for problem in problems:
        click.echo(f"problem: {visible(problem)}", err=True)
    return PROBLEMS_STATUS if problems else 0


def _keys(names: tuple[str, ...]) -> frozenset[str] | None:
    missing = [name for name in names if not os.environ.get(name)]
    if missing:
        raise UsageError(f"--accept-key-env: {missing[0]} is not set")
    return frozenset(os.environ[name] for name in names) if names else None


def _say_where(url: str, openai_url: str, *, as_json: bool) -> None:
    """Print the addresses at once, so that scripts can read them."""
    if as_json:
        import msgspec

        addresses = {"anthropic": url, "gemini": url, "openai": openai_url, "pid": os.getpid()}
        click.echo(msgspec.json.encode(addresses))
        return
    click.echo(f"Anthropic and Gemini base URL: {url}")
    click.echo(f"OpenAI base URL:               {openai_url}")


def _wait_for_the_end() -> None:
    """Return at SIGINT or SIGTERM."""
    from ptycassette.system.ownership import StopSignals

    with StopSignals() as signals:
        signals.wait()
