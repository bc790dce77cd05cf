"""What says the same in other words, from outside, with a real engine and its Chroma (row P15)."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from skymem.stores.home import HomePaths
from tests.acceptance.homes import START, Outside, line, whole

FIRST = "The user's favourite editor is Neovim"
AGAIN = "The user's favorite editor is Neovim."
OTHER = "The user's favorite editor is not Neovim."
RULES = "merge: {duplicates: {on_promotion: true}}\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Outside]:
    """An empty home that may use its engine."""
    monkeypatch.delenv("SKYMEM_ENGINE")
    made = Outside(HomePaths(tmp_path / "home"))
    made("init", str(made.paths.root))
    (made.paths.root / "retention_rules.yaml").write_text(RULES)
    yield made
    made.close()


def recalled(home: Outside) -> list[str]:
    found = home.done("recall", "which editor does the user like?", "--mode", "semantic")
    return [one["content"] for one in found["results"] if "editor" in one["content"]]


def in_long(home: Outside) -> list[dict[str, object]]:
    path = home.paths.agent("sky").long_term
    return [json.loads(each) for each in path.read_text().splitlines()]


def ids(home: Outside) -> dict[str, str]:
    return {str(each["content"]): str(each["id"]) for each in in_long(home)}


def vectors(home: Outside) -> int:
    """How many memories of long-term the index has, which is whole."""
    found = home.done("index", "--stats")
    assert whole(found) == []
    count = found["agents"]["sky"]["compared"]["memory"]["indexed"]
    assert isinstance(count, int)
    return count


def test_it_is_promoted_once_counted_recalled_once_and_undone(home: Outside) -> None:
    home.echo(line(FIRST, ts=START))
    assert home.done("promote")["promoted"] == 1
    home.echo(line(AGAIN, ts=START + 60), line(OTHER, ts=START + 61))
    short = home.short_term.read_bytes()
    detail = home.done("promote")
    assert (detail["promoted"], detail["duplicates"], detail["degraded"]) == (1, 1, [])
    assert sorted(recalled(home)) == sorted([FIRST, OTHER])

    (one,) = [each for each in in_long(home) if "duplicates" in each]
    evidence = one["evidence_ids"]
    assert isinstance(evidence, list)
    assert len(evidence) == 2
    for name in evidence:
        told = " ".join(home("explain", str(name)).out.split())
        assert f"found to say the same as {one['id']}: duplicate 0.9" in told or (
            "moved to an archive: duplicate 0.9" in told
        )
        assert "against 0.85" in told
        assert home("show", str(name)).code == 0
    assert home("fsck").code == 0

    undone = home.done("undo", detail["agents"]["sky"]["runs"][0])
    assert len(undone["restored"]) == 2
    assert home.short_term.read_bytes() == short
    assert sorted(recalled(home)) == sorted([FIRST, AGAIN, OTHER])
    assert home("fsck").code == 0


def test_merge_finds_it_where_promote_does_not_look(home: Outside) -> None:
    (home.paths.root / "retention_rules.yaml").write_text("{}\n")
    home.echo(line(FIRST, ts=START), line(AGAIN, ts=START + 60), line(OTHER, ts=START + 61))
    detail = home.done("promote")
    assert (detail["promoted"], "duplicates" in detail) == (3, False)
    assert vectors(home) == 3
    foretold = " ".join(home("explain", ids(home)[FIRST]).out.split())
    detail = home.done("merge")
    ((value, least),) = {
        (row[2], row[3])
        for entry in home.done("audit", "log")["entries"]
        for row in entry.get("likened", ())
    }
    told = f"likeness {value:.2f} against {least:g}; second look agrees"
    assert told in foretold
    assert (detail["duplicates"], detail["batches"]) == (1, 1)
    assert vectors(home) == 2  # of four lines: two say the same, and one stands for both
    assert len(in_long(home)) == 4
    assert sorted(recalled(home)) == sorted([AGAIN, OTHER])
    assert home.done("merge")["acted"] == 0
    then = "2023-11-14T22:13:50Z"  # after the first was said, before the others
    found = home.done("recall", "which editor does one like?", "--mode", "semantic", "--at", then)
    assert [one["content"] for one in found["results"]] == [FIRST]
    assert found["degraded"] == []
    assert home("fsck").code == 0
    audit = home.done("merge", "--audit", "5")
    assert (audit["merges"], len(audit["to_judge"])) == (1, 1)


def test_explain_starts_no_engine_and_says_so(home: Outside) -> None:
    home.echo(line(FIRST, ts=START), line(AGAIN, ts=START + 60))
    (home.paths.root / "retention_rules.yaml").write_text("{}\n")
    home.done("promote")
    home.end_engine()
    (one, other) = ids(home).values()
    told = home.done("explain", one)["duplicates"]
    assert told == {
        "job": "merge",
        "once": None,
        "looked": False,
        "threshold": None,
        "why": "the engine does not run, and explain starts none",
        "near": [],
    }
    assert home.engine_pid() == 0
    home.done("index", "--stats")
    told = home.done("explain", one)
    assert [(each["id"], each["gate"]) for each in told["duplicates"]["near"]] == [
        (other, "duplicate")
    ]
    (step,) = [each for each in told["next"] if each["gate"] == "duplicate"]
    assert (step["job"], other in step["what"]) == ("merge", True)
