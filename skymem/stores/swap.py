"""The swap: short-term gets new content while writers without a lock go on appending (design §4).

Order: the new file, durable, beside the old → the cursor, durable → a second name for the old
inode under `drains/` → rename over → sync the directory. A kill before the rename leaves short-term
as it was; after it, what the old inode still gets is taken over by the next look at its drain.
"""

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from skymem.errors import DiskError, SkymemError
from skymem.model.plan import Inputs
from skymem.stores.drains import APPEND_LOCK_SECONDS, Cursor, Drains
from skymem.stores.edits import Edit, edited
from skymem.stores.files import Files, disk_errors, owner_lost, refuse_link
from skymem.stores.home import AgentPaths
from skymem.stores.lines import ContentHash
from skymem.stores.lock import held, never_stopped

READ_ONLY_MODE: Final = 0o222


class ShortTermChangedError(SkymemError):
    """{0} was changed by hand while a job worked on it"""

    exit_code = 11
    hint = "run the job again"


class Swap:
    """Replacing one agent's short-term file. Callers hold the agent's job lock."""

    def __init__(
        self,
        agent: AgentPaths,
        files: Files,
        drains: Drains,
        stop: Callable[[], str] = never_stopped,
    ) -> None:
        self._agent = agent
        self._files = files
        self._drains = drains
        self._stop = stop

    def check(self, inputs: Inputs) -> None:
        """Refuse, before anything moves, a short-term that can't be replaced afterwards.

        Raises:
            ShortTermChangedError: it is no longer the file the plan saw.
            DiskError: it is set read-only.
            NotAllowedError: it is a symbolic link, or another user's.
        """
        self._check(self._agent.short_term, inputs)

    def edit(self, fd: int, inputs: Inputs, edits: Sequence[Edit], run: str, now: float) -> None:
        """Put short-term, with the edits made, in its own place.

        Args:
            fd: the file the plan was made from, open.
            inputs: what the plan was made from; checked again while copying.
            edits: lines that leave or come back, in order (`stores.edits`).
            run: the run this swap belongs to.
            now: epoch seconds.

        Raises:
            ShortTermChangedError: the content is no longer what the plan saw.
        """
        short_term = self._agent.short_term
        self._check(short_term, inputs)
        temporary = self._files.write_beside(short_term, self._kept(fd, inputs, edits))
        cursor = Cursor(short_term.name, inputs.consumed, now, run)
        self._exchange(short_term, temporary, inputs, drain_name(run), cursor)

    def adopt(self, flat: Path, run: str, now: float) -> bool:
        """Turn a flat `memory/short_term.jsonl` into a drain, whole, leaving an empty one behind.

        Returns whether there was anything to adopt (design §3).
        """
        refuse_link(flat)
        status = os.lstat(flat)
        if not status.st_size:
            return False
        cursor = Cursor(os.path.relpath(flat, self._agent.directory), 0, now, run)
        inputs = Inputs(status.st_dev, status.st_ino, status.st_size, 0, "", "")
        self._check(flat, inputs)
        temporary = self._files.write_beside(flat, b"")
        self._exchange(flat, temporary, inputs, f"flat_{run}.jsonl", cursor)
        return True

    def _exchange(
        self, source: Path, temporary: Path, inputs: Inputs, name: str, cursor: Cursor
    ) -> None:
        drain = self._drains.begin(name, cursor)
        renamed = False
        try:
            lock, mode = self._agent.append_lock, self._files.modes.file
            with (
                held(lock, "", deadline_seconds=APPEND_LOCK_SECONDS, stop=self._stop, mode=mode),
                disk_errors(source),
            ):
                self._check(source, inputs)
                self._files.link(source, drain)
                self._files.fsync_directory(drain.parent)
                self._files.rename(temporary, source)
                renamed = True
                # Under the lock: nobody is told that a memory is safe in a file whose name is not.
                self._files.fsync_directory(source.parent)
        except Exception:
            # Not renamed: short-term is as it was, so neither file has a meaning.
            if not renamed:
                with contextlib.suppress(DiskError, OSError):  # the next run tidies what is left
                    self._drains.take_back(drain)
                    self._files.unlink(temporary)
            raise

    def _check(self, source: Path, inputs: Inputs) -> None:
        """Refuse to replace a file that is not the one the plan saw, or is set read-only."""
        refuse_link(source)
        with disk_errors(source):
            status = os.lstat(source)
            if not status.st_mode & READ_ONLY_MODE:
                raise PermissionError(30, "is read-only; allow its owner to write (chmod u+w)")
        if os.geteuid() not in (0, status.st_uid):
            raise owner_lost(source, status)
        same = (status.st_dev, status.st_ino) == (inputs.device, inputs.inode)
        if not same or status.st_size < inputs.consumed:
            raise ShortTermChangedError(str(source))

    def _kept(self, fd: int, inputs: Inputs, edits: Sequence[Edit]) -> Iterator[bytes]:
        """Copy what stays, in blocks, checking that all of it is what the plan saw."""
        content = ContentHash()
        yield from edited(fd, inputs.consumed, edits, content)
        if content.hexdigest() != inputs.content:
            raise ShortTermChangedError(str(self._agent.short_term))


def drain_name(run: str) -> str:
    """Name the drain that the swap of a run makes."""
    return f"short_term_{run}.jsonl"
