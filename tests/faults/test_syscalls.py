"""The real process, killed or refused at each system call it makes on the home, by strace.

In CI every few calls of a kind are tried, the same every time; `SKYMEM_FAULTS=all` tries each.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from . import world
from .conftest import MEMORY_DISK
from .oracle import check_sound, undisturbed
from .tally import tally
from .world import ROOT, look

WHOLE: Final = os.environ.get("SKYMEM_FAULTS") == "all"
CALLS_EACH: Final = 3  # in CI, of one kind
SECONDS_MAX: Final = 60

# Temporary files and runs are named by process and time: these stand still, so that strace can be
# told the paths beforehand.
DRIVER: Final = """
import os, sys
os.getpid = lambda: 4242
from skymem import app
app.now = lambda: 1_800_000_000.0
app.open_home(sys.argv[1]).run_job(sys.argv[2])
"""

# What a C library calls them differs between machines; "?" lets strace pass over what it lacks.
KINDS: Final = {
    "open": ("openat", "open"),
    "write": ("write",),
    "pwrite": ("pwrite64",),
    "sync": ("fsync", "fdatasync"),
    "truncate": ("ftruncate",),
    "link": ("link", "linkat"),
    "rename": ("rename", "renameat", "renameat2"),
    "unlink": ("unlink", "unlinkat"),
    "mkdir": ("mkdir", "mkdirat"),
}
ERRORS: Final = [
    (kind, code)
    for kind in ("write", "sync", "link", "rename")
    for code in ("ENOSPC", "EIO")
]  # fmt: skip


def calls(kind: str) -> str:
    return ",".join(f"?{name}" for name in KINDS[kind])


ALL_CALLS: Final = ",".join(calls(kind) for kind in KINDS)


class Traced:
    """A job in a process of its own under strace, on homes that start alike."""

    def __init__(self, make: world.Make, disk: Path) -> None:
        assert shutil.which("strace"), "strace is needed: apt-get install strace"
        self.root = disk / "home"
        self._template = disk / "template"
        self._log = disk / "strace.log"
        self.job = make(self._template)
        self._paths: list[str] = []
        self._again()
        self.run(*self._filters("--trace=" + ALL_CALLS, "--decode-fds=path"))
        self._paths = self._touched()
        self.expected = undisturbed(self.root)
        self._again()
        self.run(*self._filters("--trace=" + ALL_CALLS))
        self.counts = Counter(re.findall(r"^\d+ +(\w+)\(", self.log(), re.MULTILINE))

    def _again(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(self._template, self.root)

    def _touched(self) -> list[str]:
        """Every path under the home that the job opened, made, or named."""
        home = re.escape(str(self.root))
        return sorted(set(re.findall(rf'["<]({home}(?:/[^">]*)?)[">]', self.log())))

    def _filters(self, *options: str) -> list[str]:
        return [*options, *(f"--trace-path={path}" for path in self._paths)]

    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def run(self, *options: str) -> int:
        program = [sys.executable, "-c", DRIVER, str(self.root), self.job]
        strace = ["strace", "--follow-forks", "--string-limit=0", f"--output={self._log}"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(
            [*strace, *options, *program], env=environment, cwd=ROOT, timeout=SECONDS_MAX,
            capture_output=True, check=False,
        ).returncode  # fmt: skip

    def chosen(self, kind: str) -> list[tuple[str, int]]:
        """Calls of a kind by name and number: strace counts each name on its own."""
        found = [(name, self.counts[name]) for name in KINDS[kind] if self.counts[name]]
        assert found, f"it makes no such call: {kind}"
        chosen = []
        for name, count in found:
            every = 1 if WHOLE else max(1, -(-count // CALLS_EACH))
            chosen += [(name, number) for number in range(1, count + 1, every)]
        return chosen

    def break_call(self, name: str, number: int, fault: str) -> int:
        self._again()
        tally(f"{'killed' if fault == 'signal=KILL' else fault[6:]} in a system call")
        inject = f"--inject={name}:{fault}:when={number}"
        return self.run(*self._filters("--trace=" + ALL_CALLS, inject))

    def check(self) -> None:
        assert look(self.root).names() >= self.expected.places.keys()
        assert world.run(self.root, self.job)["ok"]
        check_sound(self.root, self.expected)


TracedBy = Callable[[world.Make], Traced]


@pytest.fixture(scope="module")
def traced_by() -> Iterator[TracedBy]:
    """Which calls a job makes is found out once: every test starts from the same home anew."""
    found: dict[world.Make, Traced] = {}
    with tempfile.TemporaryDirectory(dir=MEMORY_DISK if MEMORY_DISK.is_dir() else None) as path:

        def traced(make: world.Make) -> Traced:
            if make not in found:
                place = Path(path, make.__name__)
                place.mkdir()
                found[make] = Traced(make, place)
            return found[make]

        yield traced


each_home = pytest.mark.parametrize(
    "make", [world.promote_home, world.rotate_home], ids=lambda make: make.__name__
)


@each_home
@pytest.mark.parametrize("kind", KINDS)
def test_a_kill_at_any_system_call_loses_and_doubles_nothing(
    make: world.Make, kind: str, traced_by: TracedBy
) -> None:
    traced = traced_by(make)
    for name, number in traced.chosen(kind):
        assert traced.break_call(name, number, "signal=KILL") == -signal.SIGKILL
        assert "+++ killed by SIGKILL +++" in traced.log()
        traced.check()


@each_home
@pytest.mark.parametrize(("kind", "code"), ERRORS)
def test_a_refused_system_call_loses_and_doubles_nothing(
    make: world.Make, kind: str, code: str, traced_by: TracedBy
) -> None:
    traced = traced_by(make)
    for name, number in traced.chosen(kind):
        assert traced.break_call(name, number, f"error={code}") == 0
        assert "(INJECTED)" in traced.log()
        traced.check()
