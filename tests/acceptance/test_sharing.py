"""Sharing as its users meet it: rules, the command, what the receiver sees of a copy (row P17)."""

import json
from pathlib import Path

import pytest

import skymem
from skymem.app import Home, init_home, open_home
from skymem.errors import ConfigurationError, NotAllowedError
from skymem.explain import explain
from skymem.health import health_of

RULE = "share:\n  - {from: sky, to: [hobbs], tags: [ops], kinds: [decision], trust_min: 0.6}\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home in which sky has decided something and hobbs is at work."""
    made = tmp_path / "home"
    init_home(made)
    monkeypatch.setenv("SKYMEM_HOME", str(made))
    sky = skymem.open_memory("sky")
    sky.remember("deploys wait for tuesday", kind="decision", tags=["ops"], importance=0.9)
    sky.remember("tuesday is nobody's birthday", kind="fact", tags=["ops"], importance=0.9)
    skymem.open_memory("hobbs").remember("hobbs is new here", importance=0.9)
    with (made / "retention_rules.yaml").open("a") as rules:
        rules.write(RULE)
    for job in ("promote", "share"):
        assert open_home().run_job(job)[0]["ok"]
    return made


@pytest.fixture
def operator(home: Path) -> Home:
    return open_home(str(home))


def test_the_receiver_reads_a_copy_with_its_origin_shown(home: Path) -> None:
    hobbs = skymem.open_memory("hobbs")
    (found,) = (one for one in hobbs.recall("tuesday") if one.source is not None)

    assert found.content == "deploys wait for tuesday"
    assert found.as_json()["shared_from"]["agent"] == "sky"
    assert [one.shared_from for one in hobbs.recent()].count(None) == 1
    assert "shared by sky" in hobbs.context("deploys on tuesday").text


def test_what_is_the_agents_own_says_nothing_of_it(home: Path) -> None:
    sky = skymem.open_memory("sky")

    assert all("shared_from" not in one.as_json() for one in sky.recall("tuesday"))
    assert [one.shared_from for one in sky.recent()] == [None, None]


def test_explain_of_a_copy_says_whence_and_of_its_source_to_whom(operator: Home) -> None:
    hobbs = skymem.open_memory("hobbs")
    copy = next(one for one in hobbs.recall("deploys") if one.source is not None)
    told = explain(operator, "hobbs", copy.id).as_json()
    source = explain(operator, "sky", told["shared_from"]["id"]).as_json()

    assert told["shared_from"]["agent"] == "sky"
    assert source["shared_from"] is None
    assert "shared with hobbs" in [event["what"] for event in source["history"]]
    assert "deploys" not in json.dumps(told)


def test_sharing_is_the_operators(operator: Home) -> None:
    with pytest.raises(NotAllowedError):
        operator.bind("hobbs").run_job("share")
    detail, _ = operator.bind("hobbs").run_job("share", agent="hobbs")

    assert not detail["ok"]
    assert detail["agents"]["hobbs"]["exit_code"] == 30


def test_a_slip_in_a_rule_is_told_before_anything_is_shared(home: Path) -> None:
    rules = home / "retention_rules.yaml"
    rules.write_text(rules.read_text().replace("[hobbs]", "[hobs]"))

    with pytest.raises(ConfigurationError, match="did you mean"):
        open_home()


def test_it_is_a_job_of_the_schedule(home: Path) -> None:
    from skymem.config.schedule_file import read_schedule

    (home / "schedule.yaml").write_text("every:\n  - {name: share, minutes: 15}\n")

    assert read_schedule(home / "schedule.yaml").entries[0].job == "share"


def test_rules_that_nothing_carries_out_are_a_note_of_check(home: Path) -> None:
    told = "nothing shares by the rules"
    assert any(told in note for note in health_of(open_home())["notes"])
    (home / "schedule.yaml").write_text("every:\n  - {name: share, minutes: 15}\n")

    assert not any(told in note for note in health_of(open_home())["notes"])
