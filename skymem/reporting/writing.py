"""Putting a page into its file: whole or not at all, and over nothing but a page of ours."""

import os
from pathlib import Path
from typing import Final

from skymem.errors import UsageError
from skymem.reporting.page import GENERATOR
from skymem.stores.files import Files, disk_errors, refuse_link

HEAD_BYTES: Final = 4096
"""Within which a page says what has made it."""

SIGN: Final = f'<meta name="generator" content="{GENERATOR}">'.encode()


def check_target(path: Path, *, force: bool = False) -> None:
    """Refuse, before there is anything to write, a file that is not a report's.

    Raises:
        UsageError: something else is there, and `force` does not say that it may go.
        NotAllowedError: it is a symbolic link.
        DiskError: it can't be looked at.
    """
    refuse_link(path)
    if path.is_dir():
        raise UsageError(f"{path} is a directory; give a file in it: {path / 'report.html'}")
    if not path.parent.is_dir():
        raise UsageError(f"{path.parent} is no directory; make it first, or give another place")
    if force or not os.path.lexists(path):
        return
    with disk_errors(path), path.open("rb") as stream:
        head = stream.read(HEAD_BYTES)
    if head.strip() and SIGN not in head:
        raise UsageError(f"{path} is there, and no report; give another name, or --force")


def write_page(path: Path, data: bytes, files: Files, *, force: bool = False) -> None:
    """Put the page in its place; a reader sees the old one or the new one.

    Raises:
        UsageError, NotAllowedError: see `check_target`.
        DiskError: nothing was changed.
    """
    check_target(path, force=force)
    files.replace(path, data)
