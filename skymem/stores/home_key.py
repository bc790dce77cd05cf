"""The home's key: under it the ledger hashes lines, so that a hash tells nothing of a text.

A plain hash of a short text can be guessed; one under a key that stays in the home can't
(promise 6). Made once, never replaced: who copies the home copies the key with `audit/`.
"""

import os
from hashlib import blake2b
from pathlib import Path
from typing import Final

from skymem.errors import SkymemError
from skymem.stores.files import Files, disk_errors, refuse_link
from skymem.stores.home import HomePaths
from skymem.stores.ledger import Ledger
from skymem.stores.lock import held

KEY_BYTES: Final = 32
FINGERPRINT_BYTES: Final = 12
LOCK_SECONDS: Final = 30.0


class KeyDamagedError(SkymemError):
    """{0} is not the home's key: {1} bytes where there should be 32"""

    exit_code = 20
    hint = "put the key of a backup back; without it hashes in the ledger can't be checked"


class HomeKey:
    """The key of a home."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    @classmethod
    def of(cls, paths: HomePaths, files: Files, *, make: bool = True) -> "HomeKey":
        """Read the key, made at the first call; unless `make`, one for this process only.

        Raises:
            KeyDamagedError: there is one, and it is not whole.
            DiskError: it can't be read, or not made.
        """
        path = key_path(paths)
        found = _read(path)
        if found is None and not make:
            return cls(os.urandom(KEY_BYTES))  # no line has a fingerprint yet to be told by
        if found is None:
            _make(path, paths, files)
            found = _read(path)
        if found is None or len(found) != KEY_BYTES:
            raise KeyDamagedError(str(path), len(found or b""))
        return cls(found)

    @property
    def check(self) -> str:
        """What tells this key from another, and nothing else of it."""
        return self.fingerprint(b"the key itself").hex()[:16]

    def fingerprint(self, line: bytes) -> bytes:
        """Hash a line's bytes: equal for equal lines of this home, and telling nothing else."""
        return blake2b(line, digest_size=FINGERPRINT_BYTES, key=self._key).digest()

    def derived(self, purpose: bytes) -> bytes:
        """Another key of 32 bytes, for one purpose; nothing of this one follows from it."""
        return blake2b(
            purpose, digest_size=KEY_BYTES, key=self._key, person=b"skymem derived"
        ).digest()


def is_lost(paths: HomePaths, ledger: Ledger) -> bool:
    """Whether the key is gone under which the ledger has hashed lines.

    Raises:
        DiskError: the ledger can't be read.
    """
    if _read(key_path(paths)) is not None:
        return False
    return any(True for _ in ledger.mentioning(b'"op":"moved"'))


def key_path(paths: HomePaths) -> Path:
    """Where a home keeps its key."""
    return paths.audit / "key"


def _read(path: Path) -> bytes | None:
    refuse_link(path)
    with disk_errors(path):
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None


def _make(path: Path, paths: HomePaths, files: Files) -> None:
    """Make the key, once: whoever comes second finds it made. What a kill left is removed."""
    files.make_directory(path.parent)
    files.make_directory(paths.run)
    with held(paths.run / "ledger.lock", "key", deadline_seconds=LOCK_SECONDS):
        if _read(path) is not None:
            return
        files.remove_left(path.parent, path.name)
        files.replace(path, os.urandom(KEY_BYTES))


def tidy(paths: HomePaths, files: Files) -> None:
    """Remove what a kill left of a key that was being made.

    Raises:
        DiskError: it can't be removed.
    """
    path = key_path(paths)
    if not any(path.parent.glob(f".{path.name}.*.new")):
        return
    files.make_directory(paths.run)
    with held(paths.run / "ledger.lock", "key", deadline_seconds=LOCK_SECONDS):
        files.remove_left(path.parent, path.name)
