"""Plots as inline SVG: read in print, without colour, and by who tells few colours apart.

Colours are those of Okabe and Ito; each series has a pattern or a mark of its own beside its
colour, and a legend names it. The numbers stand in a table beside each plot (`page`).
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from xml.etree.ElementTree import Element

from skymem.reporting.markup import element

LEFT, RIGHT, TOP, BOTTOM = 46.0, 10.0, 12.0, 22.0
TICKS: Final = 4
LABELS_MAX: Final = 7
SEVERAL: Final = 12
"""So many labels all have room."""

SERIES_MAX: Final = 7
"""So many series have a look of their own: classes `s0` to `s6`."""


@dataclass(frozen=True, slots=True)
class Series:
    """One row of numbers, with its name."""

    name: str
    numbers: Sequence[float | None]
    look: int
    """Which colour and pattern."""


@dataclass(frozen=True, slots=True)
class Paper:
    """How much room a plot has: its own units, of which it is scaled to what the page gives it."""

    width: float = 640.0
    height: float = 215.0


WHOLE: Final = Paper()
HALF: Final = Paper(400.0, 190.0)
"""For two side by side."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Where numbers are on the paper."""

    labels: Sequence[str]
    top: float
    """The highest number of the scale."""

    paper: Paper

    @property
    def slot(self) -> float:
        """What each label has of the width."""
        return (self.paper.width - LEFT - RIGHT) / max(1, len(self.labels))

    def x(self, place: float) -> float:
        """The left edge of a slot."""
        return LEFT + place * self.slot

    def y(self, number: float) -> float:
        """How far down a number is."""
        room = self.paper.height - TOP - BOTTOM
        return self.paper.height - BOTTOM - room * number / self.top


def areas(
    title: str, labels: Sequence[str], series: Sequence[Series], paper: Paper = WHOLE
) -> Element:
    """Areas one on the other, from each label's number to the next one's."""
    if len(labels) < 2:
        return stacked(title, labels, series, paper)
    frame = Frame(labels, nice(max(_sums(labels, series), default=0)), paper)
    below = [0.0] * len(labels)
    drawn = []
    for each in series:
        above = [at + (number or 0) for at, number in zip(below, each.numbers, strict=True)]
        edge = [*_points(frame, above), *reversed([*_points(frame, below)])]
        shape = element("polygon", points=" ".join(edge))
        line = element("polyline", points=" ".join(_points(frame, above)), class_="top")
        drawn.append(element("g", element("title", each.name), shape, line, class_=look(each.look)))
        below = above
    return _plot(title, frame, drawn)


def _points(frame: Frame, numbers: Sequence[float]) -> Iterator[str]:
    for at, number in enumerate(numbers):
        yield f"{frame.x(at + 0.5):.1f},{frame.y(number):.1f}"


def _sums(labels: Sequence[str], series: Sequence[Series]) -> list[float]:
    return [sum(each.numbers[at] or 0 for each in series) for at in range(len(labels))]


def stacked(
    title: str,
    labels: Sequence[str],
    series: Sequence[Series],
    paper: Paper = WHOLE,
) -> Element:
    """Bars one on the other, a bar for each label."""
    frame = Frame(labels, nice(max(_sums(labels, series), default=0)), paper)
    heights = [0.0] * len(labels)
    drawn = []
    for each in series:
        group = element("g", class_=look(each.look))
        for at, number in enumerate(each.numbers):
            if number:
                words = f"{labels[at]}: {each.name} {said(number)}"
                group.append(_bar(frame, (at, 0.0, 1.0), (heights[at], number), words))
                heights[at] += number
        drawn.append(group)
    return _plot(title, frame, drawn)


def grouped(
    title: str,
    labels: Sequence[str],
    series: Sequence[Series],
    paper: Paper = WHOLE,
) -> Element:
    """Bars side by side, as many for each label as there are series."""
    frame = Frame(labels, nice(_most(series)), paper)
    drawn = []
    for place, each in enumerate(series):
        group = element("g", class_=look(each.look))
        share = (place / len(series), 1 / len(series))
        for at, number in enumerate(each.numbers):
            if number:
                words = f"{labels[at]}: {each.name} {said(number)}"
                group.append(_bar(frame, (at, *share), (0.0, number), words))
        drawn.append(group)
    return _plot(title, frame, drawn)


def lines(title: str, labels: Sequence[str], series: Sequence[Series]) -> Element:
    """Lines with a mark at each number; where there is none, the line is broken."""
    frame = Frame(labels, nice(_most(series)), WHOLE)
    return _plot(title, frame, [_line(frame, each) for each in series])


def _most(series: Sequence[Series]) -> float:
    return max((number or 0 for each in series for number in each.numbers), default=0)


def spark(numbers: Sequence[int], look_of: int, words: str) -> Element:
    """A plot of a line's height, without a scale: how it went, at a glance."""
    width, height = 120.0, 22.0
    most = max(numbers, default=0) or 1
    slot = width / max(1, len(numbers))
    bars = (
        f"M{at * slot:.1f},22v-{max(1.0, height * number / most):.1f}h{max(0.5, slot - 0.4):.1f}V22"
        for at, number in enumerate(numbers)
        if number
    )
    drawn = element("g", element("path", d="".join(bars)), class_=look(look_of))
    return _svg(words, (width, height), [drawn], "spark")


def patterns() -> Element:
    """What the looks are filled with, for all plots of a page: once, and itself not to be seen."""
    defs = element("defs", [_pattern(number, *drawn) for number, drawn in enumerate(_PATTERNS)])
    return element("svg", defs, class_="patterns", width=0, height=0, aria_hidden="true")


def key(number: int) -> Element:
    """The square of a legend."""
    square = element("rect", x=0.5, y=0.5, width=13, height=13, rx=2)
    group = element("g", square, class_=look(number))
    return element("svg", group, viewBox="0 0 14 14", class_="key", aria_hidden="true")


def look(number: int) -> str:
    """The class of a series."""
    return f"s{number % SERIES_MAX}"


def nice(most: float) -> float:
    """The end of a scale: at or over the highest, and its quarters are round numbers as well."""
    if most <= 0:
        return float(TICKS)
    if 1 <= most <= 20:
        return float(TICKS * math.ceil(most / TICKS))
    size = 10.0 ** math.floor(math.log10(most))
    steps = (1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10)
    return next(step * size for step in steps if step * size >= most - 1e-9)


def said(number: float) -> str:
    """A number as it is read: thousands apart, and no more digits than mean something."""
    if number == int(number):
        return f"{int(number):,}"
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}"


# -- parts ------------------------------------------------------------------------------------


def _plot(title: str, frame: Frame, drawn: Sequence[Element]) -> Element:
    size = (frame.paper.width, frame.paper.height)
    half = " half" if frame.paper == HALF else ""
    return _svg(title, size, [*_axes(frame), *drawn], f"plot{half}")


def _svg(title: str, size: tuple[float, float], drawn: Sequence[Element], class_: str) -> Element:
    width, height = size
    named = element("title", title)
    return element(
        "svg", named, drawn, viewBox=f"0 0 {width:g} {height:g}", class_=class_, role="img"
    )


def _axes(frame: Frame) -> Iterator[Element]:
    grid = element("g", class_="grid")
    words = element("g", class_="words")
    right = frame.paper.width - RIGHT
    for tick in range(TICKS + 1):
        number = frame.top * tick / TICKS
        y = frame.y(number)
        grid.append(element("line", x1=LEFT, x2=right, y1=y, y2=y))
        words.append(element("text", brief(number), x=LEFT - 6, y=y + 3.5, text_anchor="end"))
    for order, at in enumerate(_labelled(frame)):
        words.append(_label(frame, at, between=order % 2 == 1))
    yield grid
    yield words


def _label(frame: Frame, at: int, *, between: bool) -> Element:
    """A label below the axis, on the paper; one between has room on a wide one alone."""
    x = frame.x(at + 0.5)
    anchor = "middle"
    if len(frame.labels) > SEVERAL:
        first, last = at == 0, at == len(frame.labels) - 1
        anchor = "start" if first else "end" if last else "middle"
        x = LEFT if first else frame.paper.width - RIGHT if last else x
    words = tick_word(frame.labels[at])
    y = frame.paper.height - 6
    class_ = "between" if between else None
    return element("text", words, x=x, y=y, text_anchor=anchor, class_=class_)


def _labelled(frame: Frame) -> Iterator[int]:
    """Which labels there is room for: an odd number of them, where not all."""
    count = len(frame.labels)
    if count <= SEVERAL:
        yield from range(count)
        return
    most = LABELS_MAX if frame.paper.width > HALF.width else 5
    for tick in range(most):
        yield round(tick * (count - 1) / (most - 1))


def tick_word(label: str) -> str:
    """A label as short as it can be: of a date its day and month, of shares where they begin."""
    if _DATE.fullmatch(label):
        return f"{int(label[8:])} {_MONTHS[int(label[5:7]) - 1]}"
    if _SHARES.fullmatch(label):
        return label[:3]
    return _SHORTER.get(label, label.removesuffix(" days"))


def brief(number: float) -> str:
    """A number of a scale, in few letters."""
    for border, letter in ((1e6, "M"), (1e3, "k")):
        if number >= border:
            return f"{number / border:.3g}{letter}"
    return said(number)


def _bar(
    frame: Frame, place: tuple[int, float, float], span: tuple[float, float], words: str
) -> Element:
    at, begins, share = place
    bottom, number = span
    gap = min(2.0, frame.slot * 0.12)
    x = frame.x(at + begins) + gap / 2
    y = frame.y(bottom + number)
    height = frame.y(bottom) - y
    bar = element("rect", x=x, y=y, width=frame.slot * share - gap, height=height)
    bar.append(element("title", words))
    return bar


def _line(frame: Frame, series: Series) -> Element:
    group = element("g", class_=f"{look(series.look)} line")
    for stretch in _stretches(series.numbers):
        points = " ".join(
            f"{frame.x(at + 0.5):.1f},{frame.y(number):.1f}" for at, number in stretch
        )
        group.append(element("polyline", points=points))
        for at, number in stretch:
            mark = _mark(series.look, frame.x(at + 0.5), frame.y(number))
            words = f"{frame.labels[at]}: {series.name} {said(number)}"
            mark.append(element("title", words))
            group.append(mark)
    return group


def _stretches(numbers: Sequence[float | None]) -> Iterator[list[tuple[int, float]]]:
    stretch: list[tuple[int, float]] = []
    for at, number in enumerate(numbers):
        if number is not None:
            stretch.append((at, number))
        elif stretch:
            yield stretch
            stretch = []
    if stretch:
        yield stretch


def _mark(number: int, x: float, y: float) -> Element:
    """A mark that is told from the others without its colour."""
    if number % 2 == 0:
        return element("circle", cx=x, cy=y, r=2.6)
    return element("path", d=f"M{x:.1f},{y - 3.4:.1f}l3.4,6h-6.8z")


_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")
_SHARES: Final = re.compile(r"\d\.\d–\d\.\d")
_SHORTER: Final = {"under a day": "< 1", "over a year": "> 365", "no time": "none"}
_MONTHS: Final = [
    "Jan",
    "Feb",
    "Mar",
    "Apr",
    "May",
    "Jun",
    "Jul",
    "Aug",
    "Sep",
    "Oct",
    "Nov",
    "Dec",
]

_PATTERNS: Final = (
    ("solid", ""),
    ("rising", "M-1,1l2,-2M0,6l6,-6M5,7l2,-2"),
    ("dots", "M1.5,1.5h1.4M4.5,4.5h1.4"),
    ("crossed", "M0,0l6,6M6,0l-6,6"),
    ("level", "M0,1.5h6M0,4.5h6"),
    ("upright", "M1.5,0v6M4.5,0v6"),
    ("falling", "M-1,5l2,2M0,0l6,6M5,-1l2,2"),
)
"""By look, what is drawn over its colour."""


def _pattern(number: int, name: str, path: str) -> Element:
    ground = element("rect", width=6, height=6, class_=f"c{number}")
    drawn = [element("path", d=path)] if path else []
    return element(
        "pattern", ground, drawn, id=f"look-{number}", width=6, height=6,
        patternUnits="userSpaceOnUse", data_name=name,
    )  # fmt: skip
