"""Preferences and playbooks found by meaning, with the real engine, by CLI and Python alike."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import skymem
from skymem.agent import AgentMemory
from skymem.stores.home import HomePaths
from skymem.working import likeness
from tests.acceptance.homes import Outside

RULES = """\
preferences:
  verbosity: {choices: [terse, full], related: [charts], meaning: How wordy answers are}
  charts: {type: bool, meaning: Whether figures are drawn}
  currency: {type: word, meaning: In which money sums are told}
"""
QUERY = "How much did we sell last month?"
FLOW = ("--flow", "sales_report", "--query", QUERY, "--outcome", "A table of sales")
CALL = '{"tool_id": "sql", "args": {"limit": 3.5}}'
ALIKE = "What were our sales in the previous month?"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Outside]:
    """A home whose engine is started by whoever asks first."""
    monkeypatch.delenv("SKYMEM_ENGINE")
    # A busy machine may be late: it is waited for, so that the answer is by meaning.
    monkeypatch.setattr(likeness, "START_SECONDS", 60.0)
    monkeypatch.setattr(likeness, "ANSWER_SECONDS", 60.0)
    made = Outside(HomePaths(tmp_path / "home"))
    made("init", str(made.paths.root))
    made.paths.rules.write_text(RULES)
    yield made
    made.close()


def test_what_is_like_is_found_by_its_meaning(home: Outside) -> None:
    memory: AgentMemory = skymem.open_memory(home=str(home.paths.root))
    for key, value in (("verbosity", "terse"), ("charts", True), ("currency", "EUR")):
        memory.preferences.update(key, value)
    found = memory.preferences.find("she wants short replies", 1)

    assert (found.mode, found.degraded) == ("meaning", [])
    assert [(one.preference.key, one.by) for one in found] == [
        ("verbosity", ""),
        ("charts", "related"),
    ]

    added = home.done("playbook", "add", *FLOW, "--call", CALL)
    (hit,) = hits = memory.playbooks.find(ALIKE, session="c1")
    assert (hits.mode, hit.by, hit.playbook.id) == ("meaning", "likeness", added["id"])
    assert 0.6 <= hit.score < 1
    assert memory.playbooks.find("Which plants need water?", session="c1") == []
    assert hits.snippet_id == memory.scratchpad.of("c1").read()[0].id

    told = home.done("pref", "find", "brief answers, please", "--limit", "1")
    assert told["mode"] in {"meaning", "words"}  # by words where the machine is too busy to wait
    assert home.done("promote")["promoted"] == 4
    assert memory.playbooks.find(QUERY, session="c1")[0].score == pytest.approx(1.0)
