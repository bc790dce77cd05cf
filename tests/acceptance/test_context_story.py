"""A context made with the real model, from outside: by meaning, and as it was (row N11)."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from skymem.stores.home import HomePaths
from tests.acceptance.homes import START, Outside, line, wait_until

DAY = 86_400
MESSAGE = "when should the summary be delivered?"
"""Shares no word with what it is about."""

REPORT = "The user wants the weekly report at 7am"
REPORT_AT_8 = "The user wants the weekly report at 8am"
OTHERS = ("The cat sleeps on the warm radiator", "The car's brakes were replaced in March")
FITTING = "Send every weekly report as a PDF by mail"
"""The oldest of the rules."""

AGENT = """
import skymem
hooks = skymem.open_memory().hooks()
prompt = hooks.before({message!r}, user_id="ann")
print(prompt)
hooks.after("The report goes out at 7am. " + prompt, user_id="ann")
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Outside]:
    """A home that was told and has promoted what there is, with its engine running."""
    monkeypatch.delenv("SKYMEM_ENGINE")
    made = Outside(HomePaths(tmp_path / "home"))
    made("init", str(made.paths.root))
    rules = [f"Rule {n}: water plant number {n} on Sundays" for n in range(12)]
    made.echo(
        line("You are Sky: calm, brief", kind="agent"),
        line("Ann, Europe/Rome", kind="user", user_id="ann"),
        line(FITTING, kind="rule", id="fitting"),
        *(line(text, kind="rule", ts=START + 60 + n) for n, text in enumerate(rules)),
        line(REPORT, id="seven", user_id="ann", origin="user"),
        *(line(text) for text in OTHERS),
        line("Bob's weekly report is due at noon", user_id="bob"),
        line("Ann's weekly report is about her health", user_id="ann", sensitivity="sensitive"),
    )
    promoted = made.done("promote")
    assert (promoted["promoted"], promoted["degraded"]) == (20, [])
    yield made
    made.close()


def by_meaning(home: Outside, *words: str) -> Any:
    """What a command tells once the engine has answered in time: a busy machine may be late."""
    told: list[Any] = []

    def answered() -> bool:
        told.append(home.done(*words))
        return not told[-1]["degraded"]

    wait_until(answered, f"{words[0]} by meaning")
    return told[-1]


def contents(document: Any, layer: str) -> list[str]:
    (found,) = (one for one in document["layers"] if one["name"] == layer)
    return [one["content"] for one in found["entries"]]


def test_a_context_is_made_by_meaning_for_one_user(home: Outside) -> None:
    found = by_meaning(home, "context", MESSAGE, "--user", "ann")

    assert found["mode"] == "fusion"
    assert contents(found, "memories") == [REPORT]
    rules = contents(found, "rules")
    assert (rules[0], len(rules)) == (FITTING, 10)
    assert "[memory, from user, trust unstated, 2023-11-14, seven]" in found["text"]
    newest = home.done("context", "--user", "ann")
    assert FITTING not in contents(newest, "rules")
    assert contents(newest, "memories") == []


def test_a_correction_counts_from_when_it_was_made(home: Outside) -> None:
    home.done("correct", "seven", REPORT_AT_8)
    home.done("index")
    recall = ["recall", MESSAGE, "--mode", "hybrid", "--limit", "1"]
    for verb in (["context", MESSAGE, "--user", "ann"], recall):
        now = json.dumps(by_meaning(home, *verb))
        then = json.dumps(by_meaning(home, *verb, "--at", str(START + DAY)))
        assert (REPORT_AT_8 in now, REPORT in now) == (True, False), now
        assert (REPORT_AT_8 in then, REPORT in then) == (False, True), then


def test_an_agents_hooks_work_in_a_process_of_its_own(
    home: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKYMEM_HOME", str(home.paths.root))
    environment = {
        **os.environ, "MILTON_MEMORY_STORE_RESPONSES": "true", "SKYMEM_CONTEXT_LIMIT": "3",
    }  # fmt: skip
    command = [sys.executable, "-c", AGENT.format(message=MESSAGE)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=60, env=environment
    )

    assert done.stderr == ""
    assert done.stdout.count("\n- [") == 4  # with the machine
    assert FITTING in done.stdout
    (crumb,) = home.done("recent", "--kind", "crumb")["results"]
    assert crumb["content"] == "The report goes out at 7am."


def test_with_the_engine_killed_it_is_started_again_and_off_words_answer(
    home: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.end_engine()
    found = by_meaning(home, "context", MESSAGE, "--user", "ann")
    assert contents(found, "memories") == [REPORT]
    assert home.end_engine()
    monkeypatch.setenv("SKYMEM_ENGINE", "off")
    found = home.done("context", "weekly report", "--user", "ann")
    assert (found["mode"], contents(found, "memories")) == ("deterministic", [REPORT])
    assert "SKYMEM_ENGINE" in found["degraded"][0]
