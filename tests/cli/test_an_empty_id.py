"""A script's empty variable is no id: nothing is taken, pinned or corrected by it."""

import pytest

from tests.cli.conftest import Shell

VERBS = [
    ["show", ""],
    ["explain", ""],
    ["pin", ""],
    ["unpin", ""],
    ["correct", "", "what is right"],
    ["forget", ""],
    ["forget", "--dry-run", ""],
    ["restore", ""],
    ["note", "merge", "", ""],
    ["audit", "log", "--id", ""],
]


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_it_is_refused_wherever_an_id_is_taken(shell: Shell, verb: list[str]) -> None:
    for _ in ("one memory of a home is begun by nothing", "and so is each of two"):
        shell("forget", shell("remember", "gone").out.strip())
        shell("remember", "there")
        before = shell.snapshot()
        for blank in ("", " ", "\t\n"):
            told = shell(*(blank if word == "" else word for word in verb))
            assert (told.code, told.out) == (2, "")
            assert told.err.startswith("skymem: an id is empty; give an id")
        assert shell.snapshot() == before


def test_one_among_others_is_refused_with_them(shell: Shell) -> None:
    name = shell("remember", "there").out.strip()

    assert shell("forget", name, "").code == 2
    assert shell("show", name).code == 0


@pytest.mark.parametrize("pattern", ["", ".*", "x?", "draft|", "(?=)"])
def test_a_pattern_that_fits_everything_is_refused(shell: Shell, pattern: str) -> None:
    name = shell("remember", "there").out.strip()
    for words in (["forget", "--match", pattern], ["forget", "--match", pattern, "--dry-run"]):
        told = shell(*words)
        assert (told.code, told.out) == (2, "")
        assert "matches everything; use --match . if you mean that" in told.err

    assert shell("show", name, "--json").json["tier"] == "short"


def test_everything_is_forgotten_when_that_is_meant(shell: Shell) -> None:
    shell("remember", "one")
    shell("remember", "two")

    assert shell("forget", "--match", "^$", "--json").json["forgotten"] == 0
    assert shell("forget", "--match", ".", "--json").json["forgotten"] == 2
