"""Rules, typos and clocks that would remove too much remove nothing, and say what lifts that."""

from pathlib import Path

import pytest

from skymem import app
from tests.cli.conftest import Shell
from tests.conftest import line

DAY = 86_400.0
OLD = 1_000_000_100.0  # 2001
LINES = 200


@pytest.fixture
def full(shell: Shell) -> Path:
    """The long-term file of an agent all of whose entries are old and worth little."""
    path = shell.agent_directory / "long_term.jsonl"
    path.write_bytes(b"".join(line(f"m{n}", 0.2, ts=OLD + n) for n in range(LINES)))
    return path


def rules(shell: Shell, text: str) -> None:
    (shell.home / "retention_rules.yaml").write_text(text)


def test_empty_rules_remove_nothing(shell: Shell, full: Path) -> None:
    before = full.read_bytes()
    rules(shell, "{}\n")
    told = shell("prune")

    assert (told.code, full.read_bytes()) == (0, before)
    assert "0 moved to trash" in told.out
    assert "(short-term is empty, and nothing elsewhere is due)" in told.out


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("prune: {max_age: 1d}\n", "max_age"),
        ("prune: {older_than: 1}\n", "has no unit"),
        ("prune: {older_than: 1d}\n", "needs importance_below"),
        ("prune:\n", "prune has no value"),
        ("prune: {older_than: 0d, importance_below: 0.5}\n", "is not in 1s to"),
    ],
)
def test_a_typo_removes_nothing_and_is_named(
    shell: Shell, full: Path, text: str, remedy: str
) -> None:
    before = full.read_bytes()
    rules(shell, text)
    told = shell("prune")

    assert (told.code, full.read_bytes()) == (78, before)
    assert remedy in told.err


def test_an_agent_all_of_whose_entries_are_old_keeps_them_until_a_person_says_so(
    shell: Shell, full: Path
) -> None:
    before = full.read_bytes()
    rules(shell, "prune: {older_than: 365d, importance_below: 0.5}\n")
    told = shell("prune")

    assert (told.code, full.read_bytes()) == (21, before)
    assert f"{LINES} of {LINES} memories of long-term (100%)" in told.err
    assert "--max-loss 100%" in told.err
    assert shell("prune", "--max-loss", "50%").code == 21
    assert shell("prune", "--max-loss", "100").code == 2  # which share is meant?
    assert shell("check").code == 23  # it is an alarm
    assert shell("prune", "--max-loss", "100%").code == 0
    assert full.read_bytes() == b""
    assert shell("undo").code == 0
    assert full.read_bytes() == before


def test_a_dry_run_over_the_budget_shows_what_would_go_and_what_stops_it(
    shell: Shell, full: Path
) -> None:
    rules(shell, "prune: {older_than: 365d, importance_below: 0.5}\n")
    before = shell.snapshot()
    told = shell("prune", "--dry-run")

    assert told.code == 21
    shown = told.out.splitlines()
    assert len(shown) == 22
    assert all(one.startswith("sky: trash ") for one in shown[:20])
    assert shown[20] == f"sky: … and {LINES - 20} more (all of them: --dry-run --json)"
    assert shown[21].startswith(f"prune: {LINES} would be moved to trash")
    assert shown[21].endswith("(the loss budget stops it)")
    assert "--max-loss 100%" in told.err
    assert "--dry-run" not in told.err, "that is what was done"

    told = shell("prune", "--dry-run", "--json")
    assert (told.code, told.json["ok"], len(told.json["decisions"])) == (21, False, LINES)
    assert told.json["why"] == "the loss budget stops it"
    assert shell("prune", "--dry-run", "--max-loss", "100%").code == 0
    assert shell.snapshot() == before


def test_of_a_run_that_is_stopped_no_plan_is_saved(
    shell: Shell, full: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules(shell, "prune: {older_than: 365d, importance_below: 0.5}\n")
    plan = shell.home / "plan.json"
    told = shell("prune", "--plan", str(plan))
    assert (told.code, "plan saved" in told.out, plan.exists()) == (21, False, False)
    assert told.err.endswith(f"skymem: no plan was saved to {plan}\n")
    assert "plan" not in shell("prune", "--plan", str(plan), "--json").json

    shell("prune", "--max-loss", "100%", "--dry-run")
    shell("merge")  # sees the clock
    at = app.now() + 3650 * DAY
    monkeypatch.setattr(app, "now", lambda: at)
    told = shell("prune", "--plan", str(plan))
    assert (told.code, "plan saved" in told.out, plan.exists()) == (25, False, False)
    assert shell("apply", str(plan)).code == 2
    assert full.exists()


def test_a_clock_ten_years_ahead_removes_nothing_until_it_is_said_to_be_right(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell("remember", "for a day", "--importance", "0.9", "--ttl-days", "1")
    shell("promote")
    path = shell.agent_directory / "long_term.jsonl"
    before = path.read_bytes()
    at = app.now() + 3650 * DAY
    monkeypatch.setattr(app, "now", lambda: at)
    for verb in ("prune", "compress", "merge", "compact"):
        told = shell(verb)
        assert told.code == 25, verb
        assert "--accept-clock" in told.err

    assert path.read_bytes() == before
    assert shell("promote").code == 0
    assert shell("prune", "--accept-clock").code == 0
    assert path.read_bytes() == b""


def test_a_plan_whose_loss_a_person_allowed_is_applied_with_the_same_words(
    shell: Shell, full: Path
) -> None:
    rules(shell, "prune: {older_than: 1d, importance_below: 0.5}\n")
    plan = str(shell.home / "plan.json")
    assert shell("prune", "--max-loss", "100%", "--plan", plan).code == 0
    told = shell("apply", plan)
    assert (told.code, full.read_bytes().count(b"\n")) == (21, LINES)
    assert "--max-loss 100%" in told.err

    told = shell("apply", plan, "--max-loss", "100%")
    assert (told.code, full.read_bytes()) == (0, b"")
