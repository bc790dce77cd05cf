"""The simulator against the truth: homes that really lived under the rules (row X8).

Exact equality of what was decided: about which memory, by which gate, with which numbers, by which
run. Agents do not depend on each other, so each has a list of its own.
"""

from pathlib import Path

from skymem import app
from skymem.config.rules_file import read_rules
from skymem.simulation.past import past_of
from skymem.simulation.replay import Replay, Replayed
from tests.simulation.lived import (
    AGENTS,
    DAY,
    DAYS,
    START,
    UNDER_A,
    UNDER_B,
    Decision,
    Life,
    decisions,
    ledger,
)


def simulated(life: Life, rules: str, root: Path, since: float = START - DAY) -> Replayed:
    past = past_of(app.open_home(str(life.root)), since, START + (DAYS + 1) * DAY)
    root.mkdir()
    (root / "rules.yaml").write_text(rules)
    return Replay(past, root, read_rules(root / "rules.yaml"), lambda: "", lambda _: None).run()


def of(agent: str, found: list[Decision]) -> list[Decision]:
    return [one for one in found if one[0] == agent]


def test_the_same_rules_decide_the_very_same(lived: Life, tmp_path: Path) -> None:
    done = simulated(lived, UNDER_A, tmp_path / "r")
    found, really = decisions(done.entries), decisions(ledger(lived))
    assert {one[1] for one in really} >= {
        "promote", "archive", "trash", "restore", "undo", "made", "repeat",
    }  # fmt: skip
    for agent in AGENTS:
        assert len(of(agent, really)) > 100
        assert of(agent, found) == of(agent, really)
    assert not done.regrets
    for action in ("promote", "archive", "trash"):
        assert done.new.names("sky", action) == done.old.names("sky", action) != []


def test_other_rules_decide_what_a_home_under_them_decided(
    lived: Life, other: Life, tmp_path: Path
) -> None:
    done = simulated(lived, UNDER_B, tmp_path / "r")
    found, really = decisions(done.entries), decisions(ledger(other))
    assert {one[1] for one in really} >= {"promote", "archive", "trash", "compact", "made"}
    assert {one[3] for one in really} >= {"importance", "always_tag", "recalled"}
    for agent in AGENTS:
        assert of(agent, found) == of(agent, really) != of(agent, decisions(ledger(lived)))


def test_it_can_begin_in_the_middle(lived: Life, tmp_path: Path) -> None:
    since = START + 45 * DAY - 1
    done = simulated(lived, UNDER_A, tmp_path / "r", since)
    later = [entry for entry in ledger(lived) if entry["ts"] >= since]
    for agent in AGENTS:
        assert of(agent, decisions(done.entries)) == of(agent, decisions(later)) != []
