"""Which home: the same answer for the CLI, the daemon and the Python API (design §3)."""

import contextlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from skymem.errors import UsageError

RULES_FILE: Final = "retention_rules.yaml"


class HomeChoice(NamedTuple):
    """A home and why it is the one."""

    path: Path
    why: str


def choose_home(
    explicit: str | None, environ: Mapping[str, str], directory: Path, uid: int
) -> HomeChoice:
    """Choose: what was asked for, `$SKYMEM_HOME`, a trusted current directory, the XDG one.

    Raises:
        UsageError: what names it names nothing.
    """
    if explicit == "":  # a variable that is not set: any other home would be the wrong one
        raise UsageError("--home is empty; give it a path, or leave it out")
    if explicit:
        return HomeChoice(_path(explicit, "--home"), "--home")
    if named := environ.get("SKYMEM_HOME"):
        return HomeChoice(_path(named, "SKYMEM_HOME"), "$SKYMEM_HOME")
    doubt = ""
    if (directory / RULES_FILE).is_file():
        doubt = _doubt(directory, uid)
        if not doubt:
            return HomeChoice(directory, f"the current directory holds {RULES_FILE}")
        doubt = f"; the current directory holds {RULES_FILE}, but {doubt}"
    return HomeChoice(data_directory(environ), "the XDG data directory" + doubt)


def data_directory(environ: Mapping[str, str]) -> Path:
    """Where a person's own home lies: `$XDG_DATA_HOME/skymem`.

    A relative one is passed over, as its specification asks: it would be another one wherever one
    stands.

    Raises:
        UsageError: nothing says where the person's files are.
    """
    named = environ.get("XDG_DATA_HOME") or ""
    base = _path(named, "XDG_DATA_HOME") if named.startswith(("/", "~")) else None
    return (base or _own_directory(environ) / ".local" / "share") / "skymem"


def _path(named: str, what: str) -> Path:
    try:
        return Path(named).expanduser().absolute()
    except RuntimeError:
        raise UsageError(f"{what} {named!r}: no such user has a directory; write it out") from None


def _own_directory(environ: Mapping[str, str]) -> Path:
    """The person's directory: `$HOME`, else as the user database has it."""
    import pwd

    named = environ.get("HOME") or ""
    if not named:
        with contextlib.suppress(KeyError):
            named = pwd.getpwuid(os.geteuid()).pw_dir
    if not os.path.isabs(named):
        said = f"HOME is {named!r}, which is no absolute path" if named else "HOME is not set"
        raise UsageError(f"{said}; name the home with --home or SKYMEM_HOME")
    return Path(named)


def _doubt(directory: Path, uid: int) -> str:
    """Say why a directory someone else may write is not trusted; "" when it is."""
    for path in (directory, directory / RULES_FILE):
        status = os.stat(path)
        if status.st_uid not in (uid, 0):
            return f"{path} belongs to another user"
        if status.st_mode & stat.S_IWOTH:
            return f"others can write {path}"
        if status.st_mode & stat.S_IWGRP and not _is_private_group(status.st_gid, uid):
            return f"others can write {path}"
    return ""


def _is_private_group(gid: int, uid: int) -> bool:
    """Whether the group is the user's own, with nobody else in it.

    Where each user has such a group the umask is 002, and a plain `git clone` is group-writable.
    """
    import grp
    import pwd

    try:
        user, group = pwd.getpwuid(uid), grp.getgrgid(gid)
    except KeyError:
        return False
    if user.pw_gid != gid or user.pw_name != group.gr_name or set(group.gr_mem) - {user.pw_name}:
        return False
    return all(other.pw_gid != gid or other.pw_uid == uid for other in pwd.getpwall())
