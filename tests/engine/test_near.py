"""The operation `near`: what of long-term is near to some texts, beyond doubt, and nothing kept."""

import random

import numpy as np
import pytest

from skymem.engine.asking import floats
from skymem.engine.items import Item
from skymem.engine.near import NEAR_MAX
from skymem.engine.operations import read_arguments
from skymem.errors import UsageError
from tests.engine.conftest import Bench, text_of

LEAST = 0.72


def put(bench: Bench, collection: str, texts: list[str]) -> None:
    items = [Item(f"{collection}{n}", "00" * 12, text) for n, text in enumerate(texts)]
    bench.index.put("sky", collection, items)


def test_every_memory_of_long_term_that_is_near_is_told_as_if_all_were_compared(
    bench: Bench,
) -> None:
    chosen = random.Random(7)
    there = list(dict.fromkeys(text_of(chosen.randrange(4000)) for _ in range(200)))
    asked = [text_of(chosen.randrange(4000)) for _ in range(50)]
    put(bench, "memory", there)
    put(bench, "recent", asked)
    found = bench.index.near(asked, LEAST, "sky")
    cosines = bench.embedder.encode(asked) @ bench.embedder.encode(there).T

    told = {(place, name): cosine for place, name, cosine in found["near"]}
    expected = {
        (int(place), f"memory{column}"): float(cosines[place, column])
        for place, column in np.argwhere(cosines >= LEAST)
    }
    assert len(expected) > 3
    assert told.keys() == expected.keys()
    assert all(cosine == pytest.approx(expected[one], abs=1e-5) for one, cosine in told.items())
    assert max(sum(place == one for place, _ in told) for one in range(50)) <= NEAR_MAX
    among = {(earlier, later) for earlier, later, _ in found["among"]}
    own = bench.embedder.encode(asked) @ bench.embedder.encode(asked).T
    assert among == {(int(a), int(b)) for a, b in np.argwhere(np.triu(own, 1) >= LEAST - 1e-6)}


def test_nothing_is_kept_and_what_the_cache_has_is_not_encoded_again(bench: Bench) -> None:
    put(bench, "memory", ["red tea", "blue sea"])
    encoded = bench.embedder.encoded
    found = bench.index.near(["red tea", "green pea", "", "green pea"], 0.99, "sky")
    assert found == {"near": [[0, "memory0", 1.0]], "among": [[1, 3, 1.0]]}
    assert bench.embedder.encoded == encoded + 1
    assert bench.index.near(["green pea"], 0.99, "sky")["near"] == []


def test_an_agent_without_an_index_has_nothing_near_and_gets_none(bench: Bench) -> None:
    assert bench.index.near(["red tea"], 0.5, "hobbs") == {"near": [], "among": []}
    assert bench.index.near(["", " "], 0.5, "hobbs") == {"near": [], "among": []}
    assert not (bench.paths.embeddings / "hobbs").exists()


def test_it_takes_an_agent_and_a_cosine() -> None:
    for given in ({"agent": ""}, {"least": 0}, {"texts": "x"}):
        usual = {"texts": ["x"], "least": 0.9, "agent": "sky"}
        with pytest.raises(UsageError):
            read_arguments("near", usual | given)


# -- the operation `vectors` -----------------------------------------------------------------------


def test_the_vectors_of_texts_are_told_with_their_model_and_none_is_kept(bench: Bench) -> None:
    put(bench, "recent", ["red tea", "blue sea"])
    encoded = bench.embedder.encoded
    found = bench.index.vectors(["red tea", "", "green pea", "red tea"], "sky")
    assert bench.embedder.encoded == encoded + 1
    assert found["model"] == bench.embedder.identity.key
    told = [None if one is None else floats(one) for one in found["vectors"]]
    expected = bench.embedder.encode(["red tea", "green pea"]).tolist()
    assert [None if one is None else [*one] for one in told] == [
        expected[0],
        None,
        expected[1],
        expected[0],
    ]
    assert not bench.index.near(["green pea"], 0.99, "sky")["near"]


def test_who_has_no_index_gets_vectors_and_no_index(bench: Bench) -> None:
    key = bench.embedder.identity.key
    assert bench.index.vectors([], "hobbs") == {"model": key, "vectors": []}
    assert floats(bench.index.vectors(["red tea"], "hobbs")["vectors"][0])
    assert not (bench.paths.embeddings / "hobbs").exists()


def test_too_many_texts_are_refused() -> None:
    with pytest.raises(UsageError, match="2001 texts"):
        read_arguments("vectors", {"texts": ["x"] * 2001, "agent": "sky"})
