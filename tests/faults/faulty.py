"""Disks that fail or die at the n-th step; `Files` with the fault one step can have."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

from skymem.stores.files import Files

from .tally import tally


class PowerCut(BaseException):
    """The process is gone; no handler in the program may swallow that."""


class CountedFiles(Files):
    """Real disk whose steps are numbered from 1; `trouble` is asked before each."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[str] = []

    def trouble(self, name: str, number: int) -> None:
        """Raise, to let this step fail."""

    def step(self, name: str) -> None:
        self.steps.append(name)
        self.trouble(name, len(self.steps))

    def create(self, path: Path) -> int:
        self.step("create")
        return super().create(path)

    def open_append(self, path: Path) -> int:
        self.step("open_append")
        return super().open_append(path)

    def write(self, fd: int, data: bytes | memoryview) -> int:
        self.step("write")
        return super().write(fd, data)

    def overwrite(self, fd: int, data: bytes, offset: int) -> None:
        self.step("overwrite")
        super().overwrite(fd, data, offset)

    def fsync(self, fd: int) -> None:
        self.step("fsync")
        super().fsync(fd)

    def truncate(self, fd: int, size: int) -> None:
        self.step("truncate")
        super().truncate(fd, size)

    def link(self, source: Path, target: Path) -> None:
        self.step("link")
        super().link(source, target)

    def rename(self, source: Path, target: Path) -> None:
        self.step("rename")
        super().rename(source, target)

    def unlink(self, path: Path) -> None:
        self.step("unlink")
        super().unlink(path)

    def mkdir(self, path: Path) -> None:
        self.step("mkdir")
        super().mkdir(path)

    def fsync_directory(self, path: Path) -> None:
        self.step("fsync_directory")
        super().fsync_directory(path)


class FaultyFiles(CountedFiles):
    """A disk with one fault, and whether it came to that."""

    kind = "one of a test's own"
    """What the fault is called where it is counted."""

    _fired = False

    @property
    def fired(self) -> bool:
        return self._fired

    @fired.setter
    def fired(self, fired: bool) -> None:
        if fired and not self._fired:
            tally(self.kind)
        self._fired = fired


class DyingFiles(FaultyFiles):
    """The process dies at step `at`: no later step happens. `torn` writes die half way."""

    def __init__(self, at: int, *, torn: bool = False) -> None:
        super().__init__()
        self.kind = "killed in the middle of a write" if torn else "killed"
        self._at = at
        self._torn = torn

    def trouble(self, name: str, number: int) -> None:
        if number > self._at or (number == self._at and not (self._torn and name == "write")):
            self.fired = True
            raise PowerCut

    def write(self, fd: int, data: bytes | memoryview) -> int:
        written = super().write(fd, data[: len(data) // 2] if self._dies_here() else data)
        if self._torn and len(self.steps) == self._at:
            self.fired = True
            raise PowerCut
        return written

    def _dies_here(self) -> bool:
        return self._torn and len(self.steps) + 1 == self._at


class FailingFiles(FaultyFiles):
    """Step `at` is refused with `code`; with `for_good` so is every later one."""

    def __init__(self, at: int, code: int, *, for_good: bool = False) -> None:
        super().__init__()
        self.kind = f"{errno.errorcode[code]} {'for good' if for_good else 'once'}"
        self._at = at
        self._code = code
        self._for_good = for_good

    def trouble(self, name: str, number: int) -> None:
        if number == self._at or (self._for_good and number > self._at):
            self.fired = True
            raise OSError(self._code, os.strerror(self._code))


class FullFiles(FaultyFiles):
    """The disk runs full in the middle of write `at`: half goes, then ENOSPC for every write."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.kind = "full in the middle of a write"
        self._at = at
        self._writes = 0

    def write(self, fd: int, data: bytes | memoryview) -> int:
        self._writes += 1
        if self._writes == self._at:
            self.fired = True
            return super().write(fd, data[: len(data) // 2])
        if self._writes > self._at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(fd, data)


class UnsyncedFiles(FaultyFiles):
    """Fsync `at` (of a file or a directory) gives EIO; with `for_good` so does every later one."""

    def __init__(self, at: int, *, for_good: bool = False) -> None:
        super().__init__()
        self.kind = f"fsync EIO {'for good' if for_good else 'once'}"
        self._at = at
        self._for_good = for_good
        self._syncs = 0

    def trouble(self, name: str, number: int) -> None:
        if not name.startswith("fsync"):
            return
        self._syncs += 1
        if self._syncs == self._at or (self._for_good and self._syncs > self._at):
            self.fired = True
            raise OSError(errno.EIO, os.strerror(errno.EIO))


Fault = Callable[[int], FaultyFiles]


FAULTS: dict[str, Fault] = {
    "killed": DyingFiles,
    "killed in the middle of a write": lambda at: DyingFiles(at, torn=True),
    "ENOSPC once": lambda at: FailingFiles(at, errno.ENOSPC),
    "ENOSPC for good": lambda at: FailingFiles(at, errno.ENOSPC, for_good=True),
    "EIO once": lambda at: FailingFiles(at, errno.EIO),
    "EIO for good": lambda at: FailingFiles(at, errno.EIO, for_good=True),
    "full in the middle of a write": FullFiles,
    "fsync EIO once": UnsyncedFiles,
    "fsync EIO for good": lambda at: UnsyncedFiles(at, for_good=True),
}
