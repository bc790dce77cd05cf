"""Vectors on a real Chroma server: what is sent, found, verified and left behind (row R14)."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from skymem.engine.left_behind import left_on_servers
from skymem.stores.home import HomePaths
from tests.engine.chroma_server import COLLECTIONS, ChromaServer, Proxy
from tests.engine.conftest import Bench, text_of
from tests.engine.remote_bench import impatient, server, sizes, use, whole

__all__ = ["impatient", "server"]


def test_what_is_put_is_on_the_server_and_found_through_it(
    bench: Bench, server: ChromaServer
) -> None:
    with Proxy(server) as proxy:
        use(bench, proxy.url)
        bench.put(range(700))
        bench.put(range(700, 800), "recent")
        bench.settle()
        bench.index.drop("sky", ["m3", "m705"])
        bench.put(range(800, 810))
        bench.settle()
        stats = bench.index.stats("sky", 50)
        asked = len(proxy.paths)
        missed = bench.not_found(range(4, 60)) + bench.not_found(range(706, 760))
        queries = proxy.paths[asked:]
        alike = bench.ask("memory of topic5 seen by person9", 10)
        use(bench, None)
        exact = bench.ask("memory of topic5 seen by person9", 10)

    assert sizes(server) == [99, 709]
    assert (stats["missing"], stats["extra"]) == (0, 0)
    assert stats["collections"]["memory"]["chroma"] == 709
    assert stats["collections"]["recent"]["chroma"] == 99
    assert stats["sample"]["asked"] == stats["sample"]["found"] > 40
    assert missed == []
    assert len(queries) == 2 * 110
    assert all(path.endswith("/query") for path in queries)
    assert alike == exact
    assert bench.generation().name  # the only one, and its files are here again


def test_no_text_no_id_and_no_digest_is_ever_sent(bench: Bench, server: ChromaServer) -> None:
    """Promise 9: the ids of writers may say what their memories do."""
    from skymem.engine.items import Item

    with Proxy(server) as proxy:
        use(bench, proxy.url)
        told = [Item(f"visit-to-bob-{each}", f"digest{each}", text_of(each)) for each in range(50)]
        bench.index.put("sky", "memory", told)
        bench.settle()
        bench.index.stats("sky", 50)
        bench.ask(text_of(7))
        bench.index.drop("sky", [each.id for each in told[:10]])
        bench.settle()
        sent = bytes(proxy.sent)
    held = json.dumps(server.get(COLLECTIONS))

    assert b"upsert" in sent
    assert b"delete" in sent
    for secret in ("bob", "digest4", "topic", "person"):
        assert secret.encode() not in sent
        assert secret not in held


def test_bodies_stay_below_what_proxies_let_through(bench: Bench, server: ChromaServer) -> None:
    sizes_of_bodies: list[int] = []
    with Proxy(server) as proxy:
        passing_on = proxy.answer

        def answer(
            method: str, path: str, headers: dict[str, str], body: bytes
        ) -> tuple[int, bytes]:
            sizes_of_bodies.append(len(body))
            return passing_on(method, path, headers, body)

        proxy.answer = answer  # type: ignore[method-assign]
        use(bench, proxy.url)
        bench.put(range(1500))
        bench.settle()

    assert 200_000 < max(sizes_of_bodies) < 1024 * 1024


def test_a_rebuild_encodes_nothing_and_deletes_what_was_there(
    bench: Bench, server: ChromaServer
) -> None:
    use(bench, server.url)
    bench.put(range(400))
    bench.settle()
    before, encoded = set(server.collections()), bench.embedder.encoded
    begun = bench.index.rebuild("sky")
    bench.put(range(400, 420))
    during = set(server.collections())
    answered = bench.ask(text_of(410), 1)
    bench.settle()
    after = server.collections()

    assert before <= during
    assert not before & set(after)
    assert all(name.endswith(begun["generation"]) for name in after)
    assert sorted(after.values()) == [0, 420]
    assert answered == [("m410", 1.0)]
    assert bench.embedder.encoded == encoded + 20
    assert whole(bench)


def test_the_next_engine_goes_on_with_it_and_sends_nothing_again(
    bench: Bench, server: ChromaServer
) -> None:
    with Proxy(server) as proxy:
        use(bench, proxy.url)
        bench.put(range(100))
        bench.settle()
        names = set(server.collections())
        bench.close()
        asked = len(proxy.paths)
        bench.settle()
        again = proxy.paths[asked:]

    assert set(server.collections()) == names
    assert whole(bench)
    assert not [path for path in again if not path.endswith(("count", "query", *names))]


def test_two_homes_and_a_copy_of_one_are_kept_apart_on_one_server(
    bench: Bench, server: ChromaServer, tmp_path: Path
) -> None:
    other = Bench(HomePaths(tmp_path / "other"))
    other.files.make_directory(other.paths.root)
    use(bench, server.url)
    use(other, server.url)
    bench.put(range(100))
    bench.settle()
    other.put(range(100, 160))
    other.settle()
    apart = sizes(server)
    found = (bench.not_found(range(100)), other.not_found(range(100, 160)))
    none = other.ask(text_of(5), 1)
    bench.close()
    shutil.copytree(bench.paths.root, tmp_path / "copy")
    copy = Bench(HomePaths(tmp_path / "copy"), rules=bench.rules)
    copy.put(range(200, 230))
    copy.settle()
    bench.put(range(300, 310))
    bench.tend_until(lambda: whole(bench), "the home noticed what its copy did")
    copy.tend_until(lambda: whole(copy), "the copy has an index of its own")
    for each in (bench, copy):  # each looks once more, and finds what it has left
        each.close()
        each.tend_until(lambda each=each: whole(each), "it is whole")  # type: ignore[misc]
    last = sizes(server)
    for each in (other, copy):
        each.close()

    assert apart == [0, 0, 60, 100]
    assert found == ([], [])
    assert none[0][0] != "m5"
    assert last == [0, 0, 0, 60, 110, 130]


@pytest.mark.parametrize("how", ["gone", "another space", "another dimension", "fewer vectors"])
def test_a_collection_that_is_not_as_it_should_be_is_made_anew(
    bench: Bench, server: ChromaServer, how: str
) -> None:
    """Hazard D8."""
    use(bench, server.url)
    bench.put(range(60))
    bench.settle()
    encoded = bench.embedder.encoded
    bench.close()
    names = list(server.collections())
    (name,) = [each for each in names if "-memory-" in each]
    known = server.get(f"{COLLECTIONS}/{name}")
    if how == "fewer vectors":
        ids = server.ask("POST", f"{COLLECTIONS}/{known['id']}/get", {"limit": 1, "include": []})
        server.ask("POST", f"{COLLECTIONS}/{known['id']}/delete", {"ids": ids["ids"]})
    else:
        server.ask("DELETE", f"{COLLECTIONS}/{name}")
    if how.startswith("another"):
        space, dimension = ("l2", 384) if how == "another space" else ("cosine", 3)
        wanted = {
            "name": name,
            "metadata": known["metadata"],
            "configuration": {"hnsw": {"space": space}},
        }
        made = server.ask("POST", COLLECTIONS, wanted)
        body = {"ids": ["x"], "embeddings": [[1.0] * dimension]}
        server.ask("POST", f"{COLLECTIONS}/{made['id']}/upsert", body)
    bench.settle()
    healed = " ".join(bench.seen()["healed"])

    expected = {"gone": "has no collection", "fewer vectors": "it holds"}
    assert expected.get(how, how.removeprefix("another ")) in healed
    assert "is made anew" in healed
    assert not set(names) & set(server.collections())
    assert sizes(server) == [0, 60]
    assert bench.embedder.encoded == encoded
    assert bench.not_found(range(60)) == []


def test_what_is_left_on_a_server_is_noted_and_deleted_on_return(
    bench: Bench, server: ChromaServer
) -> None:
    """Promise 9: an operator can tell where vectors are."""
    use(bench, server.url)
    bench.put(range(40))
    bench.settle()
    left = sorted(server.collections())
    use(bench, None)
    bench.settle()
    directory = bench.paths.chroma_store / "sky"
    noted = left_on_servers(directory)
    here = bench.index.stats("sky", 40)["sample"]["found"]
    use(bench, server.url)
    bench.settle()

    assert [sorted(each["collections"]) for each in noted] == [left]
    assert noted[0]["server"] == server.url
    assert here == 40
    assert left_on_servers(directory) == []
    assert not set(left) & set(server.collections())
    assert sizes(server) == [0, 40]


def test_another_model_has_collections_of_its_own(bench: Bench, server: ChromaServer) -> None:
    from tests.engine.fake_embedder import FAKE, FakeEmbedder

    use(bench, server.url)
    bench.put(range(30))
    bench.settle()
    bench.close()
    bench.embedder = FakeEmbedder(replace(FAKE, sha256="1" * 64, dimension=96))
    bench.put(range(30))
    bench.settle()

    assert sizes(server) == [0, 30]
    assert bench.not_found(range(30)) == []
