"""Where a program runs again: a temporary home, the tape as provider, a guard of the network."""

from __future__ import annotations

import getpass
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import msgspec

from ptycassette.cassette.io.staging import disk_errors
from ptycassette.harness.io.offline import placed_run
from ptycassette.harness.io.run_folders import run_place
from ptycassette.harness.preparing import home_variables
from ptycassette.model.visible_text import visible
from ptycassette.profiles.profile import Profile
from ptycassette.rerun.io._pointed import Pointed
from ptycassette.rerun.io.options import RerunOptions
from ptycassette.system.files.state_dirs import current_dir, home_dir
from ptycassette.system.files.whole_file import copy_tree
from ptycassette.system.network import Guard, may_isolate, require_isolation
from ptycassette.system.ownership import owned_context
from ptycassette.tape.io.running_proxy import base_url_variables, point_at_provider, proxy_variables

NAMESPACE = "a network namespace of its own, with loopback alone"
"""What ``Guard`` proves from inside, or the program does not start."""
PROXIES = "proxy variables that lead to a closed port"
_DIRECT = "127.0.0.1,localhost,::1"
_REFUSING = "http://127.0.0.1:9"  # discard: nobody listens there


class RerunPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where the program runs, and with what.

    ``guard`` says what keeps it off the network, and ``network`` does it where the kernel can:
    give it to what starts ``argv``.
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    home: Path
    cwd: Path
    folder: Path
    guard: str
    network: Guard | None


def copy_folder(folder: Path, target: Path, options: RerunOptions, *cassette: Path) -> None:
    """Copy what was there when the program was recorded: its cassette came later."""
    runs = () if options.root is None else options.root.glob("run-*")
    with disk_errors("copying the folder", folder):
        copy_tree(folder.absolute(), target, exists=True, without=(*cassette, *options.made, *runs))


@owned_context
def placed(
    argv: tuple[str, ...],
    profile: Profile | None,
    options: RerunOptions,
    pointed: Pointed,
    more: Mapping[str, str],
) -> Iterator[RerunPlace]:
    """A temporary home, set up as the profile says, and the guard."""
    mode, server = options.mode or _usual_mode(profile), pointed.server
    proxy: dict[str, str] = {}
    if server.proxy:
        proxy = proxy_variables(profile, proxy=server.proxy, ca=pointed.ca_file)
    with ExitStack() as stack:
        if profile is not None and mode in profile.modes:
            run = stack.enter_context(
                placed_run(
                    profile,
                    pointed.url,
                    openai_url=pointed.openai_url,
                    mode=mode,
                    model=options.model or pointed.model,
                    binary=argv[0],
                    cwd=options.cwd,
                    files=options.files,
                    root=options.root,
                )
            )
            argv = run.prepared.instead(argv, profile.binaries)
            own = {**run.prepared.environment, **proxy}
            home, cwd, folder = run.home, run.cwd, run.folder
        else:
            made = stack.enter_context(
                run_place(options.root, cwd=options.cwd, files=options.files)
            )
            home, cwd, folder = made.home, made.cwd, made.folder
            own = {
                **home_variables(str(home)),
                **pointed.keys,
                **(proxy or base_url_variables(pointed.usual_url)),
            }
        if options.home is not None:
            copy_folder(options.home, home, options)
            if profile is not None and not proxy:
                variables, arguments = point_at_provider(profile, pointed.url, {})
                own |= variables
                argv = (argv[0], *arguments, *argv[1:])
        if not options.argv:
            work = cwd if _is_given(options) else current_dir()
            argv = (argv[0], *(located(word, work) for word in argv[1:]))
        require_isolation(shared=options.shared_network)
        guard = Guard(server.ports) if not options.shared_network and may_isolate() else None
        kept_off = {} if proxy or guard else refusing_proxies()
        yield RerunPlace(
            argv=argv,
            environment={**kept_off, **own, **more, **options.environment},
            home=home,
            cwd=cwd,
            folder=folder.path,
            guard=PROXIES if guard is None else NAMESPACE,
            network=guard,
        )


def refusing_proxies() -> dict[str, str]:
    """Variables that ask a program to send everything to a port where nobody listens."""
    names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    direct = dict.fromkeys(("NO_PROXY", "no_proxy"), _DIRECT)
    return {**{name: _REFUSING for pair in names for name in (pair, pair.lower())}, **direct}


def left_behind(argv: Sequence[str], options: RerunOptions) -> str:
    """What a program without its work folder lacks: a file that is in the current one.

    Returns:
        What to do about it; empty where nothing is known to be lacking.
    """
    if _is_given(options):
        return ""
    for word in argv[1:]:
        if not word.startswith(("-", "/")) and word not in options.files and Path(word).is_file():
            return (
                f"{visible(word, limit=200)} is not in the empty folder in which the program"
                " worked, but in this one: --cwd . or --copy ."
            )
    return ""


def in_the_way(cassette: Path, options: RerunOptions) -> str:
    """What to do about a cassette in the work folder: it was not there when it was recorded.

    Returns:
        Empty where it is elsewhere.
    """
    # resolve(): DIR/../a.cassette, or a link to it, is beside DIR, not in it.
    if options.cwd is None or not cassette.resolve().is_relative_to(options.cwd.resolve()):
        return ""
    return "the cassette is in the work folder now, which agents list: --copy leaves it out"


def _is_given(options: RerunOptions) -> bool:
    """Whether the work folder is the caller's, or a copy of one."""
    return options.cwd is not None or options.copied is not None


_SHORT_OPTION = len("-C")


def located(word: str, work: Path) -> str:
    """A recorded word, with folders and the user in place of the scrubber's names for them.

    A folder only where the word is its name, begins with it, or has it behind ``=`` or a short
    option (``-C$PWD``), and the user only in a path that is there: elsewhere it may be what
    somebody wrote for a shell.

    Args:
        word: of a recorded command line.
        work: the folder that the program works in.
    """
    for name, folder in (("$PWD", work), ("$HOME", os.environ.get("HOME") or home_dir())):
        before, found, after = word.partition(name)
        begins = before[-1:] in {"", "="} or (len(before) == _SHORT_OPTION and before[0] == "-")
        if folder is not None and found and begins and after[:1] in {"", "/"}:
            word = f"{before}{folder}{after}"
    _, slash, path = word.partition("/")
    if "<user>" in path:
        with suppress(OSError, KeyError):  # a user without a name
            name = getpass.getuser()
            if os.path.exists(slash + path.replace("<user>", name)):  # noqa: PTH110 - Path's raises
                return word.replace("<user>", name)
    return word


def _usual_mode(profile: Profile | None) -> str:
    if profile is None or "key" in profile.modes or not profile.modes:
        return "key"
    return next(iter(profile.modes))
