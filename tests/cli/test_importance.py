"""`skymem train` and `skymem importance`, as a person meets them (P12)."""

import json
import resource
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from skymem import app as composition
from skymem.cli.main import app
from skymem.engine.items import Item
from skymem.errors import SkymemError
from skymem.policy.prediction import ABOUT, Meaning
from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from skymem.stores.importance_models import in_force, keep_model
from skymem.weighing import why
from tests.conftest import Desk, line
from tests.engine.fake_embedder import FAKE
from tests.jobs.indexing import InProcess
from tests.jobs.taught import history, named, trained

pytestmark = pytest.mark.usefixtures("clock")


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    root = tmp_path_factory.mktemp("taught") / "home"
    composition.init_home(root)
    desk = Desk(HomePaths(root))
    history(desk)
    assert trained(desk)["taken"]
    return desk


@pytest.fixture
def home(taught: Desk, tmp_path: Path) -> Desk:
    shutil.copytree(taught.paths.root, tmp_path / "copy")
    return Desk(HomePaths(tmp_path / "copy"), clock=taught.clock)


@pytest.fixture
def clock(taught: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(composition, "now", lambda: taught.clock + 100)


def said(desk: Desk, *words: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["--home", str(desk.paths.root), *words])
    error = result.exception
    if isinstance(error, SkymemError):
        assert error.exit_code == code, str(error)
        return str(error)
    assert result.exit_code == code, result.output
    return result.output


def told(desk: Desk, *words: str) -> Any:
    return json.loads(said(desk, *words, "--json"))


def test_the_model_in_force_is_shown_beside_the_guide_and_the_constant(home: Desk) -> None:
    shown = said(home, "importance")
    for part in ("sky: model of ", "days old", "scoring guide", "constant guess", "predicted →"):
        assert part in shown
    found = told(home, "importance")["agents"]["sky"]["model"]
    assert found["figures"]["model"]["log_loss"] < found["figures"]["guide"]["log_loss"]
    assert found["by"] == {"recall": 40, "silence": 120}


def test_why_names_the_features_and_they_sum_to_the_prediction(home: Desk) -> None:
    home.echo(line("mail went out behind flag 999", None, tags=["deploy"]))
    name = next(name for name, one in named(home) if one.memory.content.endswith("flag 999"))
    shown = said(home, "importance", "--why", name[:12])
    assert "(predicted by the model of" in shown
    assert "tag “deploy”" in shown
    found = told(home, "importance", "--why", name)
    assert found["importance_source"] == "predicted"
    prediction = found["prediction"]
    total = prediction["base"] + sum(one["adds"] for one in prediction["parts"])
    assert total == pytest.approx(prediction["log_odds"], abs=1e-4)
    explained = told(home, "explain", name)
    assert explained["importance_source"] == "predicted"
    assert explained["importance"] == explained["predicted"] == prediction["importance"]
    assert "predicted by the model of" in said(home, "explain", name)


def test_a_second_opinion_is_shown_and_does_not_count(home: Desk) -> None:
    home.echo(line("mail went out behind flag 999", 0.2, tags=["deploy"]))
    name = next(name for name, one in named(home) if one.memory.content.endswith("flag 999"))
    assert told(home, "explain", name)["predicted"] is None
    rules = home.paths.rules
    rules.write_text(rules.read_text() + "\nimportance: {predict: second_opinion}\n")
    explained = told(home, "explain", name)
    assert (explained["importance"], explained["importance_source"]) == (0.2, "given")
    assert explained["predicted"] > 0.7
    assert "(given; predicted 0." in said(home, "explain", name)
    assert "that does not count here" in said(home, "importance", "--why", name)
    assert name not in [one["id"] for one in told(home, "promote", "--dry-run")["decisions"]]


def test_a_rollback_leaves_the_guide_and_a_rehearsed_one_nothing(home: Desk) -> None:
    assert "would be set aside" in said(home, "importance", "--rollback", "--dry-run")
    assert told(home, "importance")["agents"]["sky"]["model"] is not None
    assert "the scoring guide counts" in said(home, "importance", "--rollback")
    assert "no model; the scoring guide counts" in said(home, "importance")
    assert "no model in force" in said(home, "importance", "--rollback", code=2)
    last = json.loads((home.paths.status / "jobs" / "importance.json").read_text())
    assert last["detail"]["in_force"] is None


def test_training_tells_its_figures_and_no_text(home: Desk) -> None:
    found = told(home, "train")
    assert found["skipped"] == {"unchanged": 1}
    assert "model in force was made from" in found["why"]
    shutil.rmtree(home.paths.importance("sky"))
    taken = told(home, "train")
    assert (taken["acted"], taken["models"]) == (1, 1)
    bins = taken["agents"]["sky"]["figures"]["model"]["bins"]
    assert sum(one["memories"] for one in bins) == taken["agents"]["sky"]["held_out"]
    recorded = (home.paths.status / "jobs" / "train.json").read_text()
    assert not any(word in recorded for word in ("deploy", "flag", "billing"))
    assert said(home, "train", code=0).startswith("train: 0 model(s) taken")


def test_who_is_bound_to_an_agent_goes_back_from_nothing(
    home: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKYMEM_BOUND_AGENT", "sky")
    assert "sky: model of" in said(home, "--agent", "sky", "importance")
    CliRunner().invoke(app, ["--home", str(home.paths.root), "importance", "--rollback"])
    monkeypatch.delenv("SKYMEM_BOUND_AGENT")
    assert told(home, "importance")["agents"]["sky"]["model"] is not None


def test_second_opinions_are_listed_the_widest_apart_first(home: Desk) -> None:
    home.echo(line("mail went out behind flag 998", 0.2, tags=["deploy"]))
    home.echo(line("mail went out behind flag 999", 0.9, tags=["deploy"]))
    home.echo(line("looked at the mail page, number 999", 1.0, tags=["chat"]))
    found = told(home, "importance", "--second-opinions", "2")["memories"]
    assert [one["importance"] for one in found] == [1.0, 0.2]
    assert found[0]["differs"] == pytest.approx(1.0 - found[0]["predicted"])
    assert found[0]["differs"] >= found[1]["differs"] > 0.5
    shown = said(home, "importance", "--second-opinions", "2")
    assert found[1]["id"] in shown
    assert "what was given counts" in shown
    said(home, "importance", "--rollback")
    assert "it has no opinion" in said(home, "importance", "--second-opinions", "2")


@pytest.fixture
def limit_on_files() -> Iterator[None]:
    """An index sets one; it is taken back."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.usefixtures("limit_on_files")
def test_why_tells_the_share_of_the_meaning_and_what_lies_near(
    home: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine: Any = InProcess(home)
    model = in_force(home.paths, "sky", home.clock)
    assert model is not None
    [went] = engine.embedder.encode(["mail went out"]).tolist()
    meaning = Meaning(FAKE.key, 0.1, 0.9, 0.2, tuple(went))
    keep_model(home.paths, Files(), replace(model, trained_at=home.clock, meaning=meaning))
    home.echo(line("mail went out", None, tags=["deploy"]))
    name = next(name for name, one in named(home) if one.memory.content == "mail went out")
    engine.put("sky", "memory", [Item("near", "00" * 12, "mail went out at noon")])
    monkeypatch.delenv("SKYMEM_ENGINE")
    at = composition.open_home(str(home.paths.root))
    at._engine = engine
    prediction = why(at, "sky", name)["prediction"]
    assert prediction["by"] == "vectors"
    assert prediction["nearest"] == ["near"]
    assert {"feature": ABOUT, "adds": 0.8} in prediction["parts"]
    total = prediction["base"] + sum(one["adds"] for one in prediction["parts"])
    assert total == pytest.approx(prediction["log_odds"], abs=1e-4)
    engine.is_running = False
    prediction = why(at, "sky", name)["prediction"]
    assert (prediction["by"], "nearest" in prediction) == ("text", False)
    monkeypatch.setenv("SKYMEM_ENGINE", "off")
    assert "what it is about has no share" in said(home, "importance", "--why", name)
    assert "by its text alone" in said(home, "explain", name)
    engine.close()
