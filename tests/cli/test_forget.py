"""What `forget` says: which memories would go, what it left, and that nothing was meant."""

import json

import pytest

from tests.cli.conftest import Shell

EVIL = "\x1b[2Jdraft of " + "the newsletter " * 20


@pytest.fixture
def ids(shell: Shell) -> dict[str, str]:
    """One memory in each tier, and one that is pinned."""
    made = {}
    for name, text, importance in (
        ("long", "the long-term draft", "0.9"),
        ("archive", "the archived draft", "0.1"),
        ("pinned", "the pinned draft", "0.1"),
    ):
        made[name] = shell("remember", text, "--importance", importance).out.strip()
    shell("pin", made["pinned"])
    shell("promote")
    (shell.home / "retention_rules.yaml").write_text("short_term_max_lines: 1\n")
    shell("rotate")
    line = json.dumps({"content": EVIL}).encode()
    made["short"] = shell("remember", "--stdin", stdin=line).out.strip()
    return made


def test_a_dry_run_lists_what_would_go_with_its_tier_and_first_words(
    shell: Shell, ids: dict[str, str]
) -> None:
    before = shell.snapshot()
    told = shell("forget", "--match", "draft", "--dry-run").out.splitlines()

    rows = {line.split()[0]: line.split(maxsplit=2)[1:] for line in told[:-1]}
    assert rows.pop(ids["archive"][:12]) == ["archive", "the archived draft"]
    assert rows.pop(ids["long"][:12]) == ["long", "the long-term draft"]
    tier, text = rows.pop(ids["short"][:12])
    assert (tier, text[:30]) == ("short", r"\u001b[2Jdraft of the newslett")
    assert not rows
    assert max(map(len, told)) <= 100
    assert told[-1] == "would be: 3 forgotten; 1 pinned and left (first: skymem unpin ID)"
    assert shell.snapshot() == before


def test_a_dry_run_names_what_still_waits_outside_short_term(shell: Shell) -> None:
    (shell.home / "memory/short_term.jsonl").write_text('{"content": "draft", "id": "own"}\n')
    told = shell("forget", "--match", "draft", "--dry-run").out

    assert told.splitlines()[0].split() == ["own", "short"]


def test_what_was_left_is_told(shell: Shell, ids: dict[str, str]) -> None:
    told = shell("forget", ids["pinned"], ids["long"])
    assert told.out == "1 forgotten; 1 pinned and left (first: skymem unpin ID)\n"
    assert shell("forget", ids["pinned"]).out == "0 forgotten (1 pinned; first: skymem unpin ID)\n"

    told = shell("forget", "--match", "draft", "--json")
    assert (told.json["forgotten"], told.json["skipped"]) == (2, {"pinned": 1})


def test_that_nothing_matched_is_told_as_that(shell: Shell, ids: dict[str, str]) -> None:
    assert shell("forget", "--match", "zebra").out == "0 forgotten (nothing matched)\n"
    with shell.short_term.open("ab") as stream:
        stream.write(b"no json\n")
    assert shell("forget", "--match", "zebra").out == "0 forgotten (nothing matched)\n"
    assert ids


def test_trash_shows_a_person_the_first_words(shell: Shell, ids: dict[str, str]) -> None:
    assert shell("forget", "--match", "draft").code == 0
    told = shell("trash", "list")

    assert "the archived draft" in told.out
    assert r"\u001b[2Jdraft of the newsletter" in told.out
    assert "draft" not in shell("trash", "list", "--json").out
    assert ids


def test_trash_that_a_hand_has_broken_is_listed(shell: Shell, ids: dict[str, str]) -> None:
    shell("forget", ids["long"])
    (path,) = shell.agent_directory.glob("trash/*.jsonl")
    path.write_bytes(path.read_bytes().replace(b'"importance": 0.9', b'"importance": "a"'))
    told = shell("trash", "list")

    assert (told.code, f"{path.name}: line(s) 1 can't be read" in told.err) == (0, True)
    (row,) = told.out.splitlines()[1:]
    assert ids["long"] in row
    assert row.endswith("by_hand: named")
