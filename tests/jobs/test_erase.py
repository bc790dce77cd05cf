"""Erase leaves no byte of a memory's text in any file of the home, and says so (promise 6, X5)."""

import json
import os
from pathlib import Path

import pytest

from skymem import app, upkeep
from skymem.jobs.erase import erase
from skymem.jobs.erase_find import Sought
from skymem.recall import listing
from skymem.recall.listing import pattern_of
from skymem.recall.request import filters_of
from skymem.stores.files import Files
from tests.conftest import START, Desk, line
from tests.jobs.erased import SECRET, balanced, erased, escaped, id_of, places, traces

OTHERS = (line("kept one", 0.9), line("kept two", 0.2))


def test_it_is_gone_from_short_term_and_from_the_drain_that_its_swap_leaves(desk: Desk) -> None:
    desk.echo(OTHERS[0], line(SECRET), OTHERS[1], line(SECRET))
    receipt = erased(desk, id_of(desk, SECRET))

    assert places(receipt) == {"short-term": (2, 0)}
    assert desk.contents("short") == ["kept one", "kept two"]
    assert traces(desk.paths.root, SECRET) == []
    assert receipt.proof is not None
    assert (receipt.proof["texts"], receipt.proof["found_in"]) == (1, [])
    assert balanced(desk) == {"came_in": 3, "short": 2, "erased": 1}


def test_it_is_gone_from_every_tier_in_whichever_spelling_it_stood(desk: Desk) -> None:
    odd = b'{"timestamp": "2025-11-08T12:34:56Z", "content": "%s", "score": 9}\n'
    desk.echo(line(SECRET, 0.9, ts=START + 1), odd % escaped(SECRET).encode(), *OTHERS)
    desk.run("promote")
    desk.limit(0)
    desk.echo(line(SECRET, 0.1, ts=START + 2), json_of(SECRET, ts=START + 3))
    desk.run("rotate")
    desk.echo(json_of(SECRET, ts=START + 4))
    receipt = erased(desk, pattern=pattern_of("Müllerin"))

    assert places(receipt) == {"short-term": (1, 0), "long-term": (2, 0), "archives": (2, 0)}
    assert traces(desk.paths.root, SECRET) == []
    assert desk.contents("long") == ["kept one"]
    assert desk.contents("archive") == ["kept two"]
    assert balanced(desk) == {"came_in": 7, "long": 1, "archive": 1, "erased": 5}


def json_of(text: str, **fields: object) -> bytes:
    """Spelled as other writers do: as it is, with a slash escaped."""
    spelled = json.dumps({"content": text, "importance": 0.1, **fields}, ensure_ascii=False)
    return spelled.replace("/", "\\/").encode() + b"\n"


def test_it_is_gone_from_trash(desk: Desk, home: app.Home) -> None:
    desk.echo(line(SECRET, 0.9), *OTHERS)
    desk.run("promote")
    own = id_of(desk, SECRET)
    upkeep.forget_memories(home, "sky", [own, id_of(desk, "kept one")])
    receipt = erased(desk, own)

    assert places(receipt) == {"trash": (1, 0)}
    assert traces(desk.paths.root, SECRET) == []
    assert [held.memory.content for held in desk.shelf().trash.all()] == ["kept one"]
    assert balanced(desk) == {"came_in": 3, "short": 1, "trash": 1, "erased": 1}


def test_other_memories_that_say_the_very_same_go_as_well_unless_asked_not_to(
    desk: Desk,
) -> None:
    desk.echo(line(SECRET, ts=START), line(SECRET, ts=START + 5), line(f"{SECRET}.", ts=START + 9))
    desk.echo(line(f"He said: {SECRET}", ts=START))
    one, quoting = desk.shelf(), id_of(desk, f"He said: {SECRET}")
    with desk.work().catalog() as catalog:
        first = next(each.id for each in one.find("", catalog) if each.memory.content == SECRET)
    kept = erase(desk.work(), "sky", Sought(ids=[first], copies=False))
    assert (len(kept.ids), len(kept.same), kept.quoting) == (1, 2, [quoting])

    receipt = erased(desk, kept.same[0])
    assert {why: len(ids) for why, ids in receipt.erased.items()} == {"named": 1, "copy": 1}
    assert receipt.quoting == [quoting]
    assert receipt.proof is not None
    assert receipt.proof["found_in"] == ["memory/sky/short_term.jsonl"]
    assert desk.contents("short") == [f"He said: {SECRET}"]


def test_pieces_that_could_not_be_read_go_by_what_can_be_read_of_them(desk: Desk) -> None:
    torn = line(SECRET)[:-30]
    later = b"{" + json_of(SECRET, ts=START + 7)
    desk.echo(torn + b"\n", b"{nothing of it\n", later, line("kept", 0.2))
    desk.run("promote")
    desk.echo(line(SECRET, 0.2), b'["' + SECRET.encode() + b'"\n')
    assert len(desk.quarantined()) == 3
    receipt = erased(desk, id_of(desk, SECRET))

    assert places(receipt) == {"quarantine": (2, 0), "short-term": (2, 0)}
    assert traces(desk.paths.root, SECRET) == []
    found = desk.quarantined()
    assert [one.strip() for one in found] == [b"", b"{nothing of it", b""]
    assert [len(one) for one in found] == [len(torn) + 1, 15, len(later)]
    assert desk.contents("short") == ["kept"]


def test_damage_in_long_term_goes_by_a_pattern(desk: Desk) -> None:
    desk.tiers.long_term.write_bytes(line("kept", id="k") + b"{broken " + line(SECRET))
    with desk.tiers.long_term.open("ab") as stream:
        stream.write(line(SECRET, id="s").rstrip())  # a hand left no newline
    receipt = erased(desk, pattern=pattern_of("tresor der"))

    assert places(receipt) == {"long-term": (2, 0)}
    assert traces(desk.paths.root, SECRET) == []
    assert desk.contents("long") == ["kept"]


def test_what_waits_in_a_drain_that_a_writer_has_open_is_erased_and_loses_no_line(
    desk: Desk,
) -> None:
    desk.echo(line(SECRET, 0.9), *OTHERS)
    with desk.short_term.open("ab", buffering=0) as writer:
        desk.run("promote")
        writer.write(line(SECRET, 0.9, ts=START + 3) + line("late", 0.2))
        receipt = erased(desk, pattern=pattern_of("Tresor"))
        assert traces(desk.paths.root, SECRET) == []
        writer.write(line("later", 0.2))
    assert places(receipt) == {"long-term": (1, 0), "short-term": (1, 0)}
    desk.run("promote")
    assert sorted(desk.contents("short")) == ["kept two", "late", "later"]
    assert balanced(desk) == {"came_in": 6, "short": 3, "long": 1, "erased": 2}


class _Overtaken(Files):
    """A disk on which a writer without a lock is faster: just before each name changes."""

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        self.written = 0

    def rename(self, source: Path, target: Path) -> None:
        if target == self._desk.short_term and self.written < 6:
            self.written += 2
            late = line(f"late {self.written}", 0.2)
            self._desk.echo(late, line(SECRET, 0.9))
        super().rename(source, target)


def test_what_is_echoed_meanwhile_is_kept_and_a_repeat_of_it_goes_as_well(desk: Desk) -> None:
    desk.echo(OTHERS[1], line(SECRET, 0.9))
    own = id_of(desk, SECRET)
    desk.files = _Overtaken(desk)
    receipt = erased(desk, own)

    assert (receipt.ids, traces(desk.paths.root, SECRET)) == ([own], [])
    assert sorted(desk.contents("short")) == ["kept two", "late 2", "late 4", "late 6"]
    assert balanced(desk) == {"came_in": 5, "short": 4, "erased": 1}


def test_a_rehearsal_names_ids_and_places_and_writes_nothing(desk: Desk) -> None:
    desk.echo(line(SECRET, 0.9), *OTHERS)
    desk.run("promote")
    own = id_of(desk, SECRET)
    before = {path: path.stat().st_mtime_ns for path in desk.paths.root.rglob("*")}
    work = desk.work()
    work.rehearsing = True
    receipt = erase(work, "sky", Sought(ids=[own]), dry_run=True)

    assert (receipt.ids, receipt.as_json()["dry_run"]) == ([own], True)
    assert [(one["place"], one["before"], one["after"]) for one in receipt.places] == [
        ("long-term", 1, None)
    ]
    assert {path: path.stat().st_mtime_ns for path in desk.paths.root.rglob("*")} == before


@pytest.mark.parametrize(
    ("source", "goes"),
    [
        pytest.param("document", ["from a document"], id="an origin"),
        pytest.param("manual.pdf", ["from a manual", "by evidence"], id="a file's name"),
        pytest.param("/srv/manual.pdf", ["by evidence"], id="a path"),
        pytest.param("manual", [], id="no part of a name"),
    ],
)
def test_what_came_from_a_source_goes_by_it(desk: Desk, source: str, goes: list[str]) -> None:
    desk.echo(
        line("from a document", origin="document"),
        line("from a manual", metadata={"file": "manual.pdf"}),
        line("by evidence", evidence=["/srv/manual.pdf"]),
        line("of a person", origin="user"),
    )
    receipt = erased(desk, source=source)
    assert len(receipt.ids) == len(goes)
    assert len(desk.contents("short")) == 4 - len(goes)
    assert not {*desk.contents("short")} & {*goes}


def test_everything_of_an_agent_goes_but_what_its_writers_have_in_hand(
    desk: Desk, home: app.Home
) -> None:
    desk.echo(line(SECRET, 0.9), *OTHERS, b"{broken\n")
    desk.run()
    upkeep.pin_memory(home, "sky", id_of(desk, "kept one"))
    upkeep.forget_memories(home, "sky", [id_of(desk, "kept two")])
    (desk.tiers.directory / "scratch").mkdir()
    (desk.tiers.directory / "scratch" / "note.txt").write_text(SECRET)
    desk.echo(line("since", 0.2))
    receipt = erased(desk, everything=True)

    assert len(receipt.ids) == 4
    assert traces(desk.paths.root, SECRET) == []
    left = sorted(os.listdir(desk.tiers.directory))
    assert left == [".lock", "drains", "short_term.jsonl"]
    assert desk.short_term.read_bytes() == b""
    assert balanced(desk) == {"came_in": 4, "erased": 4}
    desk.echo(line("new life", 0.9))
    assert desk.run("promote")["promoted"] == 1


def test_it_needs_no_catalog_and_no_word_index(desk: Desk) -> None:
    desk.echo(line(SECRET, 0.9), *OTHERS)
    desk.run("promote")
    own = id_of(desk, SECRET)
    desk.delete_catalog()
    (desk.paths.state / "catalog.db").write_bytes(b"no database " * 1000)
    assert erased(desk, own).ids == [own]
    assert traces(desk.paths.root, SECRET) == []


def test_nobody_lists_it_while_a_repeat_of_it_waits_in_short_term(desk: Desk) -> None:
    desk.echo(line(SECRET, 0.9))
    erased(desk, id_of(desk, SECRET))
    desk.echo(line(SECRET, 0.9), line("there", 0.9))
    found = listing.recent(desk.work(), "sky", filters_of(), 10, since_us=None)
    assert [one["content"] for one in found] == ["there"]
