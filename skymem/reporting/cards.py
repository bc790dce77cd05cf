"""The numbers that matter most, at the head of the page."""

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from skymem.reporting.figures import FLOWS, TIERS, Report
from skymem.reporting.markup import element
from skymem.reporting.words import milliseconds, share, size


def cards(report: Report) -> Element:
    """All of them."""
    return element("div", [*_moved(report), *_asked(report), *_state(report)], class_="cards")


def card(name: str, number: str, *more: str, verdict: str | None = None) -> Element:
    """One number, and what is to be said of it."""
    return element(
        "div",
        element("span", name),
        element("b", number, class_=verdict),
        [element("small", one) for one in more if one],
        class_="card",
    )


def _moved(report: Report) -> Iterator[Element]:
    sums = {name: sum(report.flow(name)) for name in FLOWS}
    kept, before = report.kept()
    change = f"{kept - before:+,} in this time"
    yield card("Kept", f"{kept:,}", "in short-term and long-term", change)
    made = sums["made"]
    yield card("Came in", f"{sums['came']:,}", f"and {made:,} made by jobs" if made else "")
    yield card("Promoted", f"{sums['promoted']:,}", "to long-term")
    there = f"{report.count('archive'):,} there now"
    yield card("Archived", f"{sums['archived']:,}", there)
    back, gone = sums["restored"], sums["gone"]
    trashed = f"{sums['trashed']:,}"
    yield card("To trash", trashed, f"{back:,} brought back", f"{gone:,} gone for good")


def _asked(report: Report) -> Iterator[Element]:
    latency, regret = report.latency, report.regret
    answers = sum(latency.answers)
    took = "time not recorded" if answers else ""
    if latency.whole:
        took = f"95 of 100 within {milliseconds(latency.whole['p95'])}"
    yield card("Recalled", f"{answers:,}", "answers", took)
    of = f"{share(regret.share)} of what was taken away"
    yield card("Asked for later", f"{len(regret.missed):,}", of)


def _state(report: Report) -> Iterator[Element]:
    owed, long = report.index.owed, report.count("long")
    indexed = share((long - min(long, owed)) / long) if long else "–"
    yield card("Indexed", indexed, f"{owed:,} wait" if owed else "nothing waits")
    index = f"and {size(report.index.bytes)} the index" if report.index.bytes else ""
    yield card("Takes", size(sum(map(report.bytes, TIERS))), "all memories", index)
    alarms = len(report.alarms)
    yield card("Alarms", f"{alarms:,}", "now", verdict="bad" if alarms else "good")
