"""A home as a person lives with it: a month of the shipped schedule, its clock an argument."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from skymem.config.schedule_file import read_schedule
from skymem.daemon.fires import next_fire
from skymem.jobs.compact import compact
from skymem.model.memory import Memory
from skymem.model.records import record_of, sections
from skymem.model.schedule import Every
from skymem.recall.listing import recent
from skymem.recall.request import Filters, ask
from skymem.recall.search import recall
from tests.conftest import START, Desk, line

SHIPPED = Path(__file__).resolve().parents[2] / "schedule.yaml"
DAY = 86_400.0
HOUR = 3_600.0
APOLLO = ["project:apollo"]


def live(desk: Desk, days: float, writing: dict[float, list[bytes]]) -> Counter[str]:
    """Let the shipped schedule run on the home for so many days; how often each job ran.

    Of the ten-minute job only the run after something was written is made: the others find nothing.
    """
    times = sorted([*((at, "") for at in writing), *_due(desk.clock, desk.clock + days * DAY)])
    ran: Counter[str] = Counter()
    for at, due in times:
        desk.clock = max(desk.clock, at)
        job = due or "memory_rotate_check"
        if not due:
            desk.echo(*writing[at])
            desk.clock += 600
        ran[job] += 1
        if job == "compact":
            detail, _ = compact(desk.work(), [desk.agent])
        else:
            detail = desk.run(job)
        assert detail["ok"], detail
    return ran


def _due(start: float, end: float) -> Iterator[tuple[float, str]]:
    schedule = read_schedule(SHIPPED)
    for entry in schedule.entries:
        if not isinstance(entry.trigger, Every):
            at = next_fire(entry.trigger, schedule.timezone, start)
            while at <= end:
                yield at, entry.job
                at = next_fire(entry.trigger, schedule.timezone, at)


def test_the_kept_note_of_the_worked_example_is_still_readable_after_a_month(desk: Desk) -> None:
    kept = b'{"ts": 1699999990, "type": "short", "content": "trivial note", "importance": 0.3}\n'
    desk.echo(kept, line("important insight", 0.85), line("critical decision", 0.92))
    ran = live(desk, 31, {START + 60: []})

    assert ran["compress"] == ran["prune"] == 31
    assert ran["merge"] == ran["compact"] >= 4
    assert desk.short_term.read_bytes() == kept
    assert sorted(desk.contents("long")) == ["critical decision", "important insight"]
    assert [one["content"] for one in recent(desk.work(), "sky", Filters(), 9)].count(
        "trivial note"
    ) == 1


def other(content: str, kind: str, at: float, score: int = 4, **more: Any) -> bytes:
    """A line in the second spelling."""
    stamp = f"2023-11-{15 + int((at - START) // DAY):02}T09:00:00Z"
    fields = {"timestamp": stamp, "content": content, "score": score}
    return json.dumps({**fields, "metadata": {"type": kind, **more}}).encode() + b"\n"


def a_week() -> dict[float, list[bytes]]:
    """What an agent wrote, by when."""
    day = [START + HOUR + n * DAY for n in range(8)]

    def at(n: int) -> dict[str, float]:
        return {"ts": day[n]}

    return {
        day[0]: [
            line("User prefers short answers.", 0.6, kind="preference", **at(0)),
            line("User lives in Oslo.", 0.5, kind="fact", **at(0)),
            line("Apollo ships on 2024-03-01.", kind="project", tags=APOLLO, **at(0)),
            line("We use PostgreSQL 16.", 0.95, kind="decision", **at(0)),
        ],
        day[1]: [
            other("The staging key has expired.", "fact", day[1], tags=[*APOLLO, "blocker"]),
            other("GET /health took 12 ms", "action", day[1], 1),
            line("Backup finished.", 0.2, kind="log", stability="volatile", **at(1)),
            line("Backup finished again.", 0.2, kind="log", stability="volatile", **at(1)),
        ],
        day[2]: [
            line("Door code for today is 4711.", 0.4, kind="fact", ttl_days=1, **at(2)),
            line("Where is the report?", 0.4, kind="request", **at(2)),
            b"this is no memory\n",
        ],
        day[3]: [
            line("The API listens on port 8080.", 0.9, kind="fact", id="port", **at(3)),
            other("Ask Bob for a new key.", "request", day[3], tags=[*APOLLO, "next"]),
        ],
        day[4]: [
            line("The API listens on port 9090.", 0.9, kind="fact", supersedes=["port"], **at(4)),
            line("User lives in Oslo.", 0.5, kind="fact", **at(4)),
        ],
    }  # fmt: skip


@pytest.fixture
def lived(desk: Desk) -> Desk:
    """A home after that week and six weeks more."""
    live(desk, 45, a_week())
    return desk


def record(desk: Desk, wanted: str) -> dict[str, list[str]]:
    (newest,) = [one["memory"] for one in _active(desk) if one["memory"].record_type == wanted]
    return {
        name: [one.text for one in found] for name, found in sections(record_of(newest)) if found
    }


def _active(desk: Desk) -> list[dict[str, Any]]:
    listed = {one["id"] for one in recent(desk.work(), "sky", Filters(), 10_000)}
    return [
        {"id": name, "memory": memory}
        for name, memory in _everything(desk).items()
        if name in listed
    ]


def _everything(desk: Desk) -> dict[str, Memory]:
    with desk.work().catalog() as catalog:
        found = desk.shelf().find("", catalog)
    whole: dict[str, Memory] = {kept.id: kept.memory for kept in found}
    whole |= {held.id: held.memory for held in desk.shelf().trash.all()}
    return whole


def test_a_week_becomes_a_profile_a_project_an_archive_and_some_trash(lived: Desk) -> None:
    assert record(lived, "profile") == {
        "preferences": ["User prefers short answers."],
        "stable_facts": ["User lives in Oslo."],
    }
    assert record(lived, "project") == {
        "goals": ["Apollo ships on 2024-03-01."],
        "blockers": ["The staging key has expired."],
        "next_steps": ["Ask Bob for a new key."],
    }
    assert lived.contents("short") == ["GET /health took 12 ms"]
    plain = [memory for memory in lived.memories("long") if not memory.record_type]
    assert sorted(memory.content for memory in plain) == [
        "The API listens on port 9090.",
        "We use PostgreSQL 16.",
    ]
    trash = {held.memory.content: held.reason.gate for held in lived.shelf().trash.all()}
    assert trash["The API listens on port 8080."] == "superseded"
    assert trash.get("Door code for today is 4711.", "expired") == "expired"
    assert lived.quarantined() == [b"this is no memory\n"]


def test_everything_that_was_written_is_in_one_place_and_all_evidence_resolves(
    lived: Desk,
) -> None:
    written = [raw for lines in a_week().values() for raw in lines if raw.startswith(b"{")]
    texts = Counter(json.loads(raw)["content"] for raw in written)
    everything = _everything(lived)
    compacted = {
        one[1]
        for entry in lived.ledger()
        for one in entry.get("decided", [])
        if one[0] == "compact"
    }
    found = Counter(memory.content for memory in everything.values() if not memory.record_type)
    assert sum(texts.values()) == sum(found.values()) + len(compacted - everything.keys())
    for memory in everything.values():
        assert set(memory.evidence_ids) <= everything.keys()


def test_answers_are_what_holds_now(lived: Desk) -> None:
    def answer(query: str) -> list[str]:
        found = recall(lived.work(), "sky", ask(query, 3, "deterministic"), _never)
        return [one.content for one in found]

    assert answer("API listens on port")[0] == "The API listens on port 9090."
    assert "The API listens on port 8080." not in answer("API listens on port 8080")
    assert "Door code for today is 4711." not in answer("door code for today")
    assert "PostgreSQL" in answer("which PostgreSQL do we use")[0]


def _never() -> Any:
    raise AssertionError


def test_another_month_changes_nothing_but_what_time_does(lived: Desk) -> None:
    def tiers(of: Callable[[str], list[bytes]]) -> dict[str, list[bytes]]:
        return {tier: of(tier) for tier in ("short", "long", "archive")}

    before = tiers(lived.raw)
    live(lived, 31, {})

    assert tiers(lived.raw) == before
