"""What the index promises its clients, on real files and real Chroma."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from skymem.engine import agent as agent_module
from skymem.engine.items import Item, piece_name, piece_of
from skymem.engine.store import Store
from skymem.engine.vectors import Vectors
from skymem.errors import UsageError
from skymem.stores.files import Files, Modes
from tests.engine.conftest import Bench, items, text_of
from tests.engine.fake_embedder import FakeEmbedder


def test_every_one_of_3005_memories_finds_itself_first(bench: Bench) -> None:
    """Hazard D6; among them such as say the same words in another order."""
    same = [Item("a", "d", "tea before work"), Item("b", "d", "work before tea")]
    more = [*same, Item("c", "d", "before tea work")]
    bench.index.put("sky", "memory", [*items(range(3000)), *more])
    bench.index.put("sky", "recent", [Item("r1", "d", "left"), Item("r2", "d", "right")])
    exact = bench.not_found(range(3000))
    bench.settle()
    found = [bench.ask(item.text, 1)[0][0] for item in more]

    assert exact == []
    assert found == ["a", "b", "c"]
    assert [bench.ask(text, 1)[0] for text in ("left", "right")] == [("r1", 1.0), ("r2", 1.0)]


def test_through_chroma_the_answer_is_the_exact_one(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.put(range(3000))
    bench.put(range(3000, 3300), "recent")
    bench.settle()
    bench.put(range(3300, 3340), "recent")  # Chroma has yet to get these
    questions = [f"what of topic{n} and person{n}" for n in range(25)] + [text_of(3339)]
    exact = [bench.ask(question) for question in questions]
    monkeypatch.setattr(agent_module, "SCAN_ROWS_MAX", 100)
    asked: list[str] = []
    keeper = bench.index._open["sky"].keeper
    nearest = keeper.nearest

    def noted(collection: str, vectors: Vectors, limit: int) -> list[str]:
        asked.append(collection)
        return nearest(collection, vectors, limit)

    monkeypatch.setattr(keeper, "nearest", noted)
    through = [bench.ask(question) for question in questions]

    assert set(asked) == {"memory", "recent"}
    assert through == exact
    assert bench.not_found(range(0, 3340, 7)) == []


def test_who_only_compares_has_nothing_searched_for(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.put(range(50))
    searched: list[int] = []
    scan = Store.scan

    def noted(store: Store, vectors: Vectors, mask: int, limit: int) -> Any:
        searched.append(limit)
        return scan(store, vectors, mask, limit)

    monkeypatch.setattr(Store, "scan", noted)
    plain = bench.index.query("sky", text_of(1), 1, also=["m1", "m2"])["also"]
    assert len(searched) == 1
    found = bench.index.query("sky", text_of(1), 0, also=["m1", "m2"])

    assert len(searched) == 1
    assert found["hits"] == []
    assert found["also"] == plain
    assert plain["m1"] == pytest.approx(1.0)


def test_a_limit_below_none_is_refused_and_nothing_is_found_in_nothing(bench: Bench) -> None:
    """Hazard D7."""
    with pytest.raises(UsageError):
        bench.ask("x", -1)
    assert bench.index.query("sky", "x", 10)["hits"] == []
    bench.settle()
    assert bench.index.query("sky", "x", 10)["indexed"] == 0
    assert list(bench.paths.chroma_store.rglob("chroma.sqlite3")) == []


def test_a_few_of_one_collection_are_all_found_among_many_of_the_other(bench: Bench) -> None:
    """Hazard D7: 2 of 5,000, asked for 10."""
    bench.put(range(5000))
    bench.index.put("sky", "recent", [Item("x", "d", "lone"), Item("y", "d", "other lone")])
    found = bench.ask(text_of(1), 10, collections=("recent",))

    assert sorted(name for name, _ in found) == ["x", "y"]


def test_an_edited_memory_is_found_by_its_new_text_only(bench: Bench) -> None:
    """Hazard D10."""
    bench.put(range(50))
    bench.settle()
    bench.index.put("sky", "memory", [Item("m7", "new", "wholly different words")])
    missing = bench.index.missing("sky", "memory", [("m7", "d7"), ("m7", "new"), ("m8", "d8")])
    bench.settle()
    stats = bench.index.stats("sky", 50)

    assert missing["missing"] == ["m7"]
    assert bench.ask("wholly different words", 1) == [("m7", 1.0)]
    assert bench.ask(text_of(7), 1)[0][1] < 0.99
    assert stats["collections"]["memory"] == {"memories": 50, "pieces": 50, "chroma": 50}
    assert (stats["missing"], stats["extra"]) == (0, 0)


def test_a_memory_is_in_the_collection_it_was_last_put_to(bench: Bench) -> None:
    bench.put(range(40), "recent")
    bench.settle()
    put = bench.put(range(10))
    bench.settle()
    stats = bench.index.stats("sky", 40)

    assert put["embedded"] == 0
    assert put["cached"] == 10
    assert stats["collections"]["memory"]["chroma"] == 10
    assert stats["collections"]["recent"]["chroma"] == 30
    assert stats["extra"] == 0
    assert bench.ask(text_of(3), 1, collections=("recent",))[0][0] != "m3"
    assert bench.ask(text_of(3), 1, collections=("memory",)) == [("m3", 1.0)]


def test_what_was_dropped_is_gone_here_and_in_chroma(bench: Bench) -> None:
    bench.put(range(30))
    bench.settle()
    dropped = bench.index.drop("sky", ["m3", "m4", "unknown"])
    bench.settle()

    assert dropped == {"dropped": 2}
    assert bench.ask(text_of(3), 30)[0][0] != "m3"
    assert bench.index.stats("sky", 5)["collections"]["memory"]["chroma"] == 28
    assert bench.index.ids("sky", "memory", "m27", 5)["ids"] == ["m28", "m29", "m5", "m6", "m7"]


def test_a_long_text_is_found_by_each_of_its_parts_and_by_itself(bench: Bench) -> None:
    bench.embedder = FakeEmbedder(chunk_words=4)
    long = "one two three four five six seven eight nine ten"
    bench.index.put("sky", "memory", [Item("long", "d", long), Item("end", "d", "nine ten")])

    assert bench.ask("five six seven eight", 1) == [("long", 1.0)]
    assert bench.ask(long, 1) == [("long", 1.0)]
    assert bench.ask("nine ten", 2) == [("end", 1.0), ("long", 1.0)]
    assert bench.seen()["chunks"] == 4


def test_blank_text_counts_as_done_and_is_never_found(bench: Bench) -> None:
    put = bench.index.put("sky", "memory", [Item("blank", "d", " \n")])
    bench.settle()

    assert put["done"] == ["blank"]
    assert bench.index.missing("sky", "memory", [("blank", "d")])["missing"] == []
    assert bench.ask("anything") == []


def test_memories_of_one_text_come_in_order_however_many_are_asked_for(bench: Bench) -> None:
    repeated = [
        Item(f"r{text}-{number}", "d", f"the text number{text}")
        for text in range(12)
        for number in range(1 + text % 7)
    ]
    bench.index.put("sky", "memory", repeated)
    whole = bench.ask("the text number6", len(repeated))

    assert len(whole) == len(repeated)
    assert whole == sorted(whole, key=lambda hit: (-hit[1], hit[0]))
    for limit in range(1, len(repeated)):
        assert bench.ask("the text number6", limit) == whole[:limit]


def test_memories_of_the_same_text_share_a_vector_and_come_in_order_of_id(bench: Bench) -> None:
    twins = [Item(f"t{number:03d}", "d", "the same") for number in range(200)]
    put = bench.index.put("sky", "memory", twins)

    assert put["embedded"] == 1
    assert [name for name, _ in bench.ask("the same", 150)] == [f"t{n:03d}" for n in range(150)]
    assert [name for name, _ in bench.ask("same the", 3)] == ["t000", "t001", "t002"]


def test_other_memories_can_be_compared_with_the_question(bench: Bench) -> None:
    bench.put(range(20))
    found = bench.index.query("sky", text_of(3), 1, also=["m4", "unknown", "m3"])

    assert set(found["also"]) == {"m3", "m4"}
    assert found["also"]["m3"] == pytest.approx(1.0)
    assert found["indexed"] == 20


@pytest.mark.parametrize("name", ["a", "a#1", "#", "1#2#3", "ü#", "x" * 500])
def test_the_name_of_a_piece_tells_whose_it_is(name: str, bench: Bench) -> None:
    bench.index.put("sky", "memory", [Item(name, "d", "some text")])
    bench.settle()

    assert piece_of(piece_name(name, 7)) == (name, 7)
    assert bench.index.stats("sky", 1)["sample"] == {"asked": 1, "found": 1}
    assert bench.ask("some text", 1) == [(name, 1.0)]


def test_questions_are_answered_in_the_middle_of_a_put(bench: Bench) -> None:
    bench.put(range(100))
    answers: list[str] = []
    bench.between = lambda: answers.append(bench.ask(text_of(5), 1)[0][0])
    bench.put(range(100, 300))

    assert answers == ["m5"] * 6
    assert bench.not_found(range(0, 300, 11)) == []


def test_a_cache_that_is_lost_in_the_middle_of_a_put_is_encoded_again(bench: Bench) -> None:
    bench.put(range(100))
    lost: list[str] = []

    def lose() -> None:
        if not lost:
            lost.append(bench.index.query("sky", "x", 1)["epoch"])
            shutil.rmtree(bench.cache())
            bench.ask("anything")

    bench.between = lose
    put = bench.put(range(50, 150))
    bench.settle()

    assert put["embedded"] == 100
    assert put["epoch"] != lost[0]
    assert bench.not_found(range(50, 150)) == []
    assert bench.index.stats("sky", 9)["collections"]["memory"]["chroma"] == 100


def test_more_agents_than_may_be_open_are_served_each_with_its_own(bench: Bench) -> None:
    agents = [f"agent{number}" for number in range(11)]
    for number, agent in enumerate(agents):
        bench.put(range(number, number + 5), agent=agent)
        bench.settle()
    found = [bench.ask(text_of(number), 1, agent=agent) for number, agent in enumerate(agents)]

    assert found == [[(f"m{number}", 1.0)] for number in range(11)]
    assert len(bench.index._open) <= 8
    assert len(bench.index.overview()["agents"]) == 11


def test_a_question_to_a_cold_engine_does_not_wait_for_chroma(bench: Bench) -> None:
    bench.put(range(100))
    bench.settle()
    bench.close()
    code = (
        "import sys; from pathlib import Path; from skymem.stores.home import HomePaths\n"
        "from tests.engine.conftest import Bench, text_of\n"
        "print(Bench(HomePaths(Path(sys.argv[1]))).ask(text_of(9), 1), 'chromadb' in sys.modules)"
    )
    command = [sys.executable, "-c", code, str(bench.paths.root)]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=root)

    assert done.stdout.strip() == "[('m9', 1.0)] False"


def test_no_word_of_a_memory_is_on_the_disk_and_nobody_else_may_read_it(bench: Bench) -> None:
    bench.index.put("sky", "memory", [Item("m", "d", "Zanzibar is a secret")])
    bench.settle()
    bench.close()
    files = [path for path in bench.paths.root.rglob("*") if path.is_file()]

    assert any(path.name == "chroma.sqlite3" for path in files)
    assert [path for path in files if b"anzibar" in path.read_bytes()] == []
    assert [path for path in files if path.stat().st_mode & 0o077] == []


def test_in_a_shared_home_the_group_may_read_and_replace_it_all(bench: Bench) -> None:
    bench.paths.root.chmod(0o2770)
    bench.files = Files(Modes(0o660, 0o2770, os.getegid()))
    bench.put(range(1100))
    bench.settle()
    bench.close()
    inside = list(bench.paths.root.rglob("*"))

    assert [path for path in inside if path.is_dir() and path.stat().st_mode & 0o777 != 0o770] == []
    assert [path for path in inside if path.stat().st_mode & 0o007] == []
    assert [path for path in inside if not path.stat().st_mode & 0o040] == []


def test_what_was_promoted_meanwhile_stays_in_long_term(bench: Bench) -> None:
    """A slow run read it in short-term before it was promoted, and hands it over after."""
    bench.index.put("sky", "memory", [Item("a", "d1", "the ferry leaves at nine")])
    told = bench.index.put("sky", "recent", [Item("a", "d1", "the ferry leaves at nine")])
    assert told["done"] == ["a"]
    assert bench.index.ids("sky", "memory", "", 10)["ids"] == ["a"]
    assert bench.index.ids("sky", "recent", "", 10)["ids"] == []

    bench.index.put("sky", "recent", [Item("a", "d2", "another memory of that name")])
    assert bench.index.ids("sky", "recent", "", 10)["ids"] == ["a"]
