"""Files opened, written and locked with care."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .abandoned import HeldFolder as HeldFolder
    from .abandoned import held_folder as held_folder
    from .abandoned import remove_abandoned_folders as remove_abandoned_folders
    from .abandoned import remove_unheld as remove_unheld
    from .abandoned import temporary_folder as temporary_folder
    from .directory_handle import BLOCK_BYTES as BLOCK_BYTES
    from .directory_handle import FOLLOW_LINKS_VARIABLE as FOLLOW_LINKS_VARIABLE
    from .directory_handle import DirectoryHandle as DirectoryHandle
    from .directory_handle import FileHandle as FileHandle
    from .directory_handle import links_followed as links_followed
    from .locks import Lock as Lock
    from .locks import LockHolder as LockHolder
    from .locks import account_lock as account_lock
    from .locks import is_gone as is_gone
    from .locks import process_mark as process_mark
    from .locks import target_lock as target_lock
    from .locks import try_lock as try_lock
    from .near_names import did_you_mean as did_you_mean
    from .near_names import hint_for_missing as hint_for_missing
    from .plain_file import open_plain as open_plain
    from .plain_file import read_plain as read_plain
    from .plugins import announced as announced
    from .project_file import PROJECT_VARIABLE as PROJECT_VARIABLE
    from .project_file import Project as Project
    from .project_file import SealPolicy as SealPolicy
    from .project_file import find_project as find_project
    from .state_dirs import absolute as absolute
    from .state_dirs import current_dir as current_dir
    from .state_dirs import home_dir as home_dir
    from .state_dirs import is_own_dir as is_own_dir
    from .state_dirs import journal_dir as journal_dir
    from .state_dirs import journal_dirs as journal_dirs
    from .state_dirs import known_state_dirs as known_state_dirs
    from .state_dirs import lock_dir as lock_dir
    from .state_dirs import private_dir as private_dir
    from .state_dirs import run_dirs as run_dirs
    from .state_dirs import spare_dirs as spare_dirs
    from .state_dirs import state_dir as state_dir
    from .whole_file import check_replaceable as check_replaceable
    from .whole_file import copy_tree as copy_tree
    from .whole_file import make_durable as make_durable
    from .whole_file import write_whole as write_whole
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "abandoned": (
                "HeldFolder held_folder remove_abandoned_folders remove_unheld temporary_folder"
            ),
            "directory_handle": (
                "BLOCK_BYTES DirectoryHandle FOLLOW_LINKS_VARIABLE FileHandle links_followed"
            ),
            "locks": "Lock LockHolder account_lock is_gone process_mark target_lock try_lock",
            "near_names": "did_you_mean hint_for_missing",
            "plain_file": "open_plain read_plain",
            "plugins": "announced",
            "project_file": "PROJECT_VARIABLE Project SealPolicy find_project",
            "state_dirs": (
                "absolute current_dir home_dir journal_dir journal_dirs lock_dir private_dir "
                "is_own_dir known_state_dirs run_dirs spare_dirs state_dir"
            ),
            "whole_file": "check_replaceable copy_tree make_durable write_whole",
        },
    )
