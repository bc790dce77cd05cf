"""The page: one file, which needs no network and has no script, and says so to the browser.

Its policy forbids everything but the one style it carries, named by its hash: were there a way for
a memory's text to become markup, nothing of it would run or be fetched (hazard H4).
"""

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files
from typing import Final
from xml.etree.ElementTree import Element

from skymem.model.harmless import harmless
from skymem.reporting import sections, svg
from skymem.reporting.cards import cards
from skymem.reporting.figures import Entry, Report
from skymem.reporting.markup import document, element
from skymem.reporting.svg import said
from skymem.reporting.tables import NUMBER, section, table
from skymem.reporting.words import age, moment, size

GENERATOR: Final = "skymem report"
"""By this a page says that it is one of ours, and may be written over."""

STYLE: Final = "style.css"


def page(report: Report) -> bytes:
    """Spell a report as a page."""
    style = files("skymem.reporting").joinpath(STYLE).read_text("utf-8")
    body = element("body", svg.patterns(), element("main", *_parts(report)))
    return document(element("html", _head(report, style), body, lang="en"))


def _head(report: Report, style: str) -> Element:
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    sheet = Element("style")  # the one text that is not escaped: it is ours, and no memory's
    sheet.text = style
    return element(
        "head",
        element("meta", charset="utf-8"),
        _http("Content-Security-Policy", policy),
        _meta("generator", GENERATOR),
        _meta("referrer", "no-referrer"),
        _meta("viewport", "width=device-width, initial-scale=1"),
        _meta("color-scheme", "light dark"),
        element("title", f"skymem: {report.days[0]} to {moment(report.until)[:10]}"),
        sheet,
    )


def _meta(name: str, content: str) -> Element:
    return element("meta", name=name, content=content)


def _http(name: str, content: str) -> Element:
    return element("meta", http_equiv=name, content=content)


def _parts(report: Report) -> list[Element]:
    return [
        _title(report),
        cards(report),
        sections.growth(report),
        sections.moves(report),
        sections.rules(report),
        sections.distributions(report),
        _worth(report),
        sections.regret(report),
        sections.recall(report),
        _index(report),
        _jobs(report),
        _remarks(report),
        element(
            "footer",
            f"Made by skymem {report.version} report, {moment(report.made)} UTC. Times are UTC. "
            "This page is one file: no script, nothing from a network.",
        ),
    ]


def _title(report: Report) -> Element:
    who = ", ".join(agent.name for agent in report.agents[:8])
    more = len(report.agents) - 8
    who += f" and {more} more" if more > 0 else ""
    about = f"{report.home} · {who or 'no agent'}"
    return element(
        "header",
        element("h1", f"Memory, {report.days[0]} to {moment(report.until)[:10]}"),
        element("p", about, class_="about"),
    )


def _worth(report: Report) -> Element:
    text = (
        "Of short-term and long-term. Most: pinned, then asked for most often, then most "
        "important, then newest; least is the other end of that order."
    )
    return section(
        "worth",
        "Most and least worth keeping",
        element("p", text, class_="note"),
        element("h3", "Most"),
        _entries(report, report.most),
        element("h3", "Least"),
        _entries(report, report.least),
    )


def _entries(report: Report, entries: Sequence[Entry]) -> Element:
    if not entries:
        return element("p", "None.", class_="note")
    headings = ["memory", "", f"{NUMBER}importance", f"{NUMBER}asked for", f"{NUMBER}age"]
    return table(headings, [_entry(report, one) for one in entries])


def _entry(report: Report, one: Entry) -> list[Element | str]:
    states = [one.agent, one.tier, one.kind or "", *(f"#{tag}" for tag in one.tags[:4])]
    states += ["pinned"] if one.pinned else []
    states += [one.standing] if one.standing != "active" else []
    about = element("small", harmless(" · ".join(state for state in states if state)))
    text = element("td", harmless(one.text) or "(text left out)", about, class_="text")
    name = element("code", harmless(one.id[:12]))
    numbers = (f"{one.importance:.2f}", f"{one.asked:,}", age(one.ts, report.until))
    return [name, text, *numbers]


def _index(report: Report) -> Element:
    index = report.index
    rows: list[list[str]] = [
        [
            agent.name,
            "–" if agent.vectors is None else f"{agent.vectors:,}",
            f"{agent.counts['long']:,}",
            f"{agent.unindexed:,}",
        ]
        for agent in report.agents
    ]
    told = f", as the engine said {moment(index.told)}" if index.told else ""
    text = f"Model {index.model or 'none'}; {size(index.bytes)} on disk{told}. "
    text += "What something else took the place of has no vector, and waits for none."
    return section(
        "index",
        "Health of the index",
        element("p", text, class_="note"),
        _list(index.problems),
        table(["agent", f"{NUMBER}indexed", f"{NUMBER}in long-term", f"{NUMBER}wait"], rows),
    )


def _jobs(report: Report) -> Element:
    headings = ["job", *(f"{NUMBER}{word}" for word in (
        "runs", "nothing to do", "failed", "degraded", "median", "longest"))]  # fmt: skip
    rows = [
        [
            one.job, f"{one.runs:,}", f"{one.idle:,}", f"{one.failed:,}", f"{one.degraded:,}",
            _seconds(one.median_s), _seconds(one.longest_s),
        ]
        for one in report.jobs
    ]  # fmt: skip
    text = "As far back as the status keeps results."
    found = table(headings, rows) if rows else element("p", "None is recorded.", class_="note")
    return section("jobs", "Runs of jobs", element("p", text, class_="note"), found)


def _seconds(amount: float | None) -> str:
    return "–" if amount is None else f"{said(amount)} s"


def _remarks(report: Report) -> Element:
    problems = [f"{one.name}: {text}" for one in report.agents for text in one.problems]
    return section(
        "now",
        "What is wrong now",
        _list([*report.alarms, *problems]) or element("p", "Nothing.", class_="note"),
        element("h3", "Notes") if report.notes else None,
        _list(report.notes),
    )


def _list(texts: Sequence[str]) -> Element | None:
    if not texts:
        return None
    return element("ul", [element("li", one) for one in texts], class_="plain")
