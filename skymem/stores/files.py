"""Durable writes: the one module that makes bytes survive a power cut, and the seam tests break.

Promise: when `append` or `replace` returns, the bytes are on disk under their name, unless an
`append` was asked not to wait for that; when either raises, readers see what they saw before. Every
operation that changes the disk is one method of `Files`, so that a test can fail or kill at the
n-th of them, for every n (design §4).
"""

import contextlib
import errno
import fcntl
import os
import signal
import stat
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from skymem.errors import DiskError, NotAllowedError

# A writer that takes no lock may be between the two halves of a long line: it gets this long to
# finish before an appender takes its rest for torn and starts a line of its own (hazard A1).
TAIL_SETTLE_SECONDS: Final = 0.1
TAIL_POLL_SECONDS: Final = 0.005


class Modes(NamedTuple):
    """What new files and directories allow (promise 9)."""

    file: int = 0o600
    directory: int = 0o700
    group: int = -1
    """The shared group of `access: group`; -1 leaves the creator's."""


@contextlib.contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn what the kernel refuses on `path` into a `DiskError` that names it."""
    try:
        yield
    except OSError as error:
        name = error.filename if isinstance(error.filename, str) else str(path)
        raise DiskError(name, error.strerror or str(error)) from error


class Files:
    """Real disk. Holds no state but the modes of what it creates."""

    def __init__(self, modes: Modes | None = None) -> None:
        self.modes = modes or Modes()

    # -- one system call each: the steps a test counts ------------------------------------------

    def create(self, path: Path) -> int:
        """Open a new file for writing; it must not be there."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        return os.open(path, flags, 0o600)

    def open_append(self, path: Path) -> int:
        """Open for appending, created empty where it is not there; never through a link."""
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        return os.open(path, flags, 0o600)

    def write(self, fd: int, data: bytes | memoryview) -> int:
        """Write once and return how many bytes went: it may be fewer."""
        return os.write(fd, data)

    def overwrite(self, fd: int, data: bytes, offset: int) -> None:
        """Write over bytes that are there already."""
        os.pwrite(fd, data, offset)

    def fsync(self, fd: int) -> None:
        """Return once the file's bytes are on disk."""
        os.fsync(fd)

    def truncate(self, fd: int, size: int) -> None:
        """Cut the file to `size` bytes."""
        os.ftruncate(fd, size)

    def link(self, source: Path, target: Path) -> None:
        """Give a file a second name; it must not be taken."""
        os.link(source, target, follow_symlinks=False)

    def rename(self, source: Path, target: Path) -> None:
        """Put `source` in the place of `target`, at once."""
        os.rename(source, target)

    def unlink(self, path: Path) -> None:
        """Take a name away."""
        os.unlink(path)

    def mkdir(self, path: Path) -> None:
        """Make a directory; its parent must be there."""
        os.mkdir(path, 0o700)

    def fsync_directory(self, path: Path) -> None:
        """Return once the directory's names are on disk."""
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    # -- what the rest of the program calls -----------------------------------------------------

    def make_directory(self, path: Path) -> None:
        """Make `path` and its parents, durable, with the modes of the home."""
        with disk_errors(path):
            self._make_directory(path)

    def _make_directory(self, path: Path) -> None:
        if path.is_dir():
            return
        self._make_directory(path.parent)
        try:
            self.mkdir(path)
        except FileExistsError:
            return
        self._widen(path, self.modes.directory)
        self.fsync_directory(path.parent)

    def append(self, path: Path, data: bytes, *, shared: bool = False, synced: bool = True) -> int:
        """Append whole lines with one write and return the offset at which they start.

        `data` ends with a newline. A last line without its newline is ended first, so the two
        never melt together. A write that falls short or cannot be made durable is undone and
        raised. `shared` says that writers without a lock append to the same file.

        Without `synced` the kernel has the bytes, and no more is promised: whoever dies, they are
        there; a power cut may take them, and all that came after them unsynced, until the next
        append that is synced, or the kernel of its own accord, has brought them to the disk.

        Raises:
            DiskError: full, read-only or broken disk; the file reads as before.
            NotAllowedError: the path is a symbolic link.
        """
        refuse_link(path)
        with disk_errors(path):
            known = path.exists()
            fd = self.open_append(path)
            try:
                if not known:
                    self._widen(path, self.modes.file)
                # The name before the bytes: what holds bytes has a name, whoever dies when.
                if not os.fstat(fd).st_size:
                    self.fsync_directory(path.parent)
                return self._append(fd, data, shared=shared, synced=synced)
            finally:
                os.close(fd)

    def _append(self, fd: int, data: bytes, *, shared: bool, synced: bool) -> int:
        terminated = self._tail_terminated(fd, settle=shared)
        block = data if terminated else b"\n" + data
        written = self.write(fd, block)
        end = os.lseek(fd, 0, os.SEEK_CUR)
        try:
            if written != len(block):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if synced:
                self.fsync(fd)
        except OSError:
            self._undo(fd, end - written, end, shared=shared)
            raise
        return end - len(data)

    def _tail_terminated(self, fd: int, *, settle: bool) -> bool:
        deadline = time.monotonic() + (TAIL_SETTLE_SECONDS if settle else 0.0)
        while True:
            size = os.fstat(fd).st_size
            if size == 0 or os.pread(fd, 1, size - 1) == b"\n":
                return True
            if time.monotonic() >= deadline:
                return False
            time.sleep(TAIL_POLL_SECONDS)

    def _undo(self, fd: int, start: int, end: int, *, shared: bool) -> None:
        """Take back `start` to `end`, without touching what others appended after it."""
        if not shared:
            self.truncate(fd, start)
            return
        blank = os.open(f"/proc/self/fd/{fd}", os.O_WRONLY | os.O_CLOEXEC)
        try:
            # Blank lines are skipped by every reader and need no new space on the disk.
            self.overwrite(blank, b"\n" * (end - start), start)
        finally:
            os.close(blank)
        # Cutting them off is safe only while nobody else can have the file open.
        if take_lease(fd, fcntl.F_WRLCK):
            try:
                if os.fstat(fd).st_size == end:
                    self.truncate(fd, start)
            finally:
                fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)

    def replace(self, path: Path, data: bytes | Iterable[bytes]) -> None:
        """Put new content in the place of `path`, whole or not at all; owner and mode stay.

        Raises:
            DiskError: full, read-only or broken disk; `path` reads as before.
            NotAllowedError: the path is a symbolic link, or its owner can't be kept.
        """
        refuse_link(path)
        temporary = self.write_beside(path, data)
        with disk_errors(path):
            try:
                self.rename(temporary, path)
            except OSError:
                with contextlib.suppress(OSError):
                    self.unlink(temporary)
                raise
            self.fsync_directory(path.parent)

    def write_beside(self, path: Path, data: bytes | Iterable[bytes]) -> Path:
        """Write a durable temporary file beside `path`, like it in owner, group, mode and ACL.

        Beside it, and never elsewhere: a rename across filesystems is a copy (hazard B8).
        """
        temporary = path.parent / f".{path.name}.{os.getpid()}.new"
        with disk_errors(temporary):
            with contextlib.suppress(FileNotFoundError):
                self.unlink(temporary)
            fd = self.create(temporary)
            try:
                for block in [data] if isinstance(data, bytes) else data:
                    self._write_all(fd, block)
                self._take_identity(fd, path)
                self.fsync(fd)
            except BaseException:  # the content may be refused, or Ctrl-C come, on its way
                with contextlib.suppress(OSError):
                    self.unlink(temporary)
                raise
            finally:
                os.close(fd)
        return temporary

    def remove_left(self, directory: Path, name: str = "*") -> None:
        """Remove what kills left between `write_beside` and its rename, of the files called `name`.

        For whoever holds the lock under which they are written: another's write may not be at work.

        Args:
            directory: where they are; one that isn't there has none.
            name: a pattern, as of a shell.

        Raises:
            DiskError: one can't be removed.
        """
        with disk_errors(directory):
            for leftover in directory.glob(f".{name}.*.new"):
                self.unlink(leftover)

    def _write_all(self, fd: int, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[self.write(fd, view) :]

    def _take_identity(self, fd: int, path: Path) -> None:
        """Give the new file the owner, group, mode and attributes of the one it replaces."""
        try:
            old = os.lstat(path)
        except FileNotFoundError:
            self._widen(fd, self.modes.file)
            return
        new = os.fstat(fd)
        if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
            try:
                os.fchown(fd, old.st_uid, old.st_gid)
            except PermissionError as error:
                raise owner_lost(path, old) from error
        os.fchmod(fd, stat.S_IMODE(old.st_mode))
        for name in os.listxattr(path, follow_symlinks=False):
            os.setxattr(fd, name, os.getxattr(path, name, follow_symlinks=False))

    def _widen(self, target: Path | int, mode: int) -> None:
        """Open a file made 0600 to the group, where the home is shared; never past its modes."""
        if self.modes.group >= 0:
            os.chown(target, -1, self.modes.group)
        if stat.S_IMODE(os.stat(target).st_mode) != mode:
            os.chmod(target, mode)


def refuse_link(path: Path) -> None:
    """Refuse to write through a symbolic link: replacing it would cut the link (hazard B)."""
    if path.is_symlink():
        raise NotAllowedError(
            f"{path} is a symbolic link to {os.readlink(path)}; "
            f"put the file itself there, or make its directory a bind mount"
        )


def owner_lost(path: Path, status: os.stat_result) -> NotAllowedError:
    """Say that a file can't be replaced without taking it from its owner (promise 9)."""
    return NotAllowedError(
        f"{path}: can't keep its owner {status.st_uid}:{status.st_gid}; "
        f"give it to the home's owner with chown, or run skymem as its owner"
    )


def take_lease(fd: int, kind: int) -> bool:
    """Ask for a lease of `kind`; False while another process holds the file open for writing.

    A writer that opens a leased file makes the kernel signal us. The default, SIGIO, kills; SIGURG
    is ignored by default, so that this is safe in any thread of any host program.

    Raises:
        OSError: this process or this filesystem can't have leases (EACCES, EINVAL, …).
    """
    try:
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, kind)
    except BlockingIOError:
        return False
    except OSError:
        if kind == fcntl.F_WRLCK:
            return False
        raise
    return True
