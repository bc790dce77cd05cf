"""What a side of a simulation takes: vectors only of what should have one (rows X8, P15)."""

from skymem.model.spelling import read_line
from skymem.simulation.lines import Line
from skymem.simulation.past import sizes_of
from tests.conftest import line


def _lines(*each: tuple[str, str, list[str]]) -> dict[str, Line]:
    found = {}
    for name, tier, supersedes in each:
        raw = line(name, 0.9, id=name, supersedes=supersedes)
        found[name] = Line(raw, raw, tier, read_line(raw.rstrip(b"\n")))
    return found


def test_what_something_took_the_place_of_has_no_vector() -> None:
    told = sizes_of(
        _lines(
            ("a", "long", []),
            ("b", "long", []),
            ("both", "long", ["a", "b"]),
            ("c", "archive", []),
            ("d", "long", []),
            ("gone", "trash", ["d"]),
            ("e", "long", []),
            ("short", "short", ["e"]),
        )
    )
    assert {tier: (size.lines, size.vectors) for tier, size in told.items()} == {
        "long": (5, 3),
        "archive": (1, 1),
        "trash": (1, 0),
        "short": (1, 1),
    }
