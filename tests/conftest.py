"""Every test starts from an empty environment, and works on real files in `tmp_path`."""

import json
import os
import shutil
import signal
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from skymem.jobs import runner
from skymem.jobs.detail import Outcome
from skymem.jobs.workplace import Workplace
from skymem.model.memory import Memory
from skymem.model.plan import Entry, Plan
from skymem.model.rules import AgentRules, RetentionRules
from skymem.model.spelling import read_line
from skymem.stores.files import Files
from skymem.stores.home import AgentPaths, HomePaths
from skymem.stores.lines import last_newline_end, read_entries
from skymem.stores.quarantine import Quarantine
from skymem.stores.shelf import Shelf

# A busy machine may take a second for what takes a millisecond: that is no defect of the example.
settings.register_profile("skymem", deadline=None)
settings.load_profile("skymem")

START = 1_700_000_000.0

MEMORY_DISK = Path("/dev/shm")
ROOM_BYTES = 4 << 30
PLACE = "PYTEST_DEBUG_TEMPROOT"
"""Where pytest makes `tmp_path`; whoever sets it, or TMPDIR, has chosen."""

if (
    not {PLACE, "TMPDIR"} & os.environ.keys()
    and MEMORY_DISK.is_dir()
    and shutil.disk_usage(MEMORY_DISK).free >= ROOM_BYTES
):
    # Waiting for a disk at each sync is most of the suite's time, and proves nothing: what a disk
    # loses is tested in a model of it. tests/acceptance is on the machine's own.
    os.environ[PLACE] = str(MEMORY_DISK)

# Thousands of commands are started, and each would compile the whole program anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Whatever a shell starts in the background begins with SIGINT ignored, and so would our children.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def empty_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the machine's own homes and settings reaches a test."""
    for name in os.environ:
        if name.startswith(("SKYMEM_", "MILTON_", "XDG_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("SKYMEM_ENGINE", "SKYMEM_HOOK_STANDBY"):
        monkeypatch.setenv(name, "off")  # a test that is about it takes this away


def line(content: str, importance: float | None = 0.5, ts: float = START, **more: Any) -> bytes:
    """Spell a line as a writer of the first spelling would."""
    fields: dict[str, Any] = {"ts": ts, "type": "short", "content": content}
    if importance is not None:
        fields["importance"] = importance
    return json.dumps({**fields, **more}).encode() + b"\n"


@dataclass
class Desk:
    """A home with one agent, its jobs run as `Home.run_job` runs them, under a clock of its own."""

    paths: HomePaths
    rules: RetentionRules = field(default_factory=RetentionRules)
    files: Files = field(default_factory=Files)
    clock: float = START
    agent: str = "sky"

    @property
    def tiers(self) -> AgentPaths:
        return self.paths.agent(self.agent)

    @property
    def short_term(self) -> Path:
        return self.tiers.short_term

    def work(self) -> Workplace:
        return Workplace(self.paths, self.files, self.rules, lambda: self.clock, lambda: None)

    def shelf(self) -> Shelf:
        return Shelf(self.tiers, self.files, self.rules)

    def limit(self, lines: int, threshold: float = 0.7) -> None:
        self.rules = RetentionRules(AgentRules(threshold, lines))

    def run(self, job: str = "memory_rotate_check", **more: Any) -> dict[str, Any]:
        """Run one job a second later; a failure is in the detail it returns."""
        return self.run_with_outcomes(job, **more)[0]

    def run_with_outcomes(
        self, job: str, *, dry_run: bool = False, plans: Mapping[Any, Plan] | None = None
    ) -> tuple[dict[str, Any], list[Outcome]]:
        self.clock += 1
        return runner.run(self.work(), job, [self.agent], dry_run=dry_run, plans=plans)

    def echo(self, *lines: bytes) -> None:
        """Append as a shell's `echo >>` does: no lock, one write each."""
        for each in lines:
            with self.short_term.open("ab", buffering=0) as stream:
                stream.write(each)

    def files_of(self, tier: str) -> list[Path]:
        """The files of `short`, `long` or `archive`."""
        pattern = {"short": "short_term.jsonl", "long": "long_term.jsonl"}.get(
            tier, "short_term_archive_*.jsonl"
        )
        return sorted(self.tiers.directory.glob(pattern))

    def raw(self, tier: str) -> list[bytes]:
        """The lines of a tier, without their newlines."""
        lines = (path.read_bytes().split(b"\n") for path in self.files_of(tier))
        return [each for found in lines for each in found if each.strip()]

    def memories(self, tier: str) -> list[Memory]:
        return [read_line(each) for each in self.raw(tier)]

    def contents(self, tier: str) -> list[str]:
        return [memory.content for memory in self.memories(tier)]

    def everything(self) -> list[str]:
        """The text of every memory of every tier, one for each line it stands on."""
        return sorted(self.contents("short") + self.contents("long") + self.contents("archive"))

    def rests(self) -> list[Memory]:
        """What the drains hold that short-term has not got yet."""
        found = []
        for drain, offset in self.shelf().drains.tails():
            with drain.open("rb") as stream:
                fd = stream.fileno()
                stop = last_newline_end(fd, os.fstat(fd).st_size)
                entries = read_entries(fd, offset, stop, self.rules.line_bytes_max)
                found += [entry.memory for entry in entries if isinstance(entry, Entry)]
        return found

    def quarantined(self) -> list[bytes]:
        """The pieces in quarantine, cut out of its raw files."""
        return [piece for _, piece in self.quarantined_from()]

    def quarantined_from(self) -> list[tuple[str, bytes]]:
        """The same, each with the file it came from."""
        directory = self.tiers.quarantine
        found = []
        for entry in Quarantine(directory, self.files).entries():
            raw = (directory / entry["index"]).with_suffix(".raw").read_bytes()
            found.append((entry["file"], raw[entry["raw_offset"] :][: entry["bytes"]]))
        return found

    def reasons(self) -> list[str]:
        entries = Quarantine(self.tiers.quarantine, self.files).entries()
        return [entry["reason"] for entry in entries]

    def ledger(self) -> list[dict[str, Any]]:
        return [entry for _, entry in self.work().ledger().read_from(0)]

    def delete_catalog(self) -> None:
        for path in self.paths.state.glob("catalog.db*"):
            path.unlink()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A fresh home with the agent `sky`."""
    made = Desk(HomePaths(tmp_path / "home"))
    made.shelf().ensure()
    yield made
    _, problems = made.work().ledger().verify()
    assert not problems
