"""What the three agents of a household write and ask, day by day: always the same (a seed)."""

import json
import random
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

AGENTS: Final = ("aegis", "hobbs", "sky")
DAY: Final = 86_400.0

_WHO: Final = ("Ada", "Bo", "Cleo")
_HOSTS: Final = ("attic", "cellar", "shed")
_SERVICES: Final = ("the backup", "the proxy", "the calendar", "the camera", "the mail")
_CAUSES: Final = (
    "a full disk",
    "an expired certificate",
    "a lost route",
    "a power cut",
    "an update",
)
_PARTS: Final = ("the parser", "the importer", "the scheduler", "the invoice page", "the login")
_TOOLS: Final = ("uv", "ruff", "SQLite", "htmx", "pytest", "Caddy", "restic")
_THINGS: Final = ("coffee", "light bulbs", "bread", "cat food", "stamps", "paint")


class Shape(NamedTuple):
    """One sort of thing that is said."""

    weight: int
    text: str
    importance: tuple[float, float]
    kind: str | None = None
    tags: tuple[str, ...] = ()
    ttl_days: int | None = None


SHAPES: Final = {
    "sky": (
        Shape(5, "Read out the news for {who}", (0.05, 0.25), "log", ttl_days=7),
        Shape(4, "Bought {thing} for {number} EUR", (0.2, 0.45), "log", ("shopping",)),
        Shape(3, "{who} asked for the weather of day {day}", (0.1, 0.3), "request"),
        Shape(3, "{who} wants the morning report at {hour}:{minute}", (0.7, 0.95), "preference"),
        Shape(2, "{who} has an appointment at {hour}:{minute} on day {day}", (0.5, 0.8), "fact",
              ("calendar",), 30),
        Shape(2, "{who} prefers {thing} from the shop at the corner, not number {number}",
              (0.6, 0.9), "preference"),
        Shape(1, "Decided on day {day}: {thing} are bought on Saturdays", (0.85, 0.97), "decision"),
    ),
    "hobbs": (
        Shape(8, "Bash: pytest of {part}, {number} passed", (0.05, 0.3), "log", ("tool",), 10),
        Shape(4, "Edited {part}, {number} lines", (0.1, 0.4), "action", ("tool",)),
        Shape(2, "{part} fails with {tool} when line {number} is empty", (0.55, 0.85), "fact",
              ("bug",)),
        Shape(2, "Decided on day {day}: {part} uses {tool}", (0.8, 0.97), "decision"),
        Shape(1, "{part} is to be done before day {number}", (0.5, 0.75), "project",
              ("project:shop", "next")),
    ),
    "aegis": (
        Shape(9, "Disk of {host} at {number} % on day {day}", (0.05, 0.35), "log", ttl_days=14),
        Shape(4, "{service} answered on {host} after {number} ms", (0.05, 0.2), "log", ttl_days=5),
        Shape(2, "{host} was started anew after {cause} on day {day}", (0.5, 0.8), "fact",
              ("restart",)),
        Shape(1, "{service} was away for {number} minutes: {cause}", (0.8, 0.99), "decision",
              ("incident",)),
    ),
}  # fmt: skip

ASKED: Final = {
    "sky": (
        "when does {who} want the morning report",
        "appointment of {who}",
        "shop at the corner",
    ),
    "hobbs": (
        "why does {part} fail",
        "which tool does {part} use",
        "what is to be done before day",
    ),
    "aegis": ("{service} was away", "{host} was started anew after {cause}", "disk of {host}"),
}


def said(agent: str, day: int, at: float) -> Iterator[bytes]:
    """The lines an agent appends on a day, the last of them before `at`."""
    chance = _chance(agent, day)
    count = chance.choice((5, 7, 9) if day % 7 < 5 else (1, 2, 3))
    if agent == "aegis" and day in (40, 41):
        count *= 4  # a bad week
    shapes = SHAPES[agent]
    for number in range(count):
        (shape,) = chance.choices(shapes, [one.weight for one in shapes])
        yield _line(shape, chance, agent, (day, number), at - 60.0 * (count - number))


def asked(agent: str, day: int) -> Iterator[tuple[str, float]]:
    """The questions of a day, and how many milliseconds each is said to have taken."""
    chance = _chance(agent, -1 - day)
    for _ in range(chance.choice((0, 1, 2, 3))):
        text = chance.choice(ASKED[agent])
        took = chance.lognormvariate(3.1, 0.35) * (1 + day / 300)
        yield _filled(text, chance, day), round(took, 1)


def _line(
    shape: Shape, chance: random.Random, agent: str, place: tuple[int, int], at: float
) -> bytes:
    day, number = place
    fields: dict[str, Any] = {
        "ts": round(at, 3),
        "type": "short",
        "content": _filled(shape.text, chance, day),
        "importance": round(chance.uniform(*shape.importance), 2),
        "id": f"{agent}-{day:03}-{number:02}",
    }
    if shape.kind is not None:
        fields["kind"] = shape.kind
    if shape.tags:
        fields["tags"] = list(shape.tags)
    if shape.ttl_days is not None:
        fields["ttl_days"] = shape.ttl_days
    return json.dumps(fields).encode() + b"\n"


def _filled(text: str, chance: random.Random, day: int) -> str:
    found = text.format(
        who=chance.choice(_WHO),
        host=chance.choice(_HOSTS),
        service=chance.choice(_SERVICES),
        cause=chance.choice(_CAUSES),
        part=chance.choice(_PARTS),
        tool=chance.choice(_TOOLS),
        thing=chance.choice(_THINGS),
        number=chance.randrange(2, 99),
        hour=chance.randrange(6, 10),
        minute=chance.choice(("00", "15", "30", "45")),
        day=day,
    )
    return found[0].upper() + found[1:]


def _chance(agent: str, day: int) -> random.Random:
    return random.Random(f"{agent} {day}")
