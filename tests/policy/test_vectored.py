"""One function says which memories should have a vector: a table of it (row P15)."""

from typing import Final

import pytest

from skymem.policy.standing import Link
from skymem.policy.vectored import without_vector

CASES: Final = (
    ("nothing refers to anything", "", "", ""),
    ("a merge of two", "m>a m>b", "", "a b"),
    ("a merge of a merge", "n>m n>c m>a m>b", "", "a b c m"),
    ("what stood for them is in trash", "", "m>a m>b", ""),
    ("that was superseded itself before it went", "n>m", "m>a m>b", "a b m"),
    ("one of two superseders is in trash", "n>a", "m>a m>b", "a"),
    ("it names what is not there", "m>gone", "", "gone"),
    ("itself", "a>a", "", ""),
    ("a ring: its newest is left", "a>b b>a", "", "a"),
    ("a ring under another: likewise", "n>a a>b b>a", "", "a"),
)


@pytest.mark.parametrize(("what", "links", "removed", "spared"), CASES)
def test_what_another_took_the_place_of_has_none(
    what: str, links: str, removed: str, spared: str
) -> None:
    pairs = [tuple(one.split(">")) for one in links.split()]
    known = [Link(source, ord(source[0]), target) for source, target in pairs]
    gone: dict[str, list[str]] = {}
    for one in removed.split():
        source, target = one.split(">")
        gone.setdefault(source, []).append(target)
    assert without_vector(known, gone) == {*spared.split()}, what
    assert without_vector(reversed(known), gone) == {*spared.split()}, what
