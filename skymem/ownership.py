"""Whose home it is: a process works as its owner, or appends as one of its group (promise 9)."""

import os
import stat
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Final

from skymem.config.home_choice import HomeChoice, choose_home
from skymem.errors import HomeNotFoundError, NotAllowedError
from skymem.stores.home import RULES_FILE

GROUP_BITS: Final = stat.S_IRWXG

LOADED_LATE: Final = (
    "array", "bisect", "calendar", "decimal", "difflib", "heapq", "importlib.metadata",
    "importlib.resources", "logging", "random", "resource", "secrets", "select", "shlex", "socket",
    "subprocess", "tempfile", "textwrap", "traceback", "zoneinfo",
)  # fmt: skip
"""Of Python's own, what is loaded where it is used."""


def enter(choice: HomeChoice, *, become_owner: bool, appending: bool) -> bool:
    """Become the home's owner where we may; returns whether we are (promise 9)."""
    status = os.stat(choice.path)
    uid = os.geteuid()
    if uid == status.st_uid:
        return True
    if uid == 0 and become_owner:
        _drop_to(status.st_uid, status.st_gid)
        return True
    member = status.st_gid in {os.getegid(), *os.getgroups()}
    if appending and member and status.st_mode & GROUP_BITS:
        return False
    raise NotAllowedError(not_owner(choice))


def not_owner(choice: HomeChoice) -> str:
    """Say whose home it is, and the way out."""
    owner = os.stat(choice.path).st_uid
    return f"{choice.path} belongs to uid {owner}; run skymem as that user, or use another --home"


def _drop_to(uid: int, gid: int) -> None:
    import pwd

    for name in LOADED_LATE:  # root's own Python may be out of the owner's reach
        import_module(name)
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        os.setgroups([gid])
    else:
        os.initgroups(entry.pw_name, gid)
        os.environ["HOME"] = entry.pw_dir
    os.setgid(gid)
    os.setuid(uid)


def locate(explicit: str | None, environment: Mapping[str, str]) -> HomeChoice:
    """Find a home without opening it.

    Raises:
        HomeNotFoundError: there is none.
        NotAllowedError: this user can't look into it.
    """
    choice = choose_home(explicit, environment, _current_directory(), os.geteuid())
    try:
        found = (choice.path / RULES_FILE).is_file()
    except PermissionError:
        raise NotAllowedError(
            f"{choice.path} can't be looked into by uid {os.geteuid()}; "
            "run skymem as its owner, or use another --home"
        ) from None
    if not found:
        raise HomeNotFoundError(f"{choice.path} ({choice.why})")
    return choice


def _current_directory() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:  # it was removed under us
        return Path("/")
