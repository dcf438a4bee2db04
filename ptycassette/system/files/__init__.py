"""Files opened, written and locked with care."""

from __future__ import annotations

from ptycassette._faces import loads_on_first_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ptycassette.system.files.abandoned import remove_unheld
    from ptycassette.system.files.directory_handle import BLOCK_BYTES, DirectoryHandle, FileHandle
    from ptycassette.system.files.locks import LockHolder, account_lock, target_lock
    from ptycassette.system.files.plain_file import open_plain, read_plain
    from ptycassette.system.files.plugins import announced
    from ptycassette.system.files.project_file import PROJECT_VARIABLE, Project, find_project
    from ptycassette.system.files.state_dirs import journal_dir, lock_dir, private_dir, state_dir
    from ptycassette.system.files.whole_file import check_replaceable, write_whole
else:
    __getattr__ = loads_on_first_use(
        __name__,
        {
            "abandoned": ("remove_unheld",),
            "directory_handle": ("BLOCK_BYTES", "DirectoryHandle", "FileHandle"),
            "locks": ("LockHolder", "account_lock", "target_lock"),
            "plain_file": ("open_plain", "read_plain"),
            "plugins": ("announced",),
            "project_file": ("PROJECT_VARIABLE", "Project", "find_project"),
            "state_dirs": ("journal_dir", "lock_dir", "private_dir", "state_dir"),
            "whole_file": ("check_replaceable", "write_whole"),
        },
    )

__all__ = [
    "BLOCK_BYTES",
    "PROJECT_VARIABLE",
    "DirectoryHandle",
    "FileHandle",
    "LockHolder",
    "Project",
    "account_lock",
    "announced",
    "check_replaceable",
    "find_project",
    "journal_dir",
    "lock_dir",
    "open_plain",
    "private_dir",
    "read_plain",
    "remove_unheld",
    "state_dir",
    "target_lock",
    "write_whole",
]
