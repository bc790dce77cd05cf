"""Archives are searched by text, label, time and agent, as the records they are (row P10)."""

from typing import Any

import pytest

from skymem.errors import UsageError
from skymem.recall.listing import pattern_of, search_archives
from skymem.recall.request import filters_of
from tests.cli.conftest import Shell, boundary_left_clean, shell
from tests.conftest import START, Desk, line

__all__ = ["boundary_left_clean", "shell"]

DAY = 86_400.0


@pytest.fixture(autouse=True)
def archives(desk: Desk) -> None:
    """Two archives of one agent, one of another."""
    for agent, name, lines in (
        ("sky", "20231101T000000Z", [
            line("Standup is at 9", 0.2, ts=START - 9 * DAY, id="nine", tags=["team"]),
            line("The standup moved", 0.2, ts=START - 2 * DAY, id="moved"),
        ]),
        ("sky", "20231110T000000Z", [
            line("Standup is at 10", 0.2, ts=START, id="ten", tags=["team"], supersedes=["nine"]),
            line("a standup for a day", 0.2, ts=START - DAY, ttl_days=1, id="brief"),
        ]),
        ("hobbs", "20231110T000000Z", [line("STANDUP", 0.2, ts=START - 5 * DAY, id="other")]),
    ):  # fmt: skip
        directory = desk.paths.agent(agent).directory
        directory.mkdir(parents=True, exist_ok=True)
        (directory / f"short_term_archive_{name}.jsonl").write_bytes(b"".join(lines))
    desk.clock = START + DAY


def found(desk: Desk, pattern: str, *agents: str, limit: int = 9, **filters: Any) -> list[str]:
    work = desk.work()
    told = search_archives(
        work, agents or ("sky", "hobbs"), pattern_of(pattern), filters_of(**filters), limit
    )
    return [one["id"] for one in told]


def test_they_are_searched_newest_first_in_either_case_over_all_agents(desk: Desk) -> None:
    assert found(desk, "standup") == ["ten", "brief", "moved", "other", "nine"]
    assert found(desk, "standup", "hobbs") == ["other"]
    assert found(desk, r"at \d+$") == ["ten", "nine"]
    assert found(desk, "standup", limit=2) == ["ten", "brief"]
    assert found(desk, "standup", tags=["team"]) == ["ten", "nine"]
    times = {"since_us": round((START - 6 * DAY) * 1e6), "until_us": round(START * 1e6)}
    assert found(desk, "standup", **times) == ["brief", "moved", "other"]


def test_a_record_says_when_it_holds_no_more(desk: Desk) -> None:
    told = search_archives(desk.work(), ["sky"], pattern_of("standup"), filters_of(), 9)
    assert {one["id"]: one["standing"] for one in told} == {
        "ten": "active", "brief": "expired", "moved": "active", "nine": "superseded",
    }  # fmt: skip
    assert {one["file"] for one in told} == {
        "short_term_archive_20231101T000000Z.jsonl", "short_term_archive_20231110T000000Z.jsonl",
    }  # fmt: skip


def test_a_pattern_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="no regular expression"):
        pattern_of("(")


def test_the_command_shows_it(shell: Shell) -> None:
    told = shell("archive", "search", r"at \d+$")

    assert (told.code, told.err) == (0, "")
    first, second = told.out.splitlines()
    assert first.endswith("ten           Standup is at 10")
    assert second.endswith("nine          (superseded) Standup is at 9")
    assert shell("archive", "search", "nowhere", "--json").json == {"results": []}
