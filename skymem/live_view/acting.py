"""What the live view does to a home: it runs an entry as the command line would, and pauses one."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from skymem.jobs.summary import summary

if TYPE_CHECKING:
    from skymem.app import Home


class Run:
    """`skymem trigger NAME` in a process of its own: it goes on when the view is left."""

    def __init__(self, home: Path, name: str) -> None:
        """Start it.

        Raises:
            OSError: it can't be started.
        """
        self.name = name
        self._out, self._err = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115
        # From where nothing but what is installed can be imported, as the home's owner.
        program = [sys.executable, "-P", "-m", "skymem", "--home", str(home)]
        self._process = subprocess.Popen(
            [*program, "trigger", name, "--json"],
            stdin=subprocess.DEVNULL,
            stdout=self._out,
            stderr=self._err,
            start_new_session=True,
        )

    def ended(self) -> bool:
        """Whether it is over."""
        return self._process.poll() is not None

    def words(self) -> tuple[str, bool]:
        """Say how it went, in a line, and whether it went well; once it is over."""
        code = self._process.returncode
        detail, complaints = _document(self._out), _read(self._err).strip().split("\n")
        if code == 0 and "job" in detail:
            return f"{self.name}: {summary(detail).partition(': ')[2]}", True
        why = detail.get("error") or complaints[-1].removeprefix("skymem: ") or "no reason given"
        return f"{self.name} failed ({code}): {why}", False


def _document(stream: IO[bytes]) -> dict[str, Any]:
    try:
        value = json.loads(_read(stream))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _read(stream: IO[bytes]) -> str:
    with stream:
        stream.seek(0)
        return stream.read().decode(errors="replace")


def pause_or_resume(home: "Home", name: str, now: float) -> str:
    """Pause an entry of the schedule, or end its pause; says which.

    Raises:
        UsageError: it can't be paused.
        SkymemError: the record of pauses, or the schedule, can't be read or written.
    """
    from skymem.config.schedule_file import read_schedule
    from skymem.daemon.pauses import Pauses, entries_meant

    pauses = Pauses(home.paths, home.files)
    before = pauses.read()
    names = entries_meant(name, read_schedule(home.paths.schedule).entries, before)
    if name in before:
        pauses.resume(names)
        return f"{name} is resumed, and runs at its next regular time"
    pauses.pause(names, now)
    return f"{name} is paused until it is resumed"
