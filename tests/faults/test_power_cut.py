"""A power cut, at any moment and with any luck, costs no memory.

In CI a sample is tried, the same every time; `SKYMEM_FAULTS=all` tries every state.
"""

import itertools
import os
import random
import shutil
from pathlib import Path

import pytest

from skymem.stores.home import AgentPaths
from skymem.stores.lock import holder_of

from . import world
from .faulty import CountedFiles, PowerCut
from .oracle import Expected, check_sound, undisturbed
from .powercut import Platter, RecordingFiles, State, possible_states
from .world import HOMES, late_home, look, promote_home, rotate_home

WHOLE = os.environ.get("SKYMEM_FAULTS") == "all"
STATES_MIN = 60
SAMPLE_AFTER_KILL = 1


def late_arrival(files: RecordingFiles, short_term: Path) -> None:
    """Another process appends, and is told that it is on disk, while the swap is on its way."""
    fd = os.open(short_term, os.O_WRONLY | os.O_APPEND)
    try:
        files.write(fd, b"\n" + world.line("meanwhile", 0.4))
        files.fsync(fd)
    finally:
        os.close(fd)


class Cut:
    """One recorded run, and what an undisturbed one leaves."""

    def __init__(
        self,
        make: world.Make,
        disk: Path,
        *,
        unsynced: str = "",
        expected: Expected | None = None,
    ) -> None:
        self.job = make(disk / "home")
        self.expected = expected or self._undisturbed(disk)
        self.platter = Platter.of(disk / "home")
        self.files = self._recording(disk / "home", unsynced)

    def _undisturbed(self, disk: Path) -> Expected:
        shutil.copytree(disk / "home", disk / "undisturbed")
        measure = self._recording(disk / "undisturbed", "")
        world.run(measure.root, self.job, measure)
        return undisturbed(measure.root)

    def _recording(self, root: Path, unsynced: str) -> RecordingFiles:
        files = RecordingFiles(root, unsynced=unsynced)
        if self.job == "promote":  # rotation would count one line more
            files.meanwhile = late_arrival
        return files

    def run(self) -> None:
        world.run(self.files.root, self.job, self.files)

    def states(self, first: int = 0) -> list[State]:
        return possible_states(self.platter, self.files.ops, first)

    def check(self, state: State, catalog: bytes | None = None) -> None:
        """Bring the home up from it, run the job, and look for everything."""
        self.files.bring_up(state)
        if catalog is not None:
            (self.files.root / "state").mkdir(exist_ok=True)
            (self.files.root / "state/catalog.db").write_bytes(catalog)
        assert world.run(self.files.root, self.job)["ok"]
        expected = self.expected
        told = self.files.told
        if (told is None or state.after < told) and not look(self.files.root).where("meanwhile"):
            expected = expected.without("meanwhile")
        check_sound(self.files.root, expected, exact=False)


def sample(states: list[State], count: int, seed: str) -> list[State]:
    return states if WHOLE else random.Random(seed).sample(states, min(count, len(states)))


each_home = pytest.mark.parametrize("make", HOMES, ids=lambda make: make.__name__)


@each_home
def test_no_power_cut_costs_a_memory(make: world.Make, disk: Path) -> None:
    cut = Cut(make, disk)
    cut.run()
    states = cut.states()
    assert len(states) >= STATES_MIN
    for state in states:
        cut.check(state)


@each_home
def test_a_catalog_that_knows_more_than_the_disk_kept_misleads_nobody(
    make: world.Make, disk: Path
) -> None:
    cut = Cut(make, disk)
    cut.run()
    catalog = (cut.files.root / "state/catalog.db").read_bytes()
    for state in sample(cut.states(), 40, make.__name__):
        cut.check(state, catalog)


@each_home
def test_a_power_cut_while_a_killed_run_is_finished_costs_no_memory(
    make: world.Make, disk: Path
) -> None:
    """The pages of the killed run were only in memory: what the next run builds on them falls."""
    job = make(disk / "template")

    def again(root: Path) -> str:
        shutil.copytree(disk / "template", root)
        return job

    expected: Expected | None = None  # every step's home is the same one: it is measured once
    for step in itertools.count(1, 1 if WHOLE else 3):
        place = disk / f"{step}"
        place.mkdir()
        cut = Cut(again, place, expected=expected)
        expected = cut.expected
        cut.files.dies_at = step
        try:
            cut.run()
        except PowerCut:
            pass
        else:
            assert step >= STATES_MIN / 2
            return
        cut.files.dies_at = None
        cut.run()
        states = cut.states(cut.files.ops_before_death)
        for state in sample(states, SAMPLE_AFTER_KILL, f"{make.__name__} {step}"):
            cut.check(state)
        shutil.rmtree(place)


@pytest.mark.parametrize(
    ("make", "unsynced"),
    [
        pytest.param(promote_home, "/.short_term.jsonl.", id="the new short-term"),
        pytest.param(promote_home, "/long_term.jsonl", id="long-term"),
        pytest.param(promote_home, "/drains", id="the names of drains"),
        pytest.param(promote_home, ".cursor.json.", id="the cursor"),
        pytest.param(rotate_home, "/.short_term_archive_", id="the archive"),
        pytest.param(promote_home, "/quarantine", id="the quarantine"),
        pytest.param(late_home, "/short_term.jsonl", id="late lines"),
        pytest.param(promote_home, "/ledger.jsonl", id="the ledger"),
    ],
)
def test_a_sync_left_out_is_seen(make: world.Make, unsynced: str, disk: Path) -> None:
    cut = Cut(make, disk, unsynced=unsynced)
    cut.run()

    def check_all() -> None:
        states = cut.states()
        for state in random.Random(unsynced).sample(states, len(states)):
            cut.check(state)

    with pytest.raises(AssertionError):
        check_all()


class WatchingFiles(CountedFiles):
    """Real disk that notes who held the append lock when short-term's new name was synced."""

    def __init__(self, agent: AgentPaths) -> None:
        super().__init__()
        self.holders: list[str] = []
        self._agent = agent
        self._renamed = False

    def rename(self, source: Path, target: Path) -> None:
        super().rename(source, target)
        self._renamed = self._renamed or target == self._agent.short_term

    def fsync_directory(self, path: Path) -> None:
        super().fsync_directory(path)
        if self._renamed and path == self._agent.directory:
            self.holders.append(holder_of(self._agent.append_lock))


def test_nobody_appends_to_the_new_short_term_before_its_name_is_on_disk(disk: Path) -> None:
    promote_home(disk / "home")
    files = WatchingFiles(AgentPaths(disk / "home" / world.AGENT))
    world.run(disk / "home", "promote", files)
    assert files.holders
    assert str(os.getpid()) in files.holders[0]
