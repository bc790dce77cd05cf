"""What `skymem status` prints. Imports no Typer: it must answer at once."""

from typing import Any

from skymem.app import open_home
from skymem.cli import render
from skymem.cli.summary import summary
from skymem.overview import status_overview


def print_status(home: str | None, *, as_json: bool) -> None:
    """Print the state of a home for a person, or as one JSON document."""
    found = status_overview(open_home(home, become_owner=True))
    if as_json:
        render.document(found)
        return
    render.line(f"home    {found['home']['path']}  ({found['home']['why']})")
    render.line(f"health  {found['health']}")
    render.line(f"daemon  {_daemon(found['daemon'])}")
    render.line(f"engine  {_engine(found['engine'])}")
    render.line()
    _print_tiers(found["agents"])
    _print_last_action(found["last_action"])
    for alarm in found["alarms"]:
        render.line(f"alarm   {render.harmless(alarm)}")
    for note in found["notes"]:
        render.line(f"note    {note}")


def _daemon(found: dict[str, Any]) -> str:
    if not found["running"]:
        return "not running (start it: skymem run)"
    age = found["heartbeat_age_s"]
    return f"{found['holder']}" + ("" if age is None else f", last heartbeat {age:.0f} s ago")


def _engine(found: dict[str, Any]) -> str:
    if not found["running"]:
        return "not running (it is started on demand)"
    parts = [str(found["holder"]), f"{found['model']}, {(found['rss_bytes'] or 0) / 1e6:.0f} MB"]
    return ", ".join([*parts, *([found["doing"]] if found["doing"] else [])])


def _print_tiers(agents: list[dict[str, Any]]) -> None:
    if not agents:
        render.line("no agent yet: append lines to memory/sky/short_term.jsonl")
        return
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
    render.table(["agent", "tier", "memories", "bytes", "oldest (UTC)"], rows)


def _print_last_action(record: dict[str, Any] | None) -> None:
    render.line()
    if record is None:
        render.line("last    nothing has run yet")
        return
    detail = record["detail"]
    told = (
        summary(detail)
        if {"remaining", "embedded"} & detail.keys()
        else detail.get("error", "no result")
    )
    name = f"{record['action']}: "
    told = render.harmless(str(told).removeprefix(name))
    render.line(f"last    {render.moment(record['ts'])}  {name}{told}")
