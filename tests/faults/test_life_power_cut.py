"""A power cut at any moment of any verb costs no memory, and doubles none.

In CI a sample is tried, the same every time; `SKYMEM_FAULTS=all` tries every state.
"""

import os
import random
import shutil
from pathlib import Path
from typing import Final

import pytest

from skymem.errors import SkymemError

from .faulty import PowerCut
from .life import LIVES, look, opened
from .powercut import Platter, RecordingFiles, State, possible_states
from .swept import Swept, attempt

WHOLE: Final = os.environ.get("SKYMEM_FAULTS") == "all"
SAMPLE: Final = 24
STEPS_BETWEEN_KILLS: Final = 9
STATES_MIN: Final = 10

each_life = pytest.mark.parametrize("name", LIVES)


class LifeCut:
    """One verb on a disk that writes down what it was asked for."""

    def __init__(self, swept: Swept, root: Path, *, unsynced: str = "") -> None:
        self.swept = swept
        self.root = root
        shutil.copytree(swept.template, root)
        self._platter = Platter.of(root)
        self.files = RecordingFiles(root, unsynced=unsynced)

    def states(self, first: int = 0) -> list[State]:
        return possible_states(self._platter, self.files.ops, first)

    def check(self, state: State) -> None:
        """Bring the home up, and let a job, and then the same verb, come to it."""
        self.files.bring_up(state)
        try:
            self.swept.check_seen(look(self.root, torn=True))
            assert opened(self.root).run_job("promote")[0]["ok"]
            self.swept.check_sound(self.root)
            attempt(self.swept.life, self.root)
            self.swept.check_sound(self.root)
            self.swept.check_done(self.root)
        except (AssertionError, SkymemError) as error:
            error.add_note(f"cut after {state.after}: {self.files.ops[: state.after][-3:]}")
            raise


def sample(states: list[State], count: int, seed: str) -> list[State]:
    return states if WHOLE else random.Random(seed).sample(states, min(count, len(states)))


@each_life
def test_no_power_cut_costs_a_memory(name: str, disk: Path) -> None:
    swept = Swept(LIVES[name], disk)
    cut = LifeCut(swept, disk / "home")
    swept.life.verb(opened(cut.root, cut.files))
    states = cut.states()
    assert len(states) >= STATES_MIN
    for state in sample(states, SAMPLE, name):
        cut.check(state)


@each_life
def test_a_power_cut_while_a_killed_verb_is_finished_costs_no_memory(name: str, disk: Path) -> None:
    """What the killed verb wrote was only in memory: what the next run builds on it falls."""
    swept = Swept(LIVES[name], disk)
    for step in range(2, len(swept.steps), 1 if WHOLE else STEPS_BETWEEN_KILLS):
        cut = LifeCut(swept, disk / f"{step}")
        cut.files.dies_at = step
        try:
            swept.life.verb(opened(cut.root, cut.files))
        except PowerCut:
            cut.files.dies_at = None
        else:  # the recorder counts no removal of what isn't there
            assert step > STEPS_BETWEEN_KILLS
            return
        attempt(swept.life, cut.root, cut.files)
        for state in sample(cut.states(cut.files.ops_before_death), 2, f"{name} {step}"):
            cut.check(state)


@pytest.mark.parametrize(
    ("name", "unsynced"),
    [
        pytest.param("prune", "/trash", id="trash"),
        pytest.param("restore", "/.long_term.jsonl.", id="long-term, rewritten"),
        pytest.param("undo prune", "/.short_term_archive_", id="an archive, rewritten"),
        pytest.param("compress", "/long_term.jsonl", id="records"),
    ],
)
def test_a_sync_left_out_is_seen(name: str, unsynced: str, disk: Path) -> None:
    swept = Swept(LIVES[name], disk)
    cut = LifeCut(swept, disk / "home", unsynced=unsynced)
    swept.life.verb(opened(cut.root, cut.files))
    states = cut.states()

    def check_all() -> None:
        for state in random.Random(unsynced).sample(states, len(states)):
            cut.check(state)

    with pytest.raises(AssertionError):
        check_all()
