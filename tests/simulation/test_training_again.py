"""A replay trains as the home did: by what was known then, and the model decides from then on (X8).

The home has a model of before, one that was made meanwhile, and lines that neither writer rated.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from skymem import app
from skymem.jobs.detail import Outcome
from skymem.jobs.fitting import is_installed
from skymem.jobs.train import train
from skymem.model.rules import RetentionRules
from skymem.simulation import replay
from skymem.simulation.past import past_of
from skymem.simulation.replay import Replay, Replayed
from skymem.stores.fleeting import FleetingFiles
from skymem.stores.home import HomePaths
from skymem.stores.status import StatusFiles
from tests.conftest import START, Desk, line
from tests.jobs.taught import DAY, desk_in, history, model_bytes, trained
from tests.simulation.lived import Decision, decisions

pytestmark = pytest.mark.skipif(not is_installed(), reason="needs scikit-learn")


@dataclass
class Recorded(Desk):
    """A home whose results are recorded."""

    def run_with_outcomes(self, job: str, **more: Any) -> tuple[dict[str, Any], list[Outcome]]:
        detail, outcomes = super().run_with_outcomes(job, **more)
        StatusFiles(self.paths, self.files).write_action(job, detail, self.clock)
        return detail, outcomes


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A home that was trained twice, by hand and on record; to be left as it is."""
    root = tmp_path_factory.mktemp("taught") / "home"
    app.init_home(root)
    desk = Recorded(HomePaths(root), files=FleetingFiles())
    history(desk)
    assert trained(desk)["taken"]
    for number in range(3):
        desk.clock += DAY
        desk.echo(line(f"mail went out behind flag {number} again", None, tags=["deploy"]))
        desk.echo(line(f"looked at the mail page {number} again", None, tags=["chat"]))
        desk.run("promote")
    desk.echo(*(line(f"cart went out behind flag {n}", 0.2, tags=["deploy"]) for n in range(90)))
    desk.run("promote")
    desk.clock += 1
    again, _ = train(desk.work(), ["sky"])
    StatusFiles(desk.paths, desk.files).write_action("train", again, desk.clock)
    desk.echo(line("mail went out behind flag 77", None, tags=["deploy"]))
    desk.run("promote")
    return desk


def replayed(desk: Desk, root: Path, since: float) -> Replayed:
    past = past_of(app.open_home(str(desk.paths.root)), since, desk.clock + DAY)
    root.mkdir()
    return Replay(past, root, RetentionRules(), lambda: "", lambda _: None).run()


def really(desk: Desk, since: float) -> list[Decision]:
    told = (entry for _, entry in desk.work().ledger().read_from(0))
    return decisions([entry for entry in told if entry["ts"] >= since])


@pytest.mark.parametrize("days", [-1.0, 2.0])
def test_the_same_models_are_made_and_decide_the_same(
    taught: Desk, tmp_path: Path, days: float
) -> None:
    since = START + days * DAY
    done = replayed(taught, tmp_path / "r", since)
    own = really(taught, since)
    assert any(one[6].startswith("predicted by the model of") for one in own)
    assert decisions(done.entries) == own
    assert model_bytes(desk_in(tmp_path / "r")) == model_bytes(taught)
    assert done.failed == {}
    assert done.degraded == []


def test_where_none_can_be_trained_those_of_then_count(
    taught: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay, "is_installed", lambda: False)
    done = replayed(taught, tmp_path / "r", START - DAY)
    assert decisions(done.entries) == really(taught, START - DAY)
    assert done.degraded == ["train was not run again: skymem[train] is not installed"]
