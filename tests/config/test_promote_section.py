"""The section `promote:`: of the home, of one agent, shown again, and each fault with its place."""

from pathlib import Path
from typing import Any

import pytest

from skymem.config.effective import effective_rules
from skymem.config.rules_file import examine_rules, read_rules
from skymem.model.promotion import USUAL_PROMOTION, DecayRules, PromotionRules, RecalledRules

WHOLE = """
agents:
  hobbs:
    promote: {never_tags: [Draft], decay: {floor: 0.6}, recalled: {times: 0}, always_tags: []}
promote:
  decay: {per_day: 0.01, floor: 0.4}
  recalled: {times: 5, queries: 3, within: 10d}
  always_tags: [Critical, user_goal, critical]
  never_kinds: [LOG]
  calibrate: strict
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "retention_rules.yaml"
    path.write_text(text)
    return path


def test_an_agent_has_its_own_and_for_the_rest_what_the_home_has(tmp_path: Path) -> None:
    rules = read_rules(written(tmp_path, WHOLE))
    assert rules.default.promotion == PromotionRules(
        DecayRules(0.01, 0.4),
        RecalledRules(5, 3, 10 * 86_400.0),
        ("critical", "user_goal"),
        (),
        (),
        ("log",),
        "strict",
    )
    assert rules.for_agent("hobbs").promotion == PromotionRules(
        DecayRules(0.01, 0.6),
        RecalledRules(0, 3, 10 * 86_400.0),
        (),
        ("draft",),
        (),
        ("log",),
        "strict",
    )


def test_without_it_the_score_decides_and_what_recall_teaches(tmp_path: Path) -> None:
    rules = read_rules(written(tmp_path, "{}"))
    assert rules.default.promotion is USUAL_PROMOTION
    assert rules.default.promotion.decay.per_day == 0
    assert rules.default.promotion.recalled == RecalledRules(3, 2, 30 * 86_400.0)


def test_each_value_is_shown_with_the_line_it_stands_on(tmp_path: Path) -> None:
    found: Any = effective_rules(written(tmp_path, WHOLE))
    home, own = found["promote"], found["agents"]["hobbs"]["promote"]
    assert home["decay"]["per_day"] == {"value": 0.01, "source": "retention_rules.yaml:6"}
    assert home["always_tags"]["value"] == "critical, user_goal"
    assert home["never_tags"] == {"value": "none", "source": "default"}
    assert own["never_tags"] == {"value": "draft", "source": "retention_rules.yaml:4"}
    assert own["decay"]["floor"] == {"value": 0.6, "source": "retention_rules.yaml:4"}
    assert own["decay"]["per_day"] == home["decay"]["per_day"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("promote: 3", 'promote must be a mapping, not "3"'),
        ("promote: {decays: 1}", "decays"),
        ("promote: {decay: {per_day: 2}}", "per_day: 2 is not in 0 to 1"),
        ("promote: {decay: 0.1}", "decay must be a mapping"),
        ("promote: {always_tags: critical}", "always_tags must be a list"),
        ("promote: {always_tags: [[a]]}", "always_tags must be a list of words"),
        ("promote: {always_tags: [A], never_tags: [a]}", '"a" is in always_tags and in never_tags'),
        ("promote: {recalled: {queries: 0}}", "queries: 0 is not in 1 to 10000"),
        ("promote: {recalled: {within: 3}}", "within"),
        ("promote: {calibrate: maybe}", 'calibrate: "maybe" is not one of none, history, strict'),
        ("agents: {sky: {promote: {floor: 1}}}", "floor"),
        (
            "agents: {sky: {promote: {never_kinds: [log]}}}\npromote: {always_kinds: [log]}",
            '"log" is in always_kinds and in never_kinds',
        ),
    ],
)
def test_each_fault_is_told(tmp_path: Path, text: str, complaint: str) -> None:
    found = examine_rules(written(tmp_path, text)).complaints.sorted()
    assert len(found) == 1
    assert complaint in str(found[0])
