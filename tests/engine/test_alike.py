"""The operation `alike`: each text with the earlier one nearest to it, and nothing kept."""

import random
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from skymem.engine.items import ALIKE_CHARACTERS, ALIKE_TEXTS_MAX
from skymem.engine.operations import read_arguments
from skymem.engine.wire import FRAME_BYTES_MAX, pack
from skymem.errors import DiskError, EngineUnavailableError, UsageError
from skymem.policy.draft import ALIKE_MAX
from skymem.policy.summary import LEAD_CHARACTERS
from skymem.stores.home import RULES_FILE, HomePaths
from tests.engine.conftest import Bench, text_of
from tests.engine.processes import REAL, EngineHome, home

__all__ = ["home"]

ROOT = Path(__file__).resolve().parents[2]


def pairs(bench: Bench, texts: list[str], least: float) -> list[tuple[int, int, float]]:
    return list(bench.index.alike(texts, least, "sky")["pairs"])


def files(home: Path) -> list[str]:
    return sorted(str(path) for path in home.rglob("*"))


def test_each_text_is_with_the_earlier_one_that_is_nearest(bench: Bench) -> None:
    chosen = random.Random(5)
    texts = [text_of(chosen.randrange(4000)) for _ in range(300)]
    found = pairs(bench, texts, 0.6)
    vectors = bench.embedder.encode(texts).astype(np.float64)
    expected = {}
    for later in range(1, len(texts)):
        cosines = vectors[:later] @ vectors[later]
        if cosines.max() >= 0.6:
            expected[later] = cosines.max()

    assert 100 < len(expected) < 299
    assert [later for _, later, _ in found] == sorted(expected)
    for earlier, later, cosine in found:
        assert earlier < later
        assert cosine == pytest.approx(expected[later], abs=1e-5)
        assert float(vectors[earlier] @ vectors[later]) == pytest.approx(cosine, abs=1e-5)


def test_equal_texts_are_wholly_alike_and_encoded_once(bench: Bench) -> None:
    texts = ["red tea", "blue sea", " red tea ", "", "red tea"]

    assert pairs(bench, texts, 1.0) == [(0, 2, 1.0), (0, 4, 1.0)]
    assert bench.embedder.encoded == 2


@pytest.mark.parametrize("texts", [[], ["alone"], ["", " \n", "\u00a0"], ["one", ""]])
def test_where_there_is_nothing_to_compare_nothing_is_encoded(
    bench: Bench, texts: list[str]
) -> None:
    assert pairs(bench, texts, 0.5) == []
    assert bench.embedder.encoded == 0


def test_nothing_is_kept_of_it(bench: Bench) -> None:
    texts = [text_of(1), text_of(1) + " again", text_of(9)]
    empty = files(bench.paths.embeddings)
    assert pairs(bench, texts, 0.7) != []
    assert files(bench.paths.embeddings) == empty == []
    bench.put(range(3))
    before = files(bench.paths.root)
    assert pairs(bench, texts, 0.7) != []

    assert files(bench.paths.root) == before
    assert bench.index.ids("sky", "memory", "", 10)["ids"] == ["m0", "m1", "m2"]


def test_what_the_index_has_is_not_encoded_again(bench: Bench) -> None:
    texts = [text_of(number) for number in range(60)]
    expected = pairs(bench, texts, 0.5)
    bench.put(range(50), "recent")
    bench.embedder.encoded = 0
    found = pairs(bench, texts, 0.5)

    assert found == expected != []
    assert bench.embedder.encoded == 10


def test_a_register_that_can_not_be_read_costs_only_the_encoding(bench: Bench) -> None:
    (bench.cache() / "register.db").mkdir(parents=True)
    texts = [text_of(number) for number in range(60)]

    assert bench.index.alike(texts, 0.5, "sky") == bench.index.alike(texts, 0.5, "")
    with pytest.raises(DiskError, match="register"):  # the fault
        bench.ask("hello")


def test_queries_are_answered_between_its_batches(bench: Bench) -> None:
    bench.put(range(5))
    answers: list[Any] = []
    bench.between = lambda: answers.append(bench.ask(text_of(3), 1)[0][0])
    found = pairs(bench, [*map(text_of, range(200)), text_of(7)], 0.999)

    assert (7, 200, 1.0) in found
    assert set(answers) == {"m3"}


def test_only_the_beginning_of_a_long_text_counts(bench: Bench) -> None:
    same = "word " * (ALIKE_CHARACTERS // 5)

    assert pairs(bench, [same + "here", same + "there"], 1.0) == [(0, 1, 1.0)]


@pytest.mark.parametrize("letter", ["a", "é", "語", "😀", "\ud800", '"', "\x00"])
def test_as_many_as_may_be_asked_about_fit_a_frame(letter: str) -> None:
    texts = [letter * ALIKE_CHARACTERS] * ALIKE_TEXTS_MAX

    assert len(pack({"args": {"texts": texts, "least": 0.5}})) < FRAME_BYTES_MAX
    assert ALIKE_MAX <= ALIKE_TEXTS_MAX
    assert LEAD_CHARACTERS <= ALIKE_CHARACTERS


@pytest.mark.parametrize(
    "given",
    [
        {"texts": ["a"], "least": 0, "agent": ""},
        {"texts": ["a"], "least": 1.5, "agent": ""},
        {"texts": ["a"], "least": True, "agent": ""},
        {"texts": ["a"], "least": "0.5", "agent": ""},
        {"texts": [1], "least": 0.5, "agent": ""},
        {"texts": ["a"], "least": 0.5, "agent": "../sky"},
        {"texts": "a", "least": 0.5, "agent": ""},
        {"texts": ["a"] * (ALIKE_TEXTS_MAX + 1), "least": 0.5, "agent": ""},
    ],
)
def test_anything_else_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        read_arguments("alike", given)


def test_the_client_refuses_too_many_before_it_starts_anything(home: EngineHome) -> None:
    with pytest.raises(UsageError, match="2001 texts"):
        home.client().alike(["a"] * 2001, 0.5)

    assert home.lines("started.txt") == []


def test_the_client_sends_beginnings_and_gets_pairs(home: EngineHome) -> None:
    texts = ["😀" * 50_000] * ALIKE_TEXTS_MAX

    assert home.client().alike(texts, 0.5) == {"pairs": [[0, ALIKE_TEXTS_MAX - 1, 0.5]]}


def test_it_ends_soon_after_nobody_waits_for_it_any_more(home: EngineHome) -> None:
    """Else the next caller would wait for an answer that nobody wants."""
    client = home.client()
    client.query("sky", "hello", 1)
    with pytest.raises(EngineUnavailableError, match="deadline"):
        client.alike(["sleep 0.2"] * 200, 0.5, deadline_seconds=0.5)
    begun = time.monotonic()
    found = client.alike(["a", "b"], 0.5, deadline_seconds=20.0)

    assert found["pairs"] == [[0, 1, 0.5]]
    assert time.monotonic() - begun < 20.0  # of 40 that it would have slept
    assert home.lines("compared.txt") == ["2"]


def test_queries_overtake_it_in_the_process(home: EngineHome) -> None:
    home.client().query("sky", "hello", 1)
    compared: list[Any] = []
    comparing = threading.Thread(
        target=lambda: compared.append(home.client().alike(["sleep 0.05"] * 60, 0.5))
    )
    comparing.start()
    asking = home.client()
    answered = 0
    while not compared:
        asking.query("sky", "hello", 1)
        answered += not compared
    comparing.join()

    assert answered > 2


@pytest.fixture
def real(tmp_path: Path) -> Iterator[EngineHome]:
    """A home with the real engine."""
    made = EngineHome(HomePaths(tmp_path / "real"), command=REAL)
    made.paths.root.mkdir()
    shutil.copy(ROOT / RULES_FILE, made.paths.rules)
    yield made
    made.end()


def test_the_model_finds_what_says_the_same_in_other_words(real: EngineHome) -> None:
    texts = [
        "The user prefers dark mode in every editor.",
        "Deploys happen on Friday at noon.",
        "",
        "In editors the user likes the dark theme best.",
        "Bob is allergic to peanuts.",
        "Every Friday around noon there is a deploy.",
        "Bob is allergic to peanuts.",
    ]
    found = real.client().alike(texts, 0.6)["pairs"]

    assert [(one, other) for one, other, _ in found] == [(0, 3), (1, 5), (4, 6)]
    assert all(0.6 <= cosine <= 1.0 for _, _, cosine in found)
    assert found[2][2] == 1.0
    assert not real.paths.embeddings.exists() or not any(real.paths.embeddings.iterdir())


def test_a_text_is_compared_with_each_of_others(bench: Bench) -> None:
    texts = [text_of(number) for number in range(20)]
    vectors = bench.embedder.encode([text_of(3), *texts]).astype(np.float64)
    found = bench.index.likeness(text_of(3), [*texts, "", f" {text_of(3)} "], "sky")["cosines"]

    assert found[:20] == pytest.approx(list(vectors[1:] @ vectors[0]), abs=1e-5)
    assert (found[3], found[20], found[21]) == (1.0, None, 1.0)
    assert files(bench.paths.embeddings) == []


@pytest.mark.parametrize(("text", "texts"), [("", ["a"]), ("a", []), ("a", ["", "\n"])])
def test_where_there_is_nothing_to_read_it_is_like_none(
    bench: Bench, text: str, texts: list[str]
) -> None:
    assert bench.index.likeness(text, texts, "")["cosines"] == [None] * len(texts)
    assert bench.embedder.encoded == 0


def test_comparing_with_one_takes_what_the_index_has(bench: Bench) -> None:
    bench.put(range(8))
    before = bench.embedder.encoded
    bench.index.likeness("something new", [text_of(number) for number in range(8)], "sky")

    assert bench.embedder.encoded == before + 1
