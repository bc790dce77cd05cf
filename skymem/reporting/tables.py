"""Tables, plots and legends: the parts that sections are made of."""

from collections.abc import Iterable, Sequence
from xml.etree.ElementTree import Element

from skymem.reporting import svg
from skymem.reporting.markup import Child, element

NUMBER = "#"
"""How the heading of a column of numbers begins."""


def table(headings: Sequence[str], rows: Iterable[Sequence[Child]]) -> Element:
    """A table whose first column heads its rows."""
    numeric = [heading.startswith(NUMBER) for heading in headings]
    head = [
        element("th", heading.removeprefix(NUMBER), scope="col", class_="n" if right else None)
        for heading, right in zip(headings, numeric, strict=True)
    ]
    body = element("tbody", [_row(row, numeric) for row in rows])
    whole = element("table", element("thead", element("tr", head)), body)
    return element("div", whole, class_="wide", tabindex="0")


def numbers(labels: Sequence[str], series: Sequence[svg.Series], of: str) -> Element:
    """The numbers behind a plot."""
    heads = [element("th", name, scope="col") for name in (of, *(one.name for one in series))]
    rows = [
        element(
            "tr",
            element("th", label, scope="row"),
            [element("td", _number(one.numbers[at])) for one in series],
        )
        for at, label in enumerate(labels)
    ]
    head, body = element("thead", element("tr", heads)), element("tbody", rows)
    whole = element("table", head, body, class_="numbers")
    return element("div", whole, class_="wide", tabindex="0")


def _row(cells: Sequence[Child], numeric: Sequence[bool]) -> Element:
    made = element("tr")
    for at, (cell, right) in enumerate(zip(cells, numeric, strict=True)):
        tag, scope = ("td", None) if at else ("th", "row")
        if isinstance(cell, Element) and cell.tag == "td":
            made.append(cell)
        else:
            made.append(element(tag, cell, scope=scope, class_="n" if right else None))
    return made


def plot(
    caption: str, drawn: Element, series: Sequence[svg.Series], labels: Sequence[str], of: str
) -> Element:
    """A plot with its caption and legend, and the numbers behind it."""
    return element(
        "figure",
        element("figcaption", element("strong", caption)),
        drawn,
        legend([(one.look, one.name) for one in series]),
        element("details", element("summary", "The numbers"), numbers(labels, series, of)),
    )


def legend(entries: Iterable[tuple[int, str]]) -> Element:
    """Which look is which series."""
    return element(
        "ul", [element("li", svg.key(look), name) for look, name in entries], class_="legend"
    )


def section(name: str, heading: str, *parts: Child) -> Element:
    """A part of the page, under its heading."""
    return element("section", element("h2", heading), *parts, id=name)


def _number(number: float | None) -> str:
    return "–" if number is None else svg.said(number)
