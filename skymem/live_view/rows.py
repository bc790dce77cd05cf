"""What is shown of a home: its snapshot as rows of four panes and three lines above them.

Pure: a snapshot in, rows out. Every text is made harmless here, whatever file it came from.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from skymem.alarms import detail_of
from skymem.jobs.summary import summary
from skymem.live_view.columns import Cell, Column, Row
from skymem.live_view.decided import Decided
from skymem.live_view.snapshot import Snapshot
from skymem.model.harmless import harmless
from skymem.model.memory import SECONDS_MAX

ID_LETTERS: Final = 12
TIERS: Final = ("short", "long", "archive", "trash")
DAY_SECONDS: Final = 86_400

AGENT_COLUMNS: Final = (
    Column("agents", gives=1, least=6),
    *(Column(tier, right=True) for tier in ("short", "long", "archive", "trash")),
    Column("to index", right=True),
)
JOB_COLUMNS: Final = (
    Column("jobs", gives=2, least=12),
    Column("next run"),
    Column("last run", gives=1, least=8),
    Column("what it did last", gives=3, least=16),
)
ALARM_COLUMNS: Final = (Column("alarms", gives=1, fills=True), Column("since", right=True))
DECISION_COLUMNS: Final = (
    Column("decisions"),
    Column("agent", gives=2, least=6),
    Column("what"),
    Column("memory", gives=1, least=8),
    Column("why", gives=3, least=4),
)

WHAT_TONES: Final[Mapping[str, str]] = {
    "promote": "good",
    "made": "good",
    "restore": "good",
    "trash": "warn",
    "compact": "warn",
    "erased": "bad",
    "quarantine": "bad",
    "refused": "bad",
}


def agent_rows(found: Snapshot) -> list[Row]:
    """Each agent's tiers, lines and bytes; of several their sum as well."""
    agents = found.status.get("agents")
    if agents is None:
        return [_only("nothing is known yet")]
    if not agents:
        return [_only("no agent yet: append lines to memory/sky/short_term.jsonl")]
    rows = [_agent(one) for one in agents]
    if len(agents) == 1:
        return rows
    tiers = {tier: _sum_of(agents, tier) for tier in TIERS}
    owed = sum(one["rag_pending"] for one in agents)
    whole = _agent({"name": f"all {len(agents):,}", "tiers": tiers, "rag_pending": owed})
    return [Row("", tuple(Cell(one.text, one.tone or "strong") for one in whole.cells)), *rows]


def _sum_of(agents: Sequence[Mapping[str, Any]], tier: str) -> dict[str, int | None]:
    each = [one["tiers"][tier] for one in agents]
    return {
        key: None if any(one[key] is None for one in each) else sum(one[key] for one in each)
        for key in ("count", "bytes")
    }


def _agent(one: Mapping[str, Any]) -> Row:
    owed = one["rag_pending"]
    return Row(
        str(one["name"]),
        (
            Cell(harmless(str(one["name"]))),
            *(_tier(one["tiers"][tier]) for tier in TIERS),
            Cell(number(owed), "warn" if owed else "dim"),
        ),
    )


def _tier(tier: Mapping[str, Any]) -> Cell:
    if tier["count"] is None:
        return Cell("?", "bad")
    if not tier["count"]:
        return Cell(f"0 {'':6}", "dim")
    return Cell(f"{number(tier['count'])} {size(tier['bytes'] or 0):>6}")


def job_rows(found: Snapshot) -> list[Row]:
    """Each entry of the schedule: when it runs next, how it went last, and what it did."""
    rows = [
        Row(
            one["name"],
            (
                Cell(harmless(one["name"]), "" if one["enabled"] else "dim"),
                _next(one, found),
                _last(one, found.at),
                _did(found.results.get(one["name"]), one),
            ),
        )
        for one in found.jobs
    ]
    return rows or [_only("no schedule that could be read")]


def _next(one: Mapping[str, Any], found: Snapshot) -> Cell:
    if one["running"]:
        return Cell("running", "good")
    if not one["enabled"]:
        return Cell("disabled", "dim")
    if one["paused"] is not None:
        return Cell("paused", "warn")
    if not found.daemon.get("running"):
        return Cell("no daemon", "dim")
    if one["next_run"] is None:
        return Cell("–", "dim")
    left = one["next_run"] - found.at
    return Cell("now" if left <= 0 else f"in {span(left)}")


def _last(one: Mapping[str, Any], at: float) -> Cell:
    if one["last_run"] is None:
        return Cell("never ran", "dim")
    ago = f"{span(max(0.0, at - one['last_run']))} ago"
    if one["running"]:
        return Cell(f"began {ago}")
    if one["result"].startswith("failed"):
        return Cell(f"{one['result']}, {ago}", "bad")
    return Cell(f"{one['result']}, {ago}")


def _did(record: Mapping[str, Any] | None, one: Mapping[str, Any]) -> Cell:
    if one["error"] and one["failures"]:
        return Cell(harmless(str(one["error"])), "bad")
    if record is None:
        return Cell("")
    detail = {"job": one["job"], **detail_of(record)}
    if not detail.get("ok", True):
        return Cell(harmless(str(detail.get("error", "no reason given"))), "bad")
    try:
        told = summary(detail).partition(": ")[2]
    except (KeyError, ValueError, TypeError, AttributeError):
        return Cell("its result can't be read", "bad")
    return Cell(harmless(told), "" if detail.get("acted") else "dim")


def alarm_rows(found: Snapshot) -> list[Row]:
    """What can't be read and what is wrong, and then what is well and worth knowing."""
    rows = [
        Row(f"problem {text}", (Cell(harmless(text), "bad"), Cell(""))) for text in found.problems
    ]
    for one in found.status.get("alarms", ()):
        begun = one["since"]  # from whatever file
        since = span(max(0.0, found.at - begun)) if isinstance(begun, int | float) else ""
        cells = (Cell(harmless(one["text"]), "bad"), Cell(since, "bad"))
        rows.append(Row(f"alarm {one['text']}", cells))
    rows += (
        Row(f"note {text}", (Cell(harmless(text), "warn"), Cell("")))
        for text in found.status.get("notes", ())
    )
    return rows or [Row("none", (Cell("none", "good"), Cell("")))]


def decision_columns(found: Snapshot) -> tuple[Column, ...]:
    """Of one agent, or of the only one, its name need not be on each line."""
    return tuple(DECISION_COLUMNS[at] for at in _told_of_decisions(found))


def decision_rows(found: Snapshot) -> list[Row]:
    """What was decided, newest first: ids and reasons."""
    shown = _told_of_decisions(found)
    rows = []
    for one in found.decided:
        cells = _decision(one, found.at)
        rows.append(Row(f"{one.seq} {one.at}", tuple(cells[at] for at in shown)))
    if not rows:
        rows.append(_only("nothing was decided yet"))
    elif found.more_before:
        rows.append(_only("older ones: skymem audit log"))
    return rows


def _told_of_decisions(found: Snapshot) -> tuple[int, ...]:
    alone = found.agent is not None or len(found.agents) <= 1
    return (0, 2, 3, 4) if alone else (0, 1, 2, 3, 4)


def _decision(one: Decided, at: float) -> tuple[Cell, ...]:
    return (
        Cell(clock_of(one.ts, at), "dim"),
        Cell(harmless(one.agent)),
        Cell(harmless(one.what), WHAT_TONES.get(one.what, "")),
        Cell(harmless(one.id[:ID_LETTERS]), "strong"),
        Cell(harmless(one.why)),
    )


def head_lines(found: Snapshot) -> list[tuple[Cell, ...]]:
    """The home, its health, its daemon, and its engine or what can't be read, in three lines."""
    whom = f"agent {harmless(found.agent)}" if found.agent else "all agents"
    path = harmless(str(found.status["home"]["path"])) if found.status else ""
    return [
        (
            Cell("skymem top   ", "dim"),
            Cell(f"{clock_of(found.at, found.at)} UTC   "),
            Cell(whom, "strong"),
            Cell(f"   {path}"),
        ),
        (*_health(found), *_daemon(found.daemon)),
        _third(found),
    ]


def _third(found: Snapshot) -> tuple[Cell, ...]:
    """The engine; or why what is shown is old, where it is."""
    if found.problems:
        return (Cell(harmless(found.problems[0]), "bad"),)
    return tuple(_engine(found.status["engine"])) if found.status else ()


def _health(found: Snapshot) -> Iterator[Cell]:
    if found.problems:
        as_of = f"as of {clock_of(found.counted, found.at)}" if found.status else "not known"
        yield Cell(as_of, "bad")
    elif not found.status:
        yield Cell("looking …", "dim")
    elif count := len(found.status["alarms"]):
        yield Cell(f"degraded, {count} alarm{'' if count == 1 else 's'}", "bad")
    else:
        yield Cell("healthy", "good")


def _daemon(daemon: Mapping[str, Any]) -> Iterator[Cell]:
    if not daemon:
        return
    yield Cell("   daemon ", "dim")
    if not daemon["running"]:
        yield Cell("not running (skymem run)", "warn")
        return
    yield Cell(harmless(str(daemon["holder"])))
    if (age := daemon["heartbeat_age_s"]) is not None:
        yield Cell(f", heartbeat {span(age)} ago")


def _engine(engine: Mapping[str, Any]) -> Iterator[Cell]:
    yield Cell("engine ", "dim")
    if engine["problem"]:
        yield Cell(harmless(str(engine["problem"])), "bad")
    elif not engine["running"]:
        yield Cell("not running (started on demand)", "dim")
    else:
        rss = engine["rss_bytes"]
        held = f", {size(rss)}" if isinstance(rss, int) else ""
        doing = f", {engine['doing']}" if engine["doing"] else ""
        yield Cell(harmless(f"{engine['holder']}, {engine['model']}{held}{doing}"))


def _only(text: str) -> Row:
    """A row that says something of a pane instead of showing one of what it is for."""
    return Row("", (Cell(text, "dim"),))


def span(seconds: float) -> str:
    """A length of time, short: `12 s`, `5 min`, `3 h`, `4 d`."""
    for unit, length, until in (("s", 1, 60), ("min", 60, 3_600), ("h", 3_600, 2 * DAY_SECONDS)):
        if seconds < until:
            return f"{seconds // length:.0f} {unit}"
    return f"{seconds // DAY_SECONDS:,.0f} d"


def number(count: int) -> str:
    """A number of memories in at most six letters: `99,999`, `123 k`, `1.2 M`."""
    if count < 100_000:
        return f"{count:,}"
    return size(count).removesuffix("B")


def size(count: int) -> str:
    """A number of bytes, short, in at most six letters: `512 B`, `3.1 kB`, `12 MB`."""
    if count < 1_000:
        return f"{count} B"
    units = iter(("kB", "MB", "GB", "TB", "PB"))
    shown, unit = count / 1_000, next(units)
    while shown >= 999.5 and unit != "PB":
        shown, unit = shown / 1_000, next(units)
    return f"{shown:.1f} {unit}" if shown < 9.95 else f"{shown:.0f} {unit}"


def clock_of(ts: float, at: float) -> str:
    """A moment in UTC: its time of day, or of another day its date and minute."""
    if not 0 <= ts < SECONDS_MAX:
        return "?"
    today = ts // DAY_SECONDS == at // DAY_SECONDS
    return datetime.fromtimestamp(ts, UTC).strftime("%H:%M:%S" if today else "%m-%d %H:%M")


def heights(space: int, wants: Sequence[int]) -> list[int]:
    """How many rows each of the panes gets, headings aside: agents, jobs, alarms, decisions.

    Decisions get what the others leave, and never less than three where there is room for that.
    """
    agents, jobs, alarms, decisions = wants
    got = [1, 2, 1, 2]
    left = space - sum(got)
    steps = (
        (3, min(decisions, 3)), (1, min(jobs, 9)), (2, min(alarms, 3)), (0, min(agents, 5)),
        (3, min(decisions, 10)), (1, jobs), (2, min(alarms, 8)), (0, min(agents, 25)),
    )  # fmt: skip
    for at, wanted in steps:
        given = max(0, min(left, wanted - got[at]))
        got[at] += given
        left -= given
    got[3] += max(0, left)
    return got
