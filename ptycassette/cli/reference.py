"""Every variable, file and exit status, for the man page; ``docs/reference.md`` has the same.

A test compares the variables with the source, and the statuses with the errors.
"""

from __future__ import annotations

EXIT_STATUSES: tuple[tuple[str, str], ...] = (
    ("0", "fine"),
    (
        "1",
        (
            "a check of check does not hold; diff found a difference; verify --rederive found"
            " frames that differ; a probe is not ok; doctor found something broken; a step of demo"
            " does not hold"
        ),
    ),
    ("2", "wrong usage; a file that is no scenario; a project file that is wrong; hooks that fail"),
    ("3", "not found, or not readable"),
    ("4", "not a valid cassette, never scrubbed, or not what was pinned"),
    ("5", "a bug in ptycassette"),
    ("6", "refused: something is in the way, a secret is left"),
    ("7", "not sealed, not as it was sealed, or sealed by nobody who is trusted"),
    (
        "125",
        "a stand-in or a shim diverged, or failed itself; rec failed itself; the disk refused",
    ),
    ("126", "rec and shims: the program cannot be executed"),
    ("127", "rec and shims: the program was not found"),
    ("128 + n", "ended by signal n (130: ctrl-c; 141: the reader of the output went away)"),
)

VARIABLES: tuple[tuple[str, str], ...] = (
    ("PTYCASSETTE_MODE", "the mode of use, the pytest plugin and shims"),
    ("PTYCASSETTE_SECRETS", "how secrets are compared in replay and rerun: same (default) or any"),
    ("PTYCASSETTE_PROVIDER", "the provider of rec --tape, as --provider; offline sets it"),
    ("PTYCASSETTE_DISABLE_NETWORK", "1: no program that is started reaches another machine"),
    ("PTYCASSETTE_REPORT", "where stand-ins write their report; a directory gets one for each"),
    (
        "PTYCASSETTE_FAULT",
        "a fault of all that is played, as stand-in --fault, or rerun, as fork --fault",
    ),
    ("PTYCASSETTE_FORK", "set for a command of fork and blame: the fork that use_tape makes"),
    ("PTYCASSETTE_FAULT_LOG", "a file that gets a line when a driver meets the fault"),
    ("PTYCASSETTE_SCRUB_CONFIG", "the file with rules of your own for scrubbing"),
    ("PTYCASSETTE_PROJECT", "the project file, in place of the nearest one"),
    ("PTYCASSETTE_SEAL_KEY", "the private key of seal, itself, in place of --key"),
    ("SIGSTORE_IDENTITY_TOKEN", "who seals with seal --identity, where no CI system says it"),
    ("PTYCASSETTE_STATE_DIR", "where journals and locks are"),
    ("PTYCASSETTE_EVENTS", "set for the recorded program: where it may write service events"),
    ("PTYCASSETTE_DRAWS", "where draws are logged or served from (docs/tape.md)"),
    ("PTYCASSETTE_FOLLOW_LINKS", "1: cassettes and their files may be links (docs/safety.md)"),
    ("PTYCASSETTE_VIEWER_CACHE", "off: the viewer keeps nothing of long recordings"),
    ("PTYCASSETTE_PURE_PYTHON", "any value: use Python for what is compiled from C"),
    ("PTYCASSETTE_NO_SAVER", "any value: nothing is saved before the program has ended"),
    ("CI", "set and not false: mode auto records nothing"),
    ("NO_COLOR", "any value: no colours"),
    ("SHELL", "what rec records when no program is named"),
    ("TERM", "the type of the terminal that the program gets, in your terminal"),
    ("COLUMNS", "how wide help and tables are"),
    ("LC_ALL, LC_CTYPE, LANG", "the locale; a recording names it"),
    ("HOME", "where credential files and the directories below are"),
    ("XDG_STATE_HOME", "where the state directory is, else ~/.local/state"),
    (
        "XDG_RUNTIME_DIR, TMPDIR",
        "where the state directory is if that one cannot be used; else /tmp",
    ),
    ("PWD", "the name of the current directory if it was deleted"),
    ("XDG_CONFIG_HOME", "where profiles and probes of your own are, else ~/.config"),
    (
        "XDG_CACHE_HOME",
        "where the viewer, probes and temporary folders have their files; else ~/.cache",
    ),
    ("PATH", "where programs are; a shim looks for the real one behind itself"),
)

FILES: tuple[tuple[str, str], ...] = (
    ("pyproject.toml, ptycassette.toml", "the project file"),
    ("library.yaml", "in a library: which cassette a shim plays when"),
    ("NAME.scenario.yaml", "assertions over a recording"),
    ("NAME.diagnostic", "beside a cassette that was not made: what became of a failed run"),
    ("NAME.notes.json", "beside a cassette: marks and notes of the viewer"),
    ("NAME.seal.json", "beside a cassette: who says that it is what it was"),
    (".ptycassette-shim.json", "in a directory of shims: what they do"),
    (".ptycassette-traces", "traces of failed tests, in the root directory of pytest"),
    ("~/.local/state/ptycassette/journals", "recordings in progress, or left by a crash; private"),
    ("~/.local/state/ptycassette/locks", "of accounts and targets"),
    ("~/.config/ptycassette/harnesses", "profiles of your own, NAME.toml"),
    ("~/.config/ptycassette/probes", "probes of your own, NAME.toml"),
    (
        "~/.cache/ptycassette",
        "what the viewer found out, probes, and temporary homes and folders",
    ),
)
