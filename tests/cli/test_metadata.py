"""Every field that agents write beside the text can be asked for (row M6)."""

import json

import pytest

import skymem
from tests.cli.conftest import Shell

ACTION = {
    "type": "action",
    "category": "infra",
    "tags": ["dns", "night"],
    "tool": "dig",
    "status": "failed",
    "escalated_to": "aegis",
    "source": "monitor",
    "workflow": "nightly",
    "retry": 2,
}
OTHER = {**dict.fromkeys(ACTION, "other"), "tags": ["other"], "retry": 22}
WANTED = [
    *(f"{key}={value}" for key, value in ACTION.items() if key != "tags"),
    "tags=dns",
    "tags=night",
]


@pytest.fixture(params=["timestamp", "ts"])
def noted(shell: Shell, request: pytest.FixtureRequest) -> Shell:
    """Two lines in either spelling, one of them with the metadata that is asked for."""
    time = {"timestamp": "2026-01-02T03:04:05Z"} if request.param == "timestamp" else {"ts": 1.7e9}
    lines = [
        {**time, "content": "the lookup timed out", "metadata": ACTION},
        {**time, "content": "the lookup went well", "metadata": OTHER},
    ]
    shell("remember", "--stdin", stdin="\n".join(map(json.dumps, lines)).encode())
    return shell


@pytest.mark.parametrize("tier", ["short", "long"])
@pytest.mark.parametrize("verb", [["recall", "lookup"], ["recent"]], ids=" ".join)
def test_each_field_chooses(noted: Shell, verb: list[str], tier: str) -> None:
    if tier == "long":
        (noted.home / "retention_rules.yaml").write_text("promote_threshold: 0\n")
        noted("promote")
    for wanted in WANTED:
        found = noted(*verb, "--meta", wanted, "--json").json["results"]
        assert [(one["content"], one["tier"]) for one in found] == [
            ("the lookup timed out", tier)
        ], wanted
    every = [word for wanted in WANTED for word in ("--meta", wanted)]
    assert len(noted(*verb, *every, "--json").json["results"]) == 1
    assert noted(*verb, "--meta", "retry=3", "--json").json["results"] == []


def test_the_same_by_the_python_door(noted: Shell) -> None:
    memory = skymem.open_memory(home=str(noted.home))
    wanted = {"workflow": "nightly", "retry": 2, "tags": "dns"}

    assert [one.content for one in memory.recent(meta=wanted)] == ["the lookup timed out"]
    assert [one.content for one in memory.recall("lookup", meta=wanted)] == ["the lookup timed out"]
    assert memory.recent(meta={"retry": 3}) == []


def test_what_is_no_pair_is_named(shell: Shell) -> None:
    assert shell("recent", "--meta", "tool").code == 2
