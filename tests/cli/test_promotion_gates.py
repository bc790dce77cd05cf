"""Promotion by age, tags and recall at the command line: `--dry-run` and `explain` tell why."""

import time

from tests.cli.conftest import RULES, Shell
from tests.conftest import line

DAY = 86_400.0
OWN = """promote:
  decay: {per_day: 0.01, floor: 0.5}
  always_tags: [critical]
  never_tags: [draft]
  recalled: {times: 2, queries: 2}
"""


def test_each_gate_is_told_as_its_value_against_its_threshold(shell: Shell) -> None:
    (shell.home / "retention_rules.yaml").write_text(RULES + OWN)
    shell("remember", "what was there before", "--importance", "0.9")
    shell("promote")  # a home keeps what is asked from its first run on
    now = time.time()
    with shell.short_term.open("ab") as stream:
        stream.write(line("fell far enough", 0.62, now - 12 * DAY, id="fell"))
        stream.write(line("will fall", 0.55, now - 12 * DAY, id="will"))
        stream.write(line("told to stay", 0.9, now, id="stay", tags=["Draft", "critical"]))
        stream.write(line("told to go", 0.1, now, id="told", tags=["CRITICAL"]))
        stream.write(line("The router stands in the hall", 0.1, now, id="router"))
    for query in ("the router", "router hall"):
        assert shell("recall", query, "--mode", "deterministic").code == 0
    told = shell("promote", "--dry-run").out
    assert "importance 0.62 against 0.58 (given; 0.7 less 12.0 days of decay)" in told
    assert "promote told  always_tag" in told
    assert "recalled 2 against 2 (times; by 2 questions against 2)" in told
    will = shell("explain", "will").out
    assert "importance 0.55 against 0.58 (given; 0.7 less 12.0 days of decay): closed" in will
    assert time.strftime("%Y-%m-%d %H:", time.gmtime(now + 3 * DAY)) in will
    stay = " ".join(shell("explain", "stay").out.split())
    assert "closed: it has a tag that is never promoted" in stay
    detail = shell("promote", "--json").json
    assert (detail["promoted"], detail["skipped"]) == (3, {"importance": 1, "never_tag": 1})
    assert shell("audit", "verify").code == 0
    for path in shell.home.glob("state/recall_events/sky/*"):
        assert "router" not in path.read_text().replace('"router"', "")


def test_a_rule_that_is_always_and_never_is_refused(shell: Shell) -> None:
    rules = RULES + "promote: {always_tags: [a], never_tags: [A]}\n"
    (shell.home / "retention_rules.yaml").write_text(rules)
    told = shell("config", "check")
    assert told.code == 78
    assert 'retention_rules.yaml:3:29: "a" is in always_tags and in never_tags' in (
        told.out + told.err
    )
