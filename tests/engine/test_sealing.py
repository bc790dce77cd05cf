"""Names as a server sees them: nobody but the home reads them, and nothing is mistaken for one."""

import re
from itertools import product

import pytest

from skymem.engine.sealing import Seal


@pytest.mark.parametrize(
    "name", ["", "a#0", "meeting with bob#12", "ü€𝄞#1", "\ud800#0", "x" * 5000 + "#3"]
)
def test_a_name_is_read_again_with_the_key_and_by_nobody_else(name: str) -> None:
    ours, theirs = Seal(b"k" * 32), Seal(b"o" * 32)
    sealed = ours.close(name)

    assert ours.open(sealed) == name
    assert ours.close(name) == sealed, "an upsert has to find it"
    assert theirs.open(sealed) is None
    assert theirs.close(name) != sealed
    assert re.fullmatch(r"[A-Za-z0-9_-]+", sealed)
    assert len(name) < 3 or name.encode("utf-8", "surrogatepass")[:3] not in sealed.encode()


def test_a_name_that_was_changed_is_none() -> None:
    seal = Seal(b"k" * 32)
    sealed = seal.close("m1#0")
    letters = "AZ09-_"
    changed = {
        sealed[:at] + letter + sealed[at + 1 :]
        for at, letter in product(range(len(sealed) - 1), letters)
    } - {sealed}

    assert len(changed) > 100
    assert {seal.open(one) for one in changed} == {None}
    assert {seal.open(one) for one in ("", "A", "AAAA", "m1#0", "ü", sealed[:-3])} == {None}


def test_names_that_begin_alike_are_sealed_unlike() -> None:
    sealed = [Seal(b"k" * 32).close(f"memory {number}#0") for number in range(200)]
    assert len({one[:8] for one in sealed}) == len({one[22:30] for one in sealed}) == 200
