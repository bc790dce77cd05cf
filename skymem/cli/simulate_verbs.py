"""The verb that lives the past once more under other rules."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from skymem.cli import render
from skymem.cli.options import Json, globals_of, stop_flag
from skymem.cli.progress import progress_of

if TYPE_CHECKING:
    from skymem.simulation.comparing import Comparison
    from skymem.simulation.regret import Regret
    from skymem.simulation.sweep import Sweep

REGRETS_SHOWN: Final = 20

_WHAT: Final = {
    "removed": "in trash or gone",
    "archived": "in an archive only",
    "not_promoted": "not promoted",
}


def simulate(
    context: typer.Context,
    rules: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Other rules; else the home's own.")
    ] = None,
    since: Annotated[
        str, typer.Option(metavar="TIME", help="From when on: a time, or an age: 90d, 12h.")
    ] = "90d",
    sweep: Annotated[
        str | None,
        typer.Option(metavar="KEY=FROM:TO:STEP", help="Try one key of the rules at each value."),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the sweep as .png, .svg or .pdf (matplotlib)."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Say what other rules would have done with what really came in; the home stays as it is.

    The jobs that ran are run again, in a private directory under $TMPDIR, under the clock of then.

    Example: skymem simulate --rules other_rules.yaml --since 90d
    """
    from skymem.app import now
    from skymem.recall.request import since as read_time
    from skymem.simulation.plot import check_plot, draw
    from skymem.simulation.simulate import Asked
    from skymem.simulation.simulate import simulate as simulated
    from skymem.simulation.sweep import sweep_of

    stop_flag.listen()
    spoken = globals_of(context)
    moment = now()
    begins = read_time(since, moment, "since") / 1_000_000
    wanted = None if sweep is None else sweep_of(sweep)
    _check(rules, wanted, plot)
    if plot is not None:
        check_plot(plot)
    home = spoken.open()
    asked = Asked(rules or home.paths.rules, begins, moment, spoken.agent, wanted)
    with progress_of(home):
        points = simulated(home, asked)
    if plot is not None and wanted is not None:
        draw(plot, wanted.key, points)
    _tell(wanted, points, as_json=as_json)


def _check(rules: Path | None, sweep: "Sweep | None", plot: Path | None) -> None:
    from skymem.errors import UsageError

    if rules is None and sweep is None:
        raise UsageError("which rules? give --rules FILE, or --sweep KEY=FROM:TO:STEP")
    if plot is not None and sweep is None:
        raise UsageError("--plot draws a --sweep; without one there is nothing to draw")


def _tell(
    sweep: "Sweep | None", points: "Sequence[tuple[float, Comparison]]", *, as_json: bool
) -> None:
    if sweep is None:
        ((_, one),) = points
        if as_json:
            render.document(one.as_json())
        else:
            _side_by_side(one)
        return
    if as_json:
        each = [{"value": value, **one.as_json()} for value, one in points]
        render.document({"sweep": sweep.key, "points": each})
        return
    _table(sweep.key, points)


def _side_by_side(one: "Comparison") -> None:
    _about(one)
    render.table(["", "old", "new", "change"], _rows(one))
    _regrets(one)
    _remarks(one)


def _about(one: "Comparison") -> None:
    span = f"{render.moment(one.since)[:16]} to {render.moment(one.until)[:16]} UTC"
    who = ", ".join(one.agents)
    render.paragraph(f"{span}, agents {who}: {one.runs:,} runs, {one.recalls:,} recalled")


def _rows(one: "Comparison") -> Iterator[list[str]]:
    for word, old in one.old.did.items():
        yield _row(word, old, one.new.did[word])
    for tier, size in one.old.tiers.items():
        yield _row(f"lines in {tier}", size.lines, one.new.tiers[tier].lines)
    yield _row("lines", one.old.total.lines, one.new.total.lines)
    yield _row("bytes", one.old.total.bytes, one.new.total.bytes)
    yield _row("vectors of long-term", one.old.vectors, one.new.vectors)


def _row(word: str, old: int, new: int) -> list[str]:
    return [word, f"{old:,}", f"{new:,}", f"{new - old:+,}" if new != old else ""]


def _regrets(one: "Comparison") -> None:
    """What would be missed, once for each memory, with its first recall."""
    firsts: dict[tuple[str, str], Regret] = {}
    for each in one.regrets:
        firsts.setdefault((each.agent, each.id), each)
    if not firsts:
        render.line("recalled later and missed: nothing")
        return
    render.line(f"recalled later and missed: {len(firsts):,}")
    for each in [*firsts.values()][:REGRETS_SHOWN]:
        moved = each.since is not None and each.what != "not_promoted"
        gone = f" since {render.moment(each.since)[:16]}" if moved else ""
        name = render.harmless(each.id[: render.ID_LETTERS])
        when = render.moment(each.at)[:16]
        render.paragraph(f"{name}  recalled {when}, would be {_WHAT[each.what]}{gone}", 2)
    if (more := len(firsts) - REGRETS_SHOWN) > 0:
        render.line(f"  and {more:,} more (--json has all)")


def _remarks(one: "Comparison") -> None:
    for note in one.notes:
        render.paragraph(note)
    if one.gone:
        render.paragraph(
            f"{one.gone:,} memories of that time are gone (erased, compacted, edited by hand) and "
            "are not in this, on neither side"
        )
    if one.recorded_since > one.since:
        day = render.moment(one.recorded_since)[:16]
        render.paragraph(
            f"before {day} it is not recorded when jobs found nothing to do: there the schedule "
            "was gone by"
        )
    for what, times in one.failed.items():
        render.paragraph(f"{times} time(s): {what}")
    for reason in one.degraded:
        render.paragraph(f"degraded: {reason}")


def _table(key: str, points: "Sequence[tuple[float, Comparison]]") -> None:
    from skymem.simulation.plot import bars

    one = points[0][1]
    _about(one)
    render.table([key, *_HEADINGS], [_point("as it was", one.old), *map(_value, points)])
    render.line()
    render.line(f"{key}: promoted, and recalled later and missed")
    for text in bars(points):
        render.line(text)
    _remarks(one)


_HEADINGS: Final = ("promoted", "archived", "trashed", "lines", "bytes", "vectors", "missed")


def _value(point: "tuple[float, Comparison]") -> list[str]:
    value, one = point
    return _point(f"{value:g}", one.new, f"{one.regretted():,}")


def _point(word: str, side: Any, missed: str = "–") -> list[str]:
    did = [f"{side.did[name]:,}" for name in ("promoted", "archived", "trashed")]
    total = side.total
    return [word, *did, f"{total.lines:,}", f"{total.bytes:,}", f"{side.vectors:,}", missed]
