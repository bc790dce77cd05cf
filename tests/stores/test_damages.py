"""The numbers of the lines that can't be read, beside what stands between the others."""

import json

import pytest

from skymem.model.plan import Damage
from skymem.stores.catalog import Catalog
from skymem.stores.damages import NAMED_MAX, damaged_lines
from skymem.stores.lines import TIER_LINE_BYTES_MAX, entries_of
from tests.conftest import Desk, line


def _found(desk: Desk) -> dict[str, list[int]]:
    catalog = Catalog.in_memory()
    catalog.catch_up(desk.tiers)
    return damaged_lines(desk.tiers, catalog)


GOOD = [line(f"memory {number}") for number in range(3)]


@pytest.mark.parametrize(
    ("lines", "numbers"),
    [
        pytest.param(GOOD, None, id="none"),
        pytest.param([b"torn\n", *GOOD], [1], id="the first"),
        pytest.param([*GOOD, b"torn\n"], [4], id="the last"),
        pytest.param([GOOD[0], b"\n", b"a\n", b" \t\n", b"b\n", GOOD[1]], [3, 5], id="blank lines"),
        pytest.param([b"a\n", b"b\n"], [1, 2], id="nothing else"),
        pytest.param([GOOD[0], GOOD[0], b"a\n", GOOD[0]], [3], id="repeats"),
        pytest.param([GOOD[0][:-1] + b" " + GOOD[1], b"a\n", GOOD[2]], [2], id="two on a line"),
        pytest.param([GOOD[0][:-1] + b" x\n", GOOD[1]], [1], id="more behind a memory"),
        pytest.param([b"\xef\xbb\xbf" + GOOD[0], b"\xef\xbb\xbf" + GOOD[1]], [2], id="marks"),
        pytest.param([GOOD[0], b"a\n", b"no newline yet"], [2], id="the end is on its way"),
    ],
)
def test_each_line_that_can_not_be_read_is_numbered(
    desk: Desk, lines: list[bytes], numbers: list[int] | None
) -> None:
    (desk.tiers.directory / "long_term.jsonl").write_bytes(b"".join(lines))

    assert _found(desk) == ({"long_term.jsonl": numbers} if numbers else {})


def test_archives_and_trash_are_looked_through_and_a_long_list_is_cut(desk: Desk) -> None:
    archive = desk.tiers.directory / "short_term_archive_20260101T000000Z.jsonl"
    archive.write_bytes(GOOD[0] + b"torn\n")
    desk.echo(line("gone", ttl_days=1))
    desk.clock += 30 * 86_400
    desk.run("prune")
    (trash,) = (desk.tiers.directory / "trash").iterdir()
    (entry,) = trash.read_bytes().splitlines(keepends=True)
    trash.write_bytes(b"torn\n" * (NAMED_MAX + 5) + b"\n" + entry + b"torn\n")

    assert json.loads(entry)["memory"]["content"] == "gone"
    assert _found(desk) == {
        archive.name: [2],
        f"trash/{trash.name}": list(range(1, NAMED_MAX + 1)),
    }


def test_what_is_numbered_is_what_the_catalog_counts_as_damage(desk: Desk) -> None:
    lines = [*GOOD, b"{}\n", b"[1]\n", b'{"content": "a", "content": "b"}\n', b'{"content": 7}\n']
    (desk.tiers.directory / "long_term.jsonl").write_bytes(b"".join(lines))
    torn = [
        number
        for number, raw in enumerate(lines, start=1)
        if any(isinstance(one, Damage) for one in entries_of(1, raw[:-1], TIER_LINE_BYTES_MAX))
    ]

    assert torn[0] == 4
    assert _found(desk) == {"long_term.jsonl": torn}
