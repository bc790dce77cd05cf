"""The verb that tells what a home did: in a few lines, as a page, or as data."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import typer

from skymem.cli import render
from skymem.cli.options import Globals, Json, globals_of, stop_flag

if TYPE_CHECKING:
    from skymem.app import Home
    from skymem.reporting.figures import Entry, Report

RULES_SHOWN: Final = 12
ENTRIES_SHOWN: Final = 3


def report(
    context: typer.Context,
    since: Annotated[
        str, typer.Option(metavar="TIME", help="From when on: a time, or an age: 30d, 12h.")
    ] = "30d",
    html: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write it as one page; replaces no file but a report."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Let --html replace whatever file is there.")
    ] = False,
    no_texts: Annotated[
        bool, typer.Option("--no-texts", help="Leave out what memories say, and their tags.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Tell what came in, what each rule did, how tiers grew, what was recalled and what was missed.

    The home is read, and stays as it is. The page has no script and fetches nothing. It quotes
    some memories: keep it as you keep the home, or leave their texts out.

    Example: skymem report --since 30d --html report.html
    """
    from skymem.errors import UsageError

    if force and html is None:
        raise UsageError("--force is about the file of --html")
    home, found = _gathered(globals_of(context), since, _Page(html, force), texts=not no_texts)
    written = 0 if html is None else _write(home, html, found, force=force)
    if as_json:
        render.document(found.as_json())
    elif html is None:
        _summary(found)
    else:
        from skymem.reporting.words import size

        render.line(f"{size(written)} in {render.harmless(str(html))}")


class _Page(NamedTuple):
    """Where a page is to go."""

    file: Path | None
    force: bool


def _gathered(spoken: Globals, since: str, target: _Page, *, texts: bool) -> "tuple[Home, Report]":
    """Everything that is to be told; a page's place is looked at before."""
    from skymem.app import now
    from skymem.cli.progress import progress_of
    from skymem.recall.request import since as read_time
    from skymem.reporting.gather import Wanted, report_of
    from skymem.reporting.writing import check_target

    moment = now()
    begins = read_time(since, moment, "since") / 1_000_000
    home = spoken.open_to_use()
    if target.file is not None:
        check_target(target.file, force=target.force)
    stop_flag.listen()
    with progress_of(home):
        return home, report_of(home, Wanted(begins, moment, spoken.agent, texts))


def _write(home: "Home", path: Path, found: "Report", *, force: bool) -> int:
    """Write the page, and say how long it is."""
    from skymem.reporting.page import page
    from skymem.reporting.writing import write_page

    data = page(found)
    write_page(path, data, home.files, force=force)
    return len(data)


def _summary(found: "Report") -> None:
    from skymem.reporting.figures import TIERS
    from skymem.reporting.words import moment, size

    who = ", ".join(one.name for one in found.agents) or "no agent"
    render.paragraph(f"{found.days[0]} to {moment(found.until)} UTC: {who}")
    rows = []
    for tier in TIERS:
        now = found.count(tier)
        grown = now - sum(one.begun[tier] for one in found.agents)
        rows.append([tier, f"{now:,}", f"{grown:+,}", size(found.bytes(tier))])
    render.table(["tier", "now", "grown", "takes"], rows)
    render.line()
    for text in _facts(found):
        render.paragraph(text)
    _rules(found)
    _ends("most worth keeping", found.most)
    _ends("least worth keeping", found.least)
    for text in (*found.alarms, *found.notes):
        render.paragraph(text)


def _facts(found: "Report") -> Iterator[str]:
    from skymem.reporting.words import milliseconds, share

    sums = {name: sum(found.flow(name)) for name in ("came", "made", "restored", "gone")}
    yield (
        f"came in {sums['came']:,}, made by jobs {sums['made']:,}, brought back "
        f"{sums['restored']:,}, gone for good {sums['gone']:,}"
    )
    answers, latency = sum(found.latency.answers), found.latency
    took = (
        f"median {milliseconds(latency.whole['p50'])}, 95 of 100 within "
        f"{milliseconds(latency.whole['p95'])}"
        if latency.whole
        else "how long they took is not recorded"
    )
    yield f"recalled: {answers:,} answers; {took}" if answers else "recalled: nothing on record"
    regret = found.regret
    yield (
        f"asked for later: {len(regret.missed):,} of {regret.taken:,} that jobs archived or moved "
        f"to trash ({share(regret.share)})"
    )
    yield f"index: {found.index.owed:,} wait; {found.index.model or 'no model'}"


def _rules(found: "Report") -> None:
    from skymem.reporting.words import WHAT, against, rule_words

    rows = [
        [f"{one.job}: {rule_words(one)}", WHAT[one.what], f"{one.count:,}", against(one)]
        for one in found.rules[:RULES_SHOWN]
    ]
    if rows:
        render.line()
        render.table(["rule", "did", "memories", "values"], rows, cut_last=True)


def _ends(heading: str, entries: "tuple[Entry, ...]") -> None:
    if entries:
        render.line()
        render.line(heading)
    for one in entries[:ENTRIES_SHOWN]:
        name = render.harmless(one.id[: render.ID_LETTERS])
        text = render.first_words(one.text)
        render.cut_line(f"  {one.importance:.2f}  {one.asked:>3}×  {name:<12}  {text}")
