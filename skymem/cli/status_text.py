"""What `skymem status` prints. Imports no Typer: it must answer at once."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from skymem.alarms import detail_of
from skymem.app import open_home
from skymem.cli import render
from skymem.cli.binding import agent_in_reach
from skymem.jobs.summary import summary
from skymem.overview import status_overview


def print_status(home: str | None, agent: str | None = None, *, as_json: bool) -> None:
    """Print the state of a home, or of one agent in it, for a person or as one JSON document."""
    opened = open_home(home, become_owner=True, lenient=True)
    opened.program, opened.door = "cli", "cli:status"
    found = status_overview(opened, agent_in_reach(opened, "status", agent))
    if as_json:
        render.document(found)
        return
    for text in status_lines(found):
        render.line(text)


def status_lines(found: dict[str, Any]) -> list[str]:
    """The state of a home for a person, a line each."""
    return [
        f"home    {found['home']['path']}  ({found['home']['why']})",
        f"health  {found['health']}",
        f"daemon  {_daemon(found['daemon'])}",
        f"engine  {_engine(found['engine'])}",
        *([f"api     {found['api']['holder']}"] if found["api"]["running"] else []),
        "",
        *_tiers(found["agents"]),
        "",
        _last_action(found["last_action"]),
        *_told("secrets", [*_redacted(found["agents"])]),
        *_told("alarm", map(alarm_text, found["alarms"])),
        *_refused(found["violations"]),
        *_told("note", found["notes"]),
    ]


def alarm_text(one: Mapping[str, Any]) -> str:
    """An alarm in a line, with its id in brackets."""
    return f"{one['text']} [{one['id']}]"


def _refused(found: dict[str, Any]) -> list[str]:
    if not found["count"] or found["open"]:  # what is open is an alarm, in more words
        return []
    return [f"note    {found['count']} violation(s), all seen (skymem agents violations)"]


def _redacted(agents: list[dict[str, Any]]) -> Iterator[str]:
    for one in agents:
        if one["redacted"]:
            each = ", ".join(f"{count} {kind}" for kind, count in one["redacted"].items())
            yield f"{one['name']}: taken out: {each}"


def _told(what: str, each: Iterable[str]) -> list[str]:
    lines = (f"{what:<8}{render.harmless(one)}" for one in each)
    return [part for text in lines for part in render.wrapped(text, 8)]


def _daemon(found: dict[str, Any]) -> str:
    if not found["running"]:
        return "not running (start it: skymem run)"
    age = found["heartbeat_age_s"]
    return f"{found['holder']}" + ("" if age is None else f", last heartbeat {age:.0f} s ago")


def _engine(found: dict[str, Any]) -> str:
    in_use = found["in_use"]
    why = f"; its model is {in_use['model']}: {in_use['why']}"
    model = why if in_use["why"] != "as configured" else ""
    if not found["running"]:
        return f"not running (it is started on demand){model}"
    parts = [str(found["holder"]), f"{found['model']}, {(found['rss_bytes'] or 0) / 1e6:.0f} MB"]
    return ", ".join([*parts, *([found["doing"]] if found["doing"] else [])]) + model


def _tiers(agents: list[dict[str, Any]]) -> list[str]:
    if not agents:
        return ["no agent yet: append lines to memory/sky/short_term.jsonl"]
    rows = [
        [
            one["name"],
            tier,
            render.amount(found["count"]),
            render.amount(found["bytes"]),
            render.moment(found["oldest"]),
        ]
        for one in agents
        for tier, found in one["tiers"].items()
    ]
    return render.table_lines(["agent", "tier", "memories", "bytes", "oldest (UTC)"], rows)


def _last_action(record: dict[str, Any] | None) -> str:
    return f"last    {action_text(record)}" if record else "last    nothing has run yet"


def action_text(record: dict[str, Any]) -> str:
    """What an action did, with when, in one line."""
    detail = {"job": record["action"], **detail_of(record)}
    if detail.get("ok", True):
        told = summary(detail)
    else:
        told = f"failed: {detail.get('error', 'no reason given')}"
    name = f"{record['action']}: "
    told = render.harmless(told.removeprefix(name))
    return f"{render.moment(record['ts'])}  {name}{told}"
