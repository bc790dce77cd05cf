"""A home's history teaches what its memories are worth, and what it teaches counts (P12)."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from skymem.errors import UsageError
from skymem.jobs.foretell import Foretelling
from skymem.jobs.train import train
from skymem.model.memory import Memory
from skymem.model.rules import ImportanceRules, RetentionRules
from skymem.policy.importance import worth
from skymem.policy.prediction import logistic
from skymem.stores.importance_models import KEPT, in_force, keep_model, models_of, set_aside
from tests.conftest import START, Desk, line
from tests.jobs.erased import erased
from tests.jobs.taught import (
    SECRET_WORD,
    desk_in,
    history,
    model_bytes,
    named,
    trained,
    trained_at,
)

DEPLOY = line("mail went out behind flag 999", None, tags=["deploy"])
CHAT = line("looked at the mail page, number 999", None, tags=["chat"])


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A home with a history, and a model of it: to be copied, and left as it is."""
    desk = desk_in(tmp_path_factory.mktemp("taught") / "home")
    history(desk)
    assert trained(desk)["taken"]
    return desk


@pytest.fixture
def home(taught: Desk, tmp_path: Path) -> Desk:
    shutil.copytree(taught.paths.root, tmp_path / "copy")
    copy = desk_in(tmp_path / "copy")
    copy.clock = taught.clock
    return copy


def test_what_was_recalled_of_its_sort_is_promoted_and_the_rest_is_not(home: Desk) -> None:
    home.echo(DEPLOY, CHAT)
    detail, [outcome] = home.run_with_outcomes("promote", dry_run=True)
    found = {one.id: one.reason for plan in outcome.plans for one in plan.decisions}
    assert any(reason.note.startswith("predicted by the model of") for reason in found.values())
    assert all(reason.value is not None for reason in found.values()), detail
    home.run("promote")
    assert "mail went out behind flag 999" in home.contents("long")
    assert "looked at the mail page, number 999" in home.contents("short")


def test_explain_tells_the_prediction_against_the_threshold(home: Desk) -> None:
    home.echo(CHAT)
    home.run("rotate")
    name = next(name for name, one in named(home) if one.memory.content.endswith("number 999"))
    with home.work().catalog() as catalog:
        catalog.catch_up(home.tiers)
        [kept] = home.shelf().find(name, catalog)
        gates = Foretelling(home.work(), home.shelf(), catalog, kept).gates()
    gate = next(one for one in gates if one.gate == "importance")
    assert gate.note.startswith("predicted by the model of 20")
    assert gate.value is not None
    assert gate.value < 0.3
    assert (gate.threshold, gate.open) == (0.7, False)


def test_the_parts_of_a_prediction_sum_to_it(home: Desk) -> None:
    model = in_force(home.paths, "sky", home.clock)
    assert model is not None
    told = model.why(Memory(json.loads(DEPLOY)))
    assert told.log_odds == pytest.approx(told.base + sum(part.value for part in told.parts))
    assert told.importance == pytest.approx(logistic(told.log_odds), abs=0.001)
    shown = {part.shown: part.value for part in told.parts}
    assert shown["tag “deploy”"] > 1
    assert told.importance == model.of(Memory(json.loads(DEPLOY)))


def test_what_a_writer_gave_counts_whatever_a_model_says(home: Desk) -> None:
    home.echo(line("mail went out behind flag 998", 0.2, tags=["deploy"]))
    home.echo(line("looked at the mail page, number 998", 0.9, tags=["chat"]))
    home.run("promote")
    assert "mail went out behind flag 998" in home.contents("short")
    assert "looked at the mail page, number 998" in home.contents("long")


def test_off_asks_no_model(home: Desk) -> None:
    home.rules = RetentionRules(importance=ImportanceRules("off"))
    home.echo(DEPLOY)
    home.run("promote")
    assert "mail went out behind flag 999" in home.contents("short")


def test_no_byte_of_a_memory_is_in_a_model(home: Desk) -> None:
    [data] = model_bytes(home).values()
    for word in (SECRET_WORD, "deploy", "chat", "billing", "flag", "page"):
        assert word.encode() not in data
    told = json.loads(data)
    assert {key.split(":")[0].strip("#0123456789") for key in told["coefficients"]} <= {
        *("", "kind", "origin", "length", "form", "cue", "no tags", "repeats")
    }


def test_erasing_an_agent_takes_its_models(home: Desk) -> None:
    erased(home, everything=True)
    assert not home.paths.importance("sky").exists()


def test_the_same_history_makes_the_same_bytes(tmp_path: Path) -> None:
    desks = [desk_in(tmp_path / name) for name in ("one", "other")]
    for desk in desks:
        history(desk, memories=120)
        assert trained(desk)["taken"]
    assert model_bytes(desks[0]) == model_bytes(desks[1])


def test_a_history_that_teaches_nothing_new_makes_no_model(home: Desk) -> None:
    before = model_bytes(home)
    assert trained(home)["why"] == "its history teaches what the model in force was made from"
    assert model_bytes(home) == before


def test_a_dry_run_takes_none(tmp_path: Path) -> None:
    desk = desk_in(tmp_path / "home")
    history(desk, memories=120)
    found = trained(desk, dry_run=True)
    assert found["taken"]
    assert found["figures"]["model"]["log_loss"] < found["figures"]["guide"]["log_loss"]
    assert not desk.paths.importance("sky").exists()


def test_a_worse_model_is_not_taken_and_says_why(taught: Desk, tmp_path: Path) -> None:
    """In a home where much else was asked for once, deployments are told apart less well."""
    good = in_force(taught.paths, "sky", taught.clock)
    assert good is not None
    desk = desk_in(tmp_path / "home")
    history(desk, strays=True)
    keep_model(desk.paths, desk.files, good)
    before = model_bytes(desk)
    found = trained(desk)
    assert not found["taken"]
    assert found["why"].startswith("worse than the model in force: log loss")
    figures = found["figures"]
    assert figures["in_force"]["log_loss"] < figures["model"]["log_loss"]
    assert figures["model"]["log_loss"] < figures["constant"]["log_loss"]
    assert model_bytes(desk) == before


def test_what_cannot_be_foretold_makes_no_model(tmp_path: Path) -> None:
    """Which of it was given much, nothing that is seen of a memory tells."""
    desk = desk_in(tmp_path / "home")
    desk.shelf().ensure()
    for number in range(120):
        given = (number * 7919 % 100) / 100
        desk.echo(line(f"tea {number}", given, ts=START - 1000 + number))
    found = trained(desk)
    assert not found["taken"]
    assert found["why"].startswith("not surely better than the constant guess")


def test_going_back_leaves_the_one_before_in_force(home: Desk) -> None:
    first = in_force(home.paths, "sky", home.clock)
    assert first is not None
    home.clock += 10
    keep_model(home.paths, home.files, replace(first, trained_at=home.clock, inputs="others"))
    second = in_force(home.paths, "sky", home.clock)
    assert second is not None
    assert second.trained_at == home.clock
    set_aside(home.paths, home.files, second)
    assert trained_at(home) == first.trained_at
    set_aside(home.paths, home.files, first)
    assert trained_at(home) is None
    assert "gone back from" in trained(home)["why"]


def test_the_last_ones_are_kept_and_each_was_in_force_at_its_time(home: Desk) -> None:
    first = in_force(home.paths, "sky", home.clock)
    assert first is not None
    times = [first.trained_at + day for day in range(1, KEPT + 2)]
    for at in times:
        keep_model(home.paths, home.files, replace(first, trained_at=at))
    assert [one.trained_at for one in models_of(home.paths, "sky")] == times[-KEPT:]
    found = in_force(home.paths, "sky", times[2] + 0.5)
    assert found is not None
    assert found.trained_at == times[2]


def test_one_that_cannot_be_read_is_as_if_it_were_not_there(home: Desk) -> None:
    [path] = home.paths.importance("sky").glob("*.json")
    later = path.with_name("29991231T000000_000000Z.json")
    later.write_bytes(path.read_bytes()[:100])
    assert trained_at(home) is not None
    path.write_text(path.read_text().replace('"features": 1', '"features": 999'))
    assert trained_at(home) is None


def test_another_agents_model_is_not_asked(home: Desk) -> None:
    other = Desk(home.paths, clock=home.clock, agent="hobbs")
    other.shelf().ensure()
    other.echo(DEPLOY)
    other.run("promote")
    assert other.contents("long") == []
    moved = home.paths.importance("hobbs")
    shutil.copytree(home.paths.importance("sky"), moved)
    assert in_force(home.paths, "hobbs", home.clock) is None


@pytest.mark.parametrize("given", [0.6, 0.5])
def test_who_rates_everything_alike_teaches_nothing(tmp_path: Path, given: float) -> None:
    desk = desk_in(tmp_path / "home")
    desk.rules = RetentionRules(recall_log=False)
    history(desk, memories=120, importance=given)
    found = trained(desk)
    assert not found["taken"]
    assert "the importance given tells nothing apart (100% of 120 are one number)" in found["why"]
    assert "recall is not on record" in found["why"]


def test_without_scikit_learn_it_says_what_to_install(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(UsageError, match=r"pip install 'skymem\[train\]'"):
        train(desk.work(), ["sky"])


def test_an_empty_home_says_what_is_missing(desk: Desk) -> None:
    found = trained(desk)
    assert found["why"].startswith("too little history: 0 of 80 memories teach anything")
    assert worth(Memory({"ts": 1, "content": "x"})).origin == "guide"
