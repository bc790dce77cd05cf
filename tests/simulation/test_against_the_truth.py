"""The simulator against the truth: homes that really lived under the rules (row X8)."""

from pathlib import Path

import pytest

from skymem import app
from skymem.config.rules_file import read_rules
from skymem.simulation.past import past_of
from skymem.simulation.replay import Replay
from tests.simulation.lived import DAY, DAYS, START, Decision, Life, decisions, ledger, ninety_days

UNDER_A = """
promote_threshold: 0.7
short_term_max_lines: 25
trash: {keep: 365d}
prune: {older_than: 40d, importance_below: 0.3}
compress: {older_than: 20d}
"""
UNDER_B = """
promote_threshold: 0.5
short_term_max_lines: 12
trash: {keep: 14d}
prune: {older_than: 20d, importance_below: 0.6}
compress: {older_than: 6d}
promote: {decay: {per_day: 0.02, floor: 0.3}, always_tags: [critical], recalled: {times: 1, queries: 1}}
"""


def simulated(life: Life, rules: str, root: Path) -> tuple[list[Decision], object]:
    home = app.open_home(str(life.root))
    past = past_of(home, START - DAY, START + (DAYS + 1) * DAY)
    root.mkdir()
    (root / "rules.yaml").write_text(rules)
    done = Replay(past, root, read_rules(root / "rules.yaml"), lambda: "", lambda _: None).run()
    return decisions(done.entries), done


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Life:
    life = Life(tmp_path_factory.mktemp("a") / "home", UNDER_A)
    ninety_days(life)
    return life


def test_the_same_rules_decide_the_very_same(lived: Life, tmp_path: Path) -> None:
    found, done = simulated(lived, UNDER_A, tmp_path / "r")
    really = decisions(ledger(lived))
    assert len(really) > 200
    assert found == really


def test_other_rules_decide_what_a_home_under_them_decided(lived: Life, tmp_path: Path) -> None:
    other = Life(tmp_path / "b", UNDER_B)
    ninety_days(other, deeds=lived.deeds)
    found, done = simulated(lived, UNDER_B, tmp_path / "r")
    assert found == decisions(ledger(other))
