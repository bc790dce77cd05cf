"""`explain` tells of any memory what it is, how it came here, and what comes next (row X1)."""

from typing import Any

import pytest

from skymem import app
from tests.cli.conftest import Shell
from tests.conftest import line

DAY = 86_400.0


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A clock that a test moves on."""
    clock = [app.now()]
    monkeypatch.setattr(app, "now", lambda: clock[0])
    return clock


def remember(shell: Shell, text: str, *options: str) -> str:
    return shell("remember", text, *options).out.strip()


def explained(shell: Shell, name: str) -> dict[str, Any]:
    found: dict[str, Any] = shell("explain", name, "--json").json
    return found


def whats(found: dict[str, Any]) -> list[str]:
    return [event["what"] for event in found["history"]]


def test_what_will_be_promoted_is_told_with_its_value_against_the_threshold(shell: Shell) -> None:
    name = remember(shell, "reports at 7am", "--importance", "0.9", "--kind", "preference")
    found = explained(shell, name)

    assert (found["state"], found["standing"], found["history"]) == ("short", "active", [])
    gate = found["gates"][0]
    assert (gate["gate"], gate["value"], gate["threshold"], gate["open"]) == (
        "importance", 0.9, 0.7, True,
    )  # fmt: skip
    assert [step["what"] for step in found["next"]] == ["promoted to long-term"]
    shell("promote")
    found = explained(shell, name[:8])
    assert (found["id"], found["state"], found["next"]) == (name, "long", [])
    assert whats(found) == ["was there", "promote"]


def test_each_fate_reads_as_it_was(shell: Shell, at: list[float]) -> None:
    promoted = remember(shell, "kept", "--importance", "0.9")
    brief = remember(shell, "brief", "--importance", "0.9", "--ttl-days", "1")
    low = remember(shell, "low", "--importance", "0.2")
    shell("promote")
    corrected = shell("correct", promoted, "kept better", "--json").json["id"]
    shell("forget", low)
    at[0] += 2 * DAY
    assert explained(shell, brief)["standing"] == "expired"
    assert explained(shell, brief)["next"][0]["gate"] == "expired"
    shell("prune", "--accept-clock")
    shell("restore", low)

    assert whats(explained(shell, brief)) == ["was there", "promote", "trash"]
    assert explained(shell, brief)["history"][-1]["gate"] == "expired"
    assert explained(shell, promoted)["superseded_by"] == corrected
    assert explained(shell, promoted)["chain"] == [promoted, corrected]
    assert whats(explained(shell, corrected)) == ["made"]
    assert whats(explained(shell, low)) == ["was there", "trash", "restore"]
    at[0] += 31 * DAY
    shell("compact", "--accept-clock")
    gone = explained(shell, brief)
    assert (gone["state"], gone["next"]) == ("gone", [])
    assert whats(gone)[-1] == "compact"
    text = shell("explain", brief).out
    assert "gone for good: trash was compacted: trash_age" in text
    assert explained(shell, brief[:9])["id"] == brief
    assert shell("explain", "").code == 2


def test_what_is_pinned_says_so_and_nothing_comes_next(shell: Shell) -> None:
    name = remember(shell, "mine", "--ttl-days", "1")
    shell("pin", name)
    found = explained(shell, name)

    assert (found["kept_by"], found["gates"], found["next"]) == ("pinned", [], [])
    assert "skymem unpin" in shell("explain", name).out


def test_an_id_nobody_ever_had_is_unknown(shell: Shell) -> None:
    remember(shell, "one")
    assert shell("explain", "nosuch").code == 24


def test_text_on_its_way_to_a_terminal_is_harmless(shell: Shell) -> None:
    name = remember(shell, "red \x1b[31m alert")
    assert "\x1b" not in shell("explain", name).out


def test_the_ledger_says_who_acted(shell: Shell) -> None:
    remember(shell, "kept", "--importance", "0.9")
    shell("promote")
    shell("trigger", "memory_rotate_check", "--scheduled", "memory_rotate_check")
    remember(shell, "more", "--importance", "0.9")
    shell("trigger", "memory_rotate_check", "--scheduled", "memory_rotate_check")
    app.open_home(str(shell.home)).run_job("prune")
    app.open_home(str(shell.home)).workplace().ledger().append([{"op": "test"}], 1.0)
    entries = [
        entry for _, entry in app.open_home(str(shell.home)).workplace().ledger().read_from(0)
    ]

    assert {entry["by"].partition(":")[0] for entry in entries} == {"cli", "daemon", "python"}
    assert "by cli:" in shell("audit", "log").out


def test_what_only_a_superseded_summary_rests_on_is_not_said_to_stay(shell: Shell) -> None:
    long_term = shell.agent_directory / "long_term.jsonl"
    more: Any = {"evidence_ids": ["source"], "kind": "summary"}
    long_term.write_bytes(line("said", 0.2, id="source") + line("sum", 0.2, id="old", **more))
    assert explained(shell, "source")["kept_by"] == "evidence"

    with long_term.open("ab") as stream:
        stream.write(line("newer", 0.2, id="new", supersedes=["old"]))
    assert explained(shell, "source")["kept_by"] is None
