"""What is shown of a home, from its snapshot: plain values in, rows out."""

from dataclasses import replace
from typing import Any

import pytest

from skymem.live_view.columns import Cell, Row
from skymem.live_view.decided import Decided
from skymem.live_view.rows import (
    agent_rows,
    alarm_rows,
    clock_of,
    decision_columns,
    decision_rows,
    head_lines,
    heights,
    job_rows,
    number,
    size,
    span,
)
from skymem.live_view.snapshot import Snapshot
from skymem.live_view.telling import KEYS, help_lines, more_of_alarm, more_of_job

NOW = 1_700_000_000.0


def agent(name: str, short: int | None = 3, owed: int = 0) -> dict[str, Any]:
    empty = {"count": 0, "bytes": 0}
    tiers = {tier: dict(empty) for tier in ("long", "archive", "trash")}
    return {"name": name, "rag_pending": owed, "tiers": {"short": _tier(short), **tiers}}


def _tier(count: int | None) -> dict[str, int | None]:
    return {"count": count, "bytes": None if count is None else 1_234 * count}


def job(**more: Any) -> dict[str, Any]:
    told = {
        "name": "tidy", "job": "prune", "enabled": True, "paused": None, "running": False,
        "last_run": NOW - 300, "last_success": NOW - 299, "last_effective": None,
        "next_run": NOW + 3_700, "missed": 0, "failures": 0, "error": None, "result": "ok",
    }  # fmt: skip
    return {**told, **more}


def home(*agents: dict[str, Any], **more: Any) -> Snapshot:
    status = {
        "home": {"path": "/srv/home"},
        "agents": agents,
        "alarms": [],
        "notes": [],
        "engine": {"running": False, "problem": None},
    }
    daemon = {"running": True, "holder": "process 7 (skymem run)", "heartbeat_age_s": 2.0}
    jobs, known = more.pop("jobs", ()), {**status, **more}
    return Snapshot(NOW, daemon=daemon, status=known, counted=NOW, jobs=jobs)


def texts(rows: list[Row]) -> list[list[str]]:
    return [[cell.text for cell in row.cells] for row in rows]


def words(cells: tuple[Cell, ...]) -> str:
    return "".join(cell.text for cell in cells)


def test_an_agent_is_told_with_lines_and_bytes_of_each_tier() -> None:
    (row,) = agent_rows(home(agent("sky", 3, owed=2)))

    assert row.key == "sky"
    assert [cell.text.split() for cell in row.cells] == [
        ["sky"], ["3", "3.7", "kB"], ["0"], ["0"], ["0"], ["2"],
    ]  # fmt: skip


def test_of_several_agents_the_sum_comes_first_and_stands_for_all() -> None:
    rows = agent_rows(home(agent("hobbs", 2, owed=1), agent("sky", 3)))

    assert [row.key for row in rows] == ["", "hobbs", "sky"]
    assert texts(rows)[0][0] == "all 2"
    assert texts(rows)[0][1].split() == ["5", "6.2", "kB"]
    assert texts(rows)[0][5] == "1"


def test_what_could_not_be_counted_is_a_question_mark_in_the_sum_too() -> None:
    rows = agent_rows(home(agent("hobbs", None), agent("sky", 3)))

    assert [row[1] for row in texts(rows)] == ["?", "?", "3 3.7 kB"]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({}, "in 1 h"),
        ({"next_run": NOW - 1}, "now"),
        ({"running": True}, "running"),
        ({"paused": NOW - 5}, "paused"),
        ({"enabled": False, "paused": NOW}, "disabled"),
        ({"next_run": None}, "–"),
    ],
)
def test_a_job_says_when_it_runs_next(more: dict[str, Any], told: str) -> None:
    (row,) = job_rows(home(jobs=(job(**more),)))

    assert row.cells[1].text == told


def test_without_a_daemon_no_job_says_that_it_will_run() -> None:
    found = replace(home(jobs=(job(),)), daemon={"running": False})

    assert job_rows(found)[0].cells[1].text == "no daemon"


def test_a_job_says_how_it_went_and_what_it_did() -> None:
    detail = {"ok": True, "job": "prune", "acted": 2, "trashed": 2}
    found = replace(home(jobs=(job(),)), results={"tidy": {"detail": detail}})
    failed = job(result="failed (74)", failures=2, error="the disk is full")

    assert texts(job_rows(found))[0][2:] == ["ok, 5 min ago", "2 moved to trash"]
    assert texts(job_rows(replace(found, jobs=(failed,))))[0][2:] == [
        "failed (74), 5 min ago",
        "the disk is full",
    ]


@pytest.mark.parametrize("detail", [{"job": 1, "embedded": "x", "pending": 1}, {"embedded": 1}, 3])
def test_a_damaged_result_is_said_to_be_one(detail: Any) -> None:
    found = replace(home(jobs=(job(),)), results={"tidy": {"detail": detail}})

    assert job_rows(found)[0].cells[3].text in ("its result can't be read", "done")


def test_alarms_come_with_since_when_and_notes_after_them() -> None:
    alarm = {"id": "disk_low", "text": "it is full", "remedy": "make room", "since": NOW - 7_300}
    found = replace(home(alarms=[alarm], notes=["a note"]), problems=("gone",))

    assert texts(alarm_rows(found)) == [["gone", ""], ["it is full", "2 h"], ["a note", ""]]
    assert texts(alarm_rows(home())) == [["none", ""]]
    (key,) = [row.key for row in alarm_rows(found) if row.key.startswith("alarm")]
    assert more_of_alarm(found, key)(40) == [
        "it is full", "", "to do: make room", "its id: disk_low",
    ]  # fmt: skip


def test_decisions_name_their_agent_only_where_there_are_several() -> None:
    decided = (Decided(NOW - 1, "sky", "promote", "a" * 64, "importance 0.9 against 0.7"),)
    alone = replace(home(agent("sky")), decided=decided)
    among = replace(home(agent("hobbs"), agent("sky")), decided=decided)

    assert texts(decision_rows(alone)) == [
        ["22:13:19", "promote", "a" * 12, "importance 0.9 against 0.7"]
    ]
    assert texts(decision_rows(among))[0][1] == "sky"
    assert [len(row.cells) for row in decision_rows(among)] == [len(decision_columns(among))]


def test_where_there_are_older_decisions_it_says_where() -> None:
    decided = (Decided(NOW, "sky", "trash", "x", "expired"),)
    found = replace(home(agent("sky")), decided=decided, more_before=True)

    assert texts(decision_rows(found))[-1] == ["older ones: skymem audit log"]
    assert texts(decision_rows(home())) == [["nothing was decided yet"]]


def test_the_head_says_what_it_knows_and_how_old_it_is() -> None:
    first, second, third = map(words, head_lines(home()))

    assert first == "skymem top   22:13:20 UTC   all agents   /srv/home"
    assert second == "healthy   daemon process 7 (skymem run), heartbeat 2 s ago"
    assert third == "engine not running (started on demand)"
    gone = replace(home(), problems=("the home is not there any more",), daemon={}, counted=NOW - 9)
    assert words(head_lines(gone)[1]) == "as of 22:13:11"
    assert words(head_lines(gone)[2]) == "the home is not there any more"
    assert words(head_lines(Snapshot(NOW))[1]) == "looking …"


EVIL = "\x1b]0;owned\x07\u202e\x9b31m\r\n"


def test_nothing_that_a_terminal_obeys_gets_through() -> None:
    alarm = {"id": EVIL, "text": EVIL, "remedy": EVIL, "since": None}
    engine = {
        "running": True,
        "problem": None,
        "holder": EVIL,
        "model": EVIL,
        "rss_bytes": 1,
        "doing": EVIL,
    }
    found = replace(
        home(
            agent(EVIL), agent("sky"), alarms=[alarm], notes=[EVIL], engine=engine,
            jobs=(job(name=EVIL, error=EVIL, failures=1),),
        ),
        agent=EVIL,
        daemon={"running": True, "holder": EVIL, "heartbeat_age_s": None},
        decided=(Decided(NOW, EVIL, EVIL, EVIL, EVIL),),
        problems=(EVIL,),
    )  # fmt: skip
    rows = [*agent_rows(found), *job_rows(found), *alarm_rows(found), *decision_rows(found)]
    shown = [cell.text for row in rows for cell in row.cells]
    shown += [cell.text for line in head_lines(found) for cell in line]
    shown += more_of_job(found, EVIL)(60)
    shown += [line for row in alarm_rows(found) for line in more_of_alarm(found, row.key)(60)]

    assert sum("owned" in text for text in shown) > 12
    assert all(text.isprintable() for text in shown)


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0, "0 s"), (59.9, "59 s"), (60, "1 min"), (3_600, "1 h"), (172_800, "2 d"), (1e8, "1,157 d")],
)
def test_a_span_is_short(seconds: float, told: str) -> None:
    assert span(seconds) == told


@pytest.mark.parametrize(
    ("count", "told"),
    [(99_999, "99,999"), (100_000, "100 k"), (1_234_567, "1.2 M"), (123_456_789, "123 M")],
)
def test_a_number_is_short(count: int, told: str) -> None:
    assert number(count) == told


@pytest.mark.parametrize(
    ("count", "told"),
    [
        *((0, "0 B"), (999, "999 B"), (1_000, "1.0 kB"), (9_949, "9.9 kB"), (9_960, "10 kB")),
        *(
            (999_499, "999 kB"),
            (999_500, "1.0 MB"),
            (123_456_789, "123 MB"),
            (5 * 10**15, "5.0 PB"),
        ),
    ],
)
def test_a_size_is_short(count: int, told: str) -> None:
    assert size(count) == told
    assert len(told) <= 6


def test_a_moment_of_another_day_has_its_date() -> None:
    assert clock_of(NOW, NOW) == "22:13:20"
    assert clock_of(NOW - 86_400, NOW) == "11-13 22:13"
    assert clock_of(1e300, NOW) == "?"


@pytest.mark.parametrize("wants", [(1, 7, 1, 1), (201, 12, 30, 500), (0, 0, 0, 0), (4, 7, 3, 500)])
def test_panes_share_the_space_and_take_no_more(wants: tuple[int, ...]) -> None:
    for space in range(6, 80):
        each = heights(space, wants)

        assert sum(each) == space
        assert min(each) >= 1
        if space >= 15:  # 80x24
            assert each[3] >= 3
            assert each[1] >= min(wants[1], 7)


def test_help_tells_every_key_of_the_line_at_the_foot_on_any_width() -> None:
    keys = [cell.text for cell in KEYS if cell.tone == "strong"]
    for width in (40, 56, 76):
        lines = help_lines(width)
        assert all(len(line) <= width for line in lines)
        told = {line.split(",")[0].split(" ")[0] for line in lines}
        assert {*keys} - {"?"} <= told
