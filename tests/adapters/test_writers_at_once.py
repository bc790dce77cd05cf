"""Several writers of one item, threads or processes: no state is lost, and one is the newest."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from skymem.adapters.langgraph import SkymemStore
from skymem.adapters.mem0 import Memory
from skymem.stores.home import HomePaths
from skymem.stores.lock import held

WRITERS = 3
PUTS = 4
WHO = ("users", "u1")

CHILD = """
import sys
from skymem.adapters.langgraph import SkymemStore
home, writer, puts = sys.argv[1:]
store = SkymemStore("sky", home=home)
for number in range(int(puts)):
    store.put(("users", "u1"), "shared", {"by": writer, "number": number})
    store.put(("users", "u1"), writer, {"number": number})
"""


def lines(home: HomePaths) -> list[dict[str, Any]]:
    text = (home.agent("sky").directory / "short_term.jsonl").read_text()
    return [json.loads(one) for one in text.splitlines()]


def chain(home: HomePaths, key: str) -> list[dict[str, Any]]:
    """The states of an item, and each supersedes just the one before."""
    states = [one for one in lines(home) if one["metadata"].get("item") == key]
    links = [one.get("supersedes", []) for one in states]
    assert links == [[], *([one["id"]] for one in states[:-1])]
    assert [one["ts"] for one in states] == sorted({one["ts"] for one in states})
    return states


def test_writers_in_processes_make_one_chain(home: HomePaths, store: SkymemStore) -> None:
    command = (sys.executable, "-c", CHILD, str(home.root))
    children = [subprocess.Popen([*command, f"w{n}", str(PUTS)]) for n in range(WRITERS)]
    assert [child.wait() for child in children] == [0] * WRITERS

    states = chain(home, "shared")
    assert len(states) == WRITERS * PUTS
    (newest,) = store.search(WHO, filter={"by": {"$ne": None}})
    assert newest.value == states[-1]["metadata"]["value"]
    for n in range(WRITERS):
        assert len(chain(home, f"w{n}")) == PUTS
        got = store.get(WHO, f"w{n}")
        assert got is not None
        assert got.value == {"number": PUTS - 1}


def test_writers_in_threads_make_one_chain(home: HomePaths, store: SkymemStore) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: store.put(WHO, "shared", {"n": n}), range(12)))

    assert len(chain(home, "shared")) == 12
    assert len(store.search(WHO)) == 1


def test_an_update_is_made_of_what_is_there_then(home: HomePaths, mem0: Memory) -> None:
    (told,) = mem0.add("I like tea", user_id="u1")["results"]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: mem0.update(told["id"], metadata={f"n{n}": n}), range(12)))

    kept = mem0.get(told["id"])
    assert kept is not None
    assert kept["metadata"] == {f"n{n}": n for n in range(12)}
    assert len(mem0.history(told["id"])) == 13


def test_a_put_waits_for_no_job(home: HomePaths, store: SkymemStore) -> None:
    home.run.mkdir(exist_ok=True)
    with held(home.job_lock("sky"), "compress", deadline_seconds=30.0):
        store.put(WHO, "a", {"n": 1})
        store.put(WHO, "a", {"n": 2})
        got = store.get(WHO, "a")

    assert got is not None
    assert got.value == {"n": 2}


def test_a_writer_that_was_killed_leaves_all_or_nothing(home: HomePaths) -> None:
    """Killed in the middle of its batches, whenever that is: the two items are never apart."""
    code = """
import sys
from langgraph.store.base import PutOp
from skymem.adapters.langgraph import SkymemStore
store = SkymemStore("sky", home=sys.argv[1])
for number in range(100_000):
    store.batch([PutOp(("users", "u1"), key, {"number": number}) for key in ("left", "right")])
    print(number, flush=True)
"""
    with subprocess.Popen(
        [sys.executable, "-c", code, str(home.root)], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        for _ in range(3):
            child.stdout.readline()
        child.kill()
    store = SkymemStore("sky", home=str(home.root))
    left, right = (store.get(WHO, key) for key in ("left", "right"))

    assert left is not None
    assert right is not None
    assert left.value == right.value
    assert left.value["number"] >= 2
    store.put(WHO, "left", {"number": -1})
    assert chain(home, "left")[-1]["metadata"]["value"] == {"number": -1}


def test_a_put_for_which_the_disk_has_no_room_leaves_the_item_as_it_was(
    home: HomePaths, store: SkymemStore
) -> None:
    code = """
import os, resource, sys
from skymem.adapters.langgraph import SkymemStore
from skymem.errors import DiskError
store = SkymemStore("sky", home=sys.argv[1])
size = os.stat(sys.argv[2]).st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 1000, size + 1000))
try:
    store.put(("users", "u1"), "a", {"text": "x" * 5000})
except DiskError:
    print("no room")
"""
    store.put(WHO, "a", {"n": 1})
    short_term = home.agent("sky").short_term
    before = short_term.read_bytes()
    command = [sys.executable, "-c", code, str(home.root), str(short_term)]
    told = subprocess.run(command, capture_output=True, text=True, check=True)

    assert told.stdout == "no room\n"
    assert short_term.read_bytes() == before
    store.put(WHO, "a", {"n": 2})
    got = store.get(WHO, "a")
    assert got is not None
    assert got.value == {"n": 2}
