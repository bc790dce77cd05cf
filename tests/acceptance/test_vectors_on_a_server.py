"""A home whose vectors are on a Chroma server, from outside: commands, the engine, a real server.

Each a process of its own, with the real model, and a proxy that wants a token in between (R6, R14).
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from skymem.stores.home import HomePaths
from tests.acceptance.homes import Outside, line, whole
from tests.engine.chroma_server import ChromaServer, Proxy, chroma_server

TOKEN = "t0ken-of-the-house"
FACTS = (
    "The user wants the weekly report at 7am",
    "Her daughter is allergic to peanuts",
    "The car's brakes were replaced in March",
)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ChromaServer]:
    with chroma_server(tmp_path / "server") as made:
        yield made


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Outside]:
    monkeypatch.delenv("SKYMEM_ENGINE")
    monkeypatch.setenv("TOKEN_OF_OURS", TOKEN)
    made = Outside(HomePaths(tmp_path / "home"))
    assert made("init", str(made.paths.root)).code == 0
    yield made
    made.close()


def held_by(server: ChromaServer) -> list[int]:
    return sorted(server.collections().values())


@pytest.fixture
def proxy(home: Outside, server: ChromaServer) -> Iterator[Proxy]:
    """In front of the server, where the home's vectors are."""
    with Proxy(server, TOKEN) as made:
        rules = f"engine:\n  remote:\n    url: {made.url}\n    token_env: TOKEN_OF_OURS\n"
        home.paths.rules.write_text(rules)
        home.echo(*map(line, FACTS))
        home.done("promote")
        assert home.done("index")["degraded"] == []
        yield made


QUESTION = "what must a girl not eat?"


def test_vectors_are_on_the_server_and_nothing_of_the_token_or_the_texts_where_it_should_not_be(
    home: Outside, server: ChromaServer, proxy: Proxy
) -> None:
    recalled = home.done("recall", QUESTION)
    stats = home.done("index", "--stats")
    doctor = home("doctor").out
    told = doctor + home("config", "show").out
    files = [path for path in home.paths.root.rglob("*") if path.is_file()]

    assert recalled["results"][0]["content"] == FACTS[1]
    assert recalled["degraded"] == []
    assert whole(stats) == []
    assert held_by(server) == [0, 3]
    assert f"vectors on {proxy.url}" in " ".join(doctor.split())
    assert "TOKEN_OF_OURS" in told
    assert TOKEN not in told
    assert TOKEN.encode() not in b"".join(path.read_bytes() for path in files)
    assert proxy.turned_away == 0
    assert b"peanuts" not in proxy.sent


def test_recall_index_status_and_doctor_go_on_without_the_server_and_with_it_again(
    home: Outside, server: ChromaServer, proxy: Proxy
) -> None:
    server.kill()
    home.echo(line("The dentist is on Tuesday"))
    home("promote")
    late = home.done("index", "--force")
    without = home.done("recall", QUESTION)
    status = home.done("status")
    check = home("check")
    doctor = home("doctor")
    server.start()
    forced = home.done("index", "--force")
    again = home.done("recall", "when do I see someone about my teeth?")

    reason = f"the Chroma server {proxy.url} "
    assert late["pending"] == 0, "the vectors are there, and only their index is not"
    assert any(reason in told for told in late["degraded"])
    assert without["results"][0]["content"] == FACTS[1]
    assert [told for told in without["degraded"] if told.startswith(reason)]
    assert [one for one in status["alarms"] if one["text"].startswith(f"sky: {reason}")]
    assert check.code == 23
    assert reason in " ".join(doctor.out.split())
    assert forced["embedded"] == 0
    assert held_by(server) == [0, 4]
    assert again["results"][0]["content"] == "The dentist is on Tuesday"
    assert again["degraded"] == []
    assert whole(home.done("index", "--stats")) == []


def test_doctor_tells_where_vectors_were_left(home: Outside, server: ChromaServer) -> None:
    home.paths.rules.write_text(f"engine:\n  remote: {{url: {server.url}}}\n")
    home.echo(*map(line, FACTS))
    home.done("promote")
    home.done("index")
    (name,) = [each for each in server.collections() if "-memory-" in each]
    home.paths.rules.write_text("{}\n")
    home.done("index", "--force")
    told = home("doctor")

    assert whole(home.done("index", "--stats")) == []
    assert name in "".join(told.out.split())
    assert server.url in told.out
