"""Export, then import, makes an equal home, byte for byte where it is lived in (X12)."""

import io
import json
import tarfile
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skymem.agent import AgentMemory
from skymem.app import Home, init_home, open_home
from skymem.erasure import erase_memories
from skymem.errors import NotAllowedError, UsageError
from skymem.exchange import own
from skymem.exchange.container import ArchiveDamagedError, Piece, packed
from skymem.exchange.giving import give
from skymem.exchange.importing import import_from
from skymem.jobs.fsck import fsck
from skymem.model.rules import AgentRules
from skymem.profiles import upsert_user_profile
from skymem.stores.files import Files
from skymem.upkeep import correct_memory, forget_memories, pin_memory
from tests.conftest import START, line
from tests.faults.faulty import DyingFiles, PowerCut

ASKED = ("tea", "deploy", "of many", "coffee", "handbook", "late")


def made(place: Path) -> Home:
    init_home(place)
    return open_home(str(place))


def lived_in(place: Path, papers: Path) -> tuple[Home, IO[bytes]]:
    """A home with something in every place there is; and a writer that keeps an old file open."""
    home = made(place)
    home.rules = home.rules._replace(default=AgentRules(0.7, 40))
    memory = AgentMemory(home, "sky")
    home.remember(
        "sky", [line(f"note {n} of many, about tea", n / 100, n + START) for n in range(90)]
    )
    home.remember("sky", [line("mine", 0.1, id="a-writer's-own"), b'{"torn', b"\n"])
    home.remember("sky", [line("seldom, twice", 0.1), line("seldom, twice", 0.1)])
    held = home.shelf("sky").paths.short_term.open("ab", buffering=0)
    home.run_job("memory_rotate_check")
    held.write(line("a late line about tea", 0.2))
    names = [memory.remember(f"deploy {n} on Mondays", importance=0.95) for n in range(4)]
    home.run_job("promote")
    forget_memories(home, "sky", [names[0]])
    correct_memory(home, "sky", names[1], "deploy 1 on Tuesdays")
    pin_memory(home, "sky", names[2])
    upsert_user_profile(home, "sky", evidence_ids=[names[3]], preferences=["deploy 3 on Mondays"])
    memory.scratchpad.of("s1").write("coffee is out", "the deploy waits")
    papers.mkdir()
    (papers / "handbook.md").write_text("The handbook says how to deploy.\n\n" * 3)
    memory.documents.add(papers)
    memory.documents.upload_agent_md("# How to be\n\nBe kind.\n")
    AgentMemory(home, "hobbs").remember("hobbs drinks coffee", importance=0.9)
    home.run_job("promote", agent="hobbs")
    return home, held


def lines_of(home: Home, agent: str) -> dict[str, Counter[bytes]]:
    """The lines of each tier; of short-term as readers see it, each once: a repeat is no other."""
    shelf = home.shelf(agent)
    found: dict[str, Counter[bytes]] = {"short": Counter(), "trash": Counter()}
    tails = [(path, start) for path, start in shelf.drains.tails()]
    for path, start in [*tails, (shelf.paths.short_term, 0)]:
        data = path.read_bytes()[start:] if path.exists() else b""
        found["short"] |= Counter({one: 1 for one in data.split(b"\n") if one.startswith(b'{"ts"')})
    for tier, _, lines in shelf.tier_lines({"long", "archive"}, {}):
        found.setdefault(tier, Counter()).update(raw for _, raw, _ in lines if raw)
    found["trash"].update(one.line for one in shelf.trash.all())
    return found


def recalled(home: Home, agent: str) -> dict[str, list[tuple[str, str, str]]]:
    memory = AgentMemory(home, agent)
    return {
        asked: [(one.id, one.tier, one.content) for one in memory.recall(asked, limit=200)]
        for asked in ASKED
    }


def balanced(home: Home) -> None:
    findings = fsck(home.workplace(), home.agents())
    assert [one for one in findings.memories.values() if one["lost"] or one["doubled"]] == []
    assert home.workplace().ledger().verify()[1] == []


@pytest.fixture
def old(tmp_path: Path) -> Iterator[Home]:
    home, held = lived_in(tmp_path / "old", tmp_path / "papers")
    with held:
        yield home


def test_a_home_that_is_lived_in_comes_over_whole(old: Home, tmp_path: Path) -> None:
    told = give(old, old.agents(), tmp_path / "e.tar", START)
    new = made(tmp_path / "new")
    got = import_from(new, tmp_path / "e.tar", None, "sky", START)

    assert set(told["agents"]) == {"docs-sky", "hobbs", "sky"}
    assert got["format"] == "skymem"
    for agent in told["agents"]:
        assert lines_of(new, agent) == lines_of(old, agent)
        assert recalled(new, agent) == recalled(old, agent)
        before, after = (home.shelf(agent).paths for home in (old, new))
        for name in ("protected.json", "agent.md"):
            ours, theirs = before.directory / name, after.directory / name
            assert ours.exists() == theirs.exists()
            assert not ours.exists() or ours.read_bytes() == theirs.read_bytes()
        kept = {one.name: one.read_bytes() for one in before.quarantine.glob("*")}
        assert {one.name: one.read_bytes() for one in after.quarantine.glob("*")} == kept
    assert all(lines_of(old, "sky")[tier] for tier in ("short", "long", "archive", "trash"))
    assert list(old.shelf("sky").quarantine.directory.iterdir())
    memory = AgentMemory(new, "sky")
    assert [one.text for one in memory.scratchpad.of("s1").read()]
    assert "Be kind" in memory.documents.agent_md
    balanced(new)

    again = import_from(new, tmp_path / "e.tar", None, "sky", START)
    assert again["imported"] == 0
    assert set(again["skipped"]) == {"known"}


def test_one_that_was_killed_goes_on_without_doubles(
    old: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    give(old, ["sky"], tmp_path / "e.tar", START)
    monkeypatch.setattr(own, "BATCH_LINES", 7)
    whole = lines_of(old, "sky")
    new = made(tmp_path / "new")
    new.make_ready("sky")
    kills = 0
    for step in range(3, 400, 7):
        new.files = DyingFiles(step, torn=step % 2 == 0)
        try:
            import_from(new, tmp_path / "e.tar", None, "sky", START)
            break
        except PowerCut:
            kills += 1
    new.files = Files()
    import_from(new, tmp_path / "e.tar", None, "sky", START)

    assert kills > 3
    found = lines_of(new, "sky")
    assert {name: one for name, one in found.items() if name != "trash"} == {
        name: one for name, one in whole.items() if name != "trash"
    }
    balanced(new)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["short_term.jsonl", "long_term.jsonl", "short_term_archive_x.jsonl"]),
            st.text(min_size=1, max_size=20),
            st.integers(0, 3),
        ),
        max_size=12,
    )
)
def test_whatever_lines_there_are_come_over(
    tmp_path: Path, wanted: list[tuple[str, str, int]]
) -> None:
    place = tmp_path / sha256(repr(wanted).encode()).hexdigest()[:16]
    old, new = made(place / "old"), made(place / "new")
    seen: set[tuple[str, int]] = set()
    for name, text, extra in wanted:
        if (text, extra) in seen:  # a repeat in another tier is the same memory
            continue
        seen.add((text, extra))
        with (old.shelf("sky").paths.directory / name).open("ab") as stream:
            stream.write(line(text, extra / 3, START + extra))
    give(old, ["sky"], place / "e.tar", START)
    got = import_from(new, place / "e.tar", None, "sky", START)

    assert got["imported"] == len(seen)
    assert lines_of(new, "sky") == lines_of(old, "sky")
    assert import_from(new, place / "e.tar", None, "sky", START)["imported"] == 0


def test_what_was_erased_does_not_come_back(tmp_path: Path) -> None:
    home = made(tmp_path / "home")
    home.remember("sky", [line("a secret of Bob", 0.9), line("kept", 0.9)])
    home.run_job("promote")
    give(home, ["sky"], tmp_path / "e.tar", START)
    give(home, ["sky"], tmp_path / "e.jsonl", START, form="jsonl")
    erase_memories(home, "sky", match="a secret of Bob")

    for name in ("e.tar", "e.jsonl"):
        got = import_from(home, tmp_path / name, None, "sky", START)
        assert (got["imported"], got["skipped"]) == (0, {"erased": 1, "known": 1})


def test_of_an_export_of_several_one_may_be_named(old: Home, tmp_path: Path) -> None:
    give(old, ["hobbs", "sky"], tmp_path / "two.tar", START)
    give(old, ["hobbs"], tmp_path / "one.tar", START)
    new = made(tmp_path / "new")
    import_from(new, tmp_path / "two.tar", None, "hobbs", START, named="hobbs")
    import_from(new, tmp_path / "one.tar", None, "calvin", START, named="calvin")

    assert lines_of(new, "hobbs") == lines_of(old, "hobbs") == lines_of(new, "calvin")
    assert not lines_of(new, "sky")["short"]
    with pytest.raises(NotAllowedError):
        import_from(new.bind("sky"), tmp_path / "two.tar", None, "sky", START)
    with pytest.raises(NotAllowedError):
        give(new.bind("sky"), ["hobbs"], tmp_path / "no.tar", START)


def test_a_stream_holds_the_same(old: Home, tmp_path: Path) -> None:
    stream = io.BytesIO()
    give(old, ["hobbs"], stream, START)
    give(old, ["hobbs"], tmp_path / "e.tar", START)
    assert stream.getvalue() == (tmp_path / "e.tar").read_bytes()

    with tarfile.open(tmp_path / "e.tar") as archive:
        manifest = archive.extractfile("MANIFEST.json")
        assert manifest is not None
        assert json.load(manifest)["kind"] == "skymem export"
    with pytest.raises(UsageError, match="there already"):
        give(old, ["hobbs"], tmp_path / "e.tar", START)


def test_what_stands_at_the_path_of_old_goes_too(tmp_path: Path) -> None:
    old, new = made(tmp_path / "old"), made(tmp_path / "new")
    old.remember("sky", [line("here")])
    old.paths.flat_short_term.write_bytes(line("there") + line("without its newline").strip())
    give(old, ["sky"], tmp_path / "e.tar", START)

    assert import_from(new, tmp_path / "e.tar", None, "sky", START)["imported"] == 3


def test_nothing_comes_of_a_damaged_one(old: Home, tmp_path: Path) -> None:
    give(old, ["sky"], tmp_path / "e.tar", START)
    data = bytearray((tmp_path / "e.tar").read_bytes())
    data[data.index(b"deploy 3")] ^= 1
    (tmp_path / "e.tar").write_bytes(bytes(data))
    new = made(tmp_path / "new")
    with pytest.raises(ArchiveDamagedError, match="not as it was written"):
        import_from(new, tmp_path / "e.tar", None, "sky", START)

    assert not any(lines_of(new, "sky").values())


@pytest.mark.parametrize(
    "name",
    [
        "agents/sky/../../../outside", "agents/../key", "agents/SKY/long_term.jsonl",
        "agents/sky/key", "agents/sky/drains/x.jsonl", "audit/key", "agents/sky",
        "agents/sky/trash/../x.jsonl", "agents/sky/quarantine/.hidden", "agents/sky/.lock",
    ],
)  # fmt: skip
def test_a_file_that_is_no_part_of_an_export_is_refused(tmp_path: Path, name: str) -> None:
    pieces = [
        Piece("agents/sky/short_term.jsonl", 0, 0o600, list),
        Piece(name, 1, 0o600, lambda: [b"x"]),
    ]
    about = {"kind": "skymem export", "version": 1}
    (tmp_path / "e.tar").write_bytes(b"".join(packed(pieces, about, START)))
    new = made(tmp_path / "new")
    before = sorted(new.paths.root.rglob("*"))
    with pytest.raises(ArchiveDamagedError):
        import_from(new, tmp_path / "e.tar", None, "sky", START)

    assert sorted(new.paths.root.rglob("*")) == before


def test_whose_id_is_taken_comes_as_one_from_elsewhere(tmp_path: Path) -> None:
    old, new = made(tmp_path / "old"), made(tmp_path / "new")
    for home, text in ((old, "theirs"), (new, "ours")):
        home.remember("sky", [line(text, 0.9, id="m1")])
        home.run_job("promote")
    give(old, ["sky"], tmp_path / "e.tar", START)
    for imported in (1, 0):
        got: dict[str, Any] = import_from(new, tmp_path / "e.tar", None, "sky", START)
        assert got["imported"] == imported

    (found,) = lines_of(new, "sky")["short"]
    assert json.loads(found)["source_id"] == "m1"
    assert json.loads(found)["origin"] == "import"
    balanced(new)
