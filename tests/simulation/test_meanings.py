"""What the engine told a model is part of the past: a replay without it decides the same (X8)."""

import resource
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from skymem import app
from skymem.config.rules_file import read_rules
from skymem.errors import EngineUnavailableError
from skymem.jobs.workplace import Workplace
from skymem.policy.prediction import Meaning, Model
from skymem.simulation.past import past_of
from skymem.simulation.replay import Replay
from skymem.stores.importance_models import keep_model
from skymem.stores.meanings import meanings_of
from tests.conftest import Desk, line
from tests.engine.fake_embedder import FAKE, FakeEmbedder
from tests.jobs.indexing import InProcess
from tests.simulation.lived import DAY, START, UNDER_A, Life, decisions, ledger

DAYS = 12


@dataclass
class WithEngine(Life):
    """A home with an engine that is away now and then."""

    engine: InProcess | None = None

    def work(self) -> Workplace:
        work = super().work()
        made: Any = self.engine
        work.engine = None if made is None else lambda: made
        return work


@pytest.fixture
def life(tmp_path: Path) -> Iterator[WithEngine]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    life = WithEngine(tmp_path / "home", UNDER_A)
    life.engine = InProcess(Desk(life.paths))
    yield life
    life.engine.close()
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def likes_herons() -> Model:
    """By text alone everything is worth a half; what begins like a heron is worth more."""
    [heron] = FakeEmbedder().encode(["heron"]).tolist()
    weights = tuple(round(4 * one, 5) for one in heron)
    meaning = Meaning(FAKE.key, 0.0, 1.0, 0.2, weights)
    return Model("sky", START - DAY, "none", 0, 0.0, {}, meaning=meaning)


def test_a_replay_decides_by_what_was_told_when_it_was_told(
    life: WithEngine, tmp_path: Path
) -> None:
    assert life.engine is not None
    keep_model(life.paths, life.files, likes_herons())
    for day in range(DAYS):
        life.clock = START + day * DAY
        life.engine.refuses.clear()
        if day % 3 == 1:
            life.engine.refuses["sky"] = EngineUnavailableError("it is gone")
        if day % 4:  # on some days there is nothing new, and nothing to be done
            life.say("sky", line(f"heron {day}", None, ts=life.clock))
            life.say("sky", line(f"bill {day}", None, ts=life.clock))
        life.job("promote")
        life.clock += DAY / 2
        life.job("promote")
    really = decisions(ledger(life))
    assert len([one for one in really if one[1] == "promote"]) == DAYS * 3 // 4
    assert meanings_of(life.paths, "sky")

    past = past_of(app.open_home(str(life.root)), START - DAY, START + (DAYS + 1) * DAY)
    root = tmp_path / "replay"
    root.mkdir()
    (root / "rules.yaml").write_text(UNDER_A)
    done = Replay(past, root, read_rules(root / "rules.yaml"), lambda: "", lambda _: None).run()
    assert decisions(done.entries) == really
    assert done.still["sky"]
