"""A home with preferences, under a clock of the test's own; what other processes see of it."""

import json
from pathlib import Path
from typing import Any

import pytest

import skymem
from skymem.agent import AgentMemory
from skymem.app import init_home, open_home
from skymem.working.preferences import Preferences

NOW = 1_800_000_000.0
DAY = 86_400.0

DECLARED = """\
preferences:
  analysis_depth:
    type: word
    choices: [brief, normal, deep]
    default: normal
    related: [pages]
    meaning: How deep an analysis goes
  verbosity: {type: word, choices: [terse, full]}
  pages: {type: whole, least: 1, most: 50}
  regions: {type: list, choices: [eu, us]}
"""


class Clock:
    """The time, which a test sets."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        self.now += 1
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("skymem.app.now", made)
    return made


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    init_home(made)
    return made


@pytest.fixture
def memory(home: Path, clock: Clock) -> AgentMemory:
    del clock
    return skymem.open_memory(home=str(home))


@pytest.fixture
def declared(home: Path, clock: Clock) -> Preferences:
    del clock
    (home / "retention_rules.yaml").write_text(DECLARED)
    return skymem.open_memory(home=str(home)).preferences


def again(home: Path) -> Preferences:
    """As a process that was started anew sees them."""
    return Preferences(open_home(str(home)), "sky")


def run(home: Path, *jobs: str) -> None:
    for job in jobs:
        open_home(str(home)).run_job(job)


def lines(home: Path) -> list[dict[str, Any]]:
    files = sorted((home / "memory/sky").glob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]
