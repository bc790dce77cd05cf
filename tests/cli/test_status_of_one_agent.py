"""`--agent` before `status` and its like: that agent alone, or why it can't be."""

import json

import pytest

from skymem.app import open_home
from skymem.doctor import examine
from tests.cli.conftest import Shell, texts

BOTH = {"ok": False, "job": "promote", "error": "hobbs: full; sky: torn"}
EACH = {"hobbs": {"ok": False, "error": "hobbs: full"}, "sky": {"ok": False, "error": "sky: torn"}}


@pytest.fixture(autouse=True)
def two_agents(shell: Shell) -> None:
    for agent in ("sky", "hobbs"):
        shell("--agent", agent, "remember", "x")
        (shell.home / f"memory/{agent}/long_term.jsonl").write_bytes(b"no json\n")


@pytest.mark.parametrize("words", [["status"], ["agents", "list"]])
def test_one_agent_is_shown_alone(shell: Shell, words: list[str]) -> None:
    def shown(*before: str) -> list[str]:
        return [one["name"] for one in shell(*before, *words, "--json").json["agents"]]

    assert shown() == ["hobbs", "sky"]
    assert shown("--agent", "hobbs") == ["hobbs"]


@pytest.mark.parametrize(
    "words",
    [["status"], ["status", "--follow"], ["check"], ["doctor"], ["agents", "list"]],
    ids=" ".join,
)
@pytest.mark.parametrize(("name", "code"), [("nobody", 2), ("No Body", 30)])
def test_an_agent_that_is_not_there_is_refused(
    shell: Shell, words: list[str], name: str, code: int
) -> None:
    told = shell("--agent", name, *words)

    assert (told.code, told.out) == (code, "")
    assert f'no agent "{name}" here' in told.err or "is not allowed" in told.err
    assert not (shell.home / "memory" / name).exists()


def test_what_is_wrong_with_others_only_is_left_out(shell: Shell) -> None:
    (shell.home / "memory/No Body").mkdir()
    home = open_home(str(shell.home))
    home.record("promote", {**BOTH, "agents": EACH})
    home.record("rotate", {"ok": False, "job": "rotate", "error": "no room"})
    home.record("prune", {**BOTH, "job": "prune", "agents": {**EACH, "sky": {"ok": True}}})

    everything = shell("check", "--json").json["reasons"]
    of_sky = shell("--agent", "sky", "check", "--json").json["reasons"]
    assert {"promote failed: hobbs: full; sky: torn", "prune failed: hobbs: full; sky: torn"} <= {
        *everything
    }
    assert any("left alone" in reason for reason in everything)
    assert any("long_term.jsonl: line(s) 1 can't be read" in reason for reason in of_sky)
    assert {*of_sky} - {*everything} == {"promote failed: sky: torn"}
    assert "rotate failed: no room" in of_sky, "nobody's in particular"
    assert not any("hobbs" in reason or "left alone" in reason for reason in of_sky)
    checks = [one["message"] for one in examine(home, "sky")]
    assert not any("hobbs" in message or "left alone" in message for message in checks)


def test_a_failure_of_one_agent_is_good_again_for_that_agent(shell: Shell) -> None:
    open_home(str(shell.home)).record("memory_rotate_check", {**BOTH, "agents": EACH})
    shell("--agent", "sky", "promote")

    def failures(*words: str) -> list[str]:
        alarms = shell.alarms(*words)
        return [alarm for alarm in alarms if "failed" in alarm]

    assert failures("--agent", "sky") == []
    assert len(failures("--agent", "hobbs")) == len(failures()) == 1


def test_an_index_of_another_agent_is_left_out(shell: Shell) -> None:
    (shell.home / "status").mkdir(exist_ok=True)
    indexes = {name: {"chunks": 1, "problems": [f"{name}: lost"]} for name in ("hobbs", "sky")}
    told = {"running": True, "dimension": 384, "agents": indexes}
    (shell.home / "status/engine.json").write_text(json.dumps(told))
    found = shell("--agent", "hobbs", "status", "--json").json

    assert [*found["engine"]["indexes"]] == ["hobbs"]
    assert "hobbs: lost" in texts(found)
    assert "sky: lost" not in texts(found)


def test_the_agent_of_the_environment_does_not_narrow_what_a_monitor_sees(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKYMEM_AGENT", "hobbs")

    assert len(shell("status", "--json").json["agents"]) == 2
