"""What the page says of growth, rules, distributions and answers: plots, and tables behind them."""

from collections.abc import Iterator, Sequence
from typing import Final
from xml.etree.ElementTree import Element

from skymem.model.harmless import harmless
from skymem.reporting import svg
from skymem.reporting.figures import TIERS, Distribution, Report, RuleFigures
from skymem.reporting.markup import Child, element
from skymem.reporting.svg import Series
from skymem.reporting.tables import NUMBER, plot, section, table
from skymem.reporting.words import (
    WHAT,
    against,
    milliseconds,
    moment,
    rule_words,
    share,
    size,
)

TIER_LOOKS: Final = {"long": 0, "short": 1, "archive": 2, "trash": 3}
"""From the ground up."""

AGENTS_DRAWN: Final = 6
RULES_DRAWN: Final = 6


def growth(report: Report) -> Element:
    """How the tiers grew, of all agents and of each."""
    series = [Series(tier, report.growth(tier), look) for tier, look in TIER_LOOKS.items()]
    drawn = svg.areas("Memories in each tier", report.days, series)
    caption = f"Memories in each tier at the end of each {report.step}"
    each: list[Element] = []
    if 1 < len(report.agents) <= AGENTS_DRAWN:
        side_by_side = "trio" if len(report.agents) in (3, 5, 6) else "pair"
        small = element("div", [*_small(report)], class_=side_by_side)
        each = [element("h3", "Agent by agent"), small]
    return section(
        "growth",
        "How the tiers grew",
        plot(caption, drawn, series, report.days, report.step),
        each,
        _agents(report),
    )


def _small(report: Report) -> Iterator[Element]:
    for agent in report.agents:
        series = [Series(tier, agent.growth[tier], look) for tier, look in TIER_LOOKS.items()]
        title = f"Memories of {agent.name} in each tier"
        drawn = svg.areas(title, report.days, series, svg.HALF)
        yield plot(agent.name, drawn, series, report.days, report.step)


def _agents(report: Report) -> Element:
    headings = ["agent", *(f"{NUMBER}{tier}" for tier in TIERS)]
    headings += [
        f"{NUMBER}{word}" for word in ("bytes", "came", "promoted", "archived", "to trash")
    ]
    rows = [
        [
            agent.name,
            *(f"{agent.counts[tier]:,}" for tier in TIERS),
            size(sum(agent.bytes.values())),
            *(
                f"{sum(agent.flows[flow]):,}"
                for flow in ("came", "promoted", "archived", "trashed")
            ),
        ]
        for agent in report.agents
    ]
    return table(headings, rows)


def moves(report: Report) -> Element:
    """What was promoted and what left, by day and by rule."""
    promoted = [one for one in report.rules if one.what == "promoted"]
    left = [one for one in report.rules if one.what in ("archived", "trashed")]
    return section(
        "moves",
        "What was promoted, and what left",
        _by_rule(report, promoted, "Promoted to long-term"),
        _by_rule(report, left, "Archived, or moved to trash"),
    )


def _by_rule(report: Report, rules: Sequence[RuleFigures], what: str) -> Element:
    if not rules:
        return element("p", f"{what}: nothing.", class_="note")
    drawn_apart = RULES_DRAWN if len(rules) > RULES_DRAWN + 1 else len(rules)
    series = [
        Series(_rule_name(rule), rule.by_day, at) for at, rule in enumerate(rules[:drawn_apart])
    ]
    if rest := rules[drawn_apart:]:
        counts = [sum(rule.by_day[at] for rule in rest) for at in range(len(report.days))]
        series.append(Series(f"{len(rest)} other rules", counts, RULES_DRAWN))
    drawn = svg.stacked(what, report.days, series)
    return plot(f"{what}, by rule, each {report.step}", drawn, series, report.days, report.step)


def _rule_name(rule: RuleFigures) -> str:
    return f"{rule.job}: {rule_words(rule)}"


def rules(report: Report) -> Element:
    """What each rule did."""
    headings = [
        "rule", "what it did", f"{NUMBER}memories", f"{NUMBER}asked for later", "values", "when",
    ]  # fmt: skip
    rows: list[list[Child]] = [
        [
            _rule(rule),
            WHAT.get(rule.what, rule.what),
            f"{rule.count:,}",
            f"{rule.asked_again:,}" if rule.what in ("archived", "trashed") else "",
            against(rule),
            svg.spark(rule.by_day, 0, f"{rule.count:,} from {report.days[0]} on"),
        ]
        for rule in report.rules
    ]
    text = (
        "A rule is a gate of a job. “Asked for later” counts what it archived or moved to trash "
        "and somebody wanted again."
    )
    found = table(headings, rows) if rows else _nothing("No rule decided anything.")
    return section("rules", "What each rule did", element("p", text, class_="note"), found)


def _rule(rule: RuleFigures) -> list[Element | str]:
    return [element("code", f"{rule.job} / {rule.gate}"), f" {rule_words(rule)}"]


def distributions(report: Report) -> Element:
    """How old and how important what is kept is, then and now."""
    then = moment(report.since)[:10]
    lost = max(0, report.kept()[1] - sum(report.importances.then))
    text = (
        f"Of short-term and long-term: as it was when {then} began, and as it is now. Of what was "
        f"there then, {lost:,} are gone for good since (compacted, erased) and in neither."
    )
    return section(
        "kept",
        "What is kept: importance and age, before and after",
        element("p", text, class_="note"),
        element(
            "div",
            _distribution("Importance", report.importances),
            _distribution("Age, days", report.ages),
            class_="pair",
        ),
        element("details", element("summary", "Importance now, by tier"),
                _by_tier("importance", report.importances)),
        element("details", element("summary", "Age now, by tier"), _by_tier("age", report.ages)),
    )  # fmt: skip


def _distribution(name: str, found: Distribution) -> Element:
    series = [Series("before", found.then, 2), Series("now", found.now, 0)]
    title = f"{name}, before and now"
    drawn = svg.grouped(title, found.ranges, series, svg.HALF)
    return plot(name, drawn, series, found.ranges, name.lower())


def _by_tier(name: str, found: Distribution) -> Element:
    rows = [
        [label, *(f"{found.tiers[tier][at]:,}" for tier in TIERS)]
        for at, label in enumerate(found.ranges)
    ]
    return table([name, *(f"{NUMBER}{tier}" for tier in TIERS)], rows)


def recall(report: Report) -> Element:
    """How many answers there were, and how long they took."""
    latency = report.latency
    total = sum(latency.answers)
    if not total:
        return section("recall", "Recall", _nothing("No answer is recorded in this time."))
    text = f"{total:,} answers that had something. "
    text += (
        f"How long they took is recorded of {latency.measured:,}, on this machine, without "
        "starting the program."
        if latency.measured
        else "How long they took is not recorded."
    )
    answered = [Series("answers", latency.answers, 0)]
    drawn = svg.stacked("Answers", report.days, answered)
    return section(
        "recall",
        "Recall",
        element("p", text, class_="note"),
        _latency(report) if latency.measured else None,
        plot(f"Answers each {report.step}", drawn, answered, report.days, report.step),
    )


def _latency(report: Report) -> Element:
    latency = report.latency
    series = [
        Series("median, ms", latency.median_ms, 0),
        Series("95 of 100 at most, ms", latency.high_ms, 3),
    ]
    drawn = svg.lines("How long answers took", report.days, series)
    whole = latency.whole
    words = ", ".join(
        f"{name} {milliseconds(whole[name])}" for name in ("p50", "p95", "p99", "max")
    )
    caption = f"How long answers took ({words})"
    return plot(caption, drawn, series, report.days, report.step)


def regret(report: Report) -> Element:
    """What was taken away and asked for later."""
    found = report.regret
    text = (
        f"Of {found.taken:,} memories that jobs archived or moved to trash, {len(found.missed):,} "
        f"({share(found.share)}) were asked for later: recalled from an archive, or brought back "
        "from trash."
        if found.taken
        else "No job took anything away."
    )
    rows: list[list[Child]] = [
        [
            element("code", harmless(one.id[:12])),
            one.agent,
            one.what,
            element("code", f"{one.job} / {one.gate}"),
            moment(one.since),
            f"{one.how} {moment(one.at)}",
            f"{one.times:,}",
        ]
        for one in found.missed[:20]
    ]
    headings = ["memory", "agent", "was", "by", "since", "asked for, first", f"{NUMBER}times"]
    more = len(found.missed) - len(rows)
    return section(
        "regret",
        "Regret: what was asked for later",
        element("p", text, class_="note"),
        table(headings, rows) if rows else None,
        element("p", f"And {more:,} more (--json has all).", class_="note") if more else None,
    )


def _nothing(text: str) -> Element:
    return element("p", text, class_="note")
