"""An engine that hangs costs a request its deadline and no more; words answer, and it is told."""

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from skymem.stores.home import HomePaths
from skymem.stores.lock import holder_of
from tests.acceptance.homes import wait_until
from tests.serve.conftest import Api, new_home, serving

SECONDS = 300.0
IBEX = "The ibex lives on the ridge above the glacier"


def engine_of(paths: HomePaths) -> int:
    found = re.search(r"process (\d+)", holder_of(paths.engine_lock))
    return int(found[1]) if found else 0


def done(api: Api, job: str) -> dict[str, Any]:
    """What came of a job, once it has ended."""
    place = api.post(f"/v1/jobs/{job}").headers["location"]
    wait_until(lambda: api.get(place).json()["state"] != "running", f"{job} ends", SECONDS)
    found = api.get(place).json()
    assert isinstance(found, dict)
    return found


@pytest.fixture(scope="module")
def hung(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """An API whose engine has indexed a memory, and then hangs."""
    home = new_home(tmp_path_factory.mktemp("hung") / "home")
    paths = HomePaths(Path(home))
    with serving(home, env={"SKYMEM_ENGINE": "on"}) as api:
        api.remember(IBEX, importance=0.9)
        assert done(api, "promote")["state"] == "done"
        assert done(api, "index")["state"] == "done"
        found = api.get("/v1/agents/sky/search", q="where is the ibex?").json()
        assert (found["mode"], found["degraded"]) == ("fusion", [])
        engine = engine_of(paths)
        os.kill(engine, signal.SIGSTOP)
        try:
            yield api
        finally:
            os.kill(engine, signal.SIGCONT)
            os.kill(engine, signal.SIGTERM)
            wait_until(lambda: engine_of(paths) != engine, "the engine leaves", SECONDS)


def test_words_answer_a_search(hung: Api) -> None:
    found = hung.get("/v1/agents/sky/search", q="ibex ridge").json()

    assert [one["content"] for one in found["results"]] == [IBEX]
    assert found["mode"] == "deterministic"
    assert "engine" in found["degraded"][0]


def test_a_search_by_meaning_alone_is_told_that_there_is_none(hung: Api) -> None:
    told = hung.get("/v1/agents/sky/search", q="ibex ridge", mode="semantic")

    assert told.status_code == 503
    assert "engine" in told.json()["error"]["message"]


def test_words_make_a_context(hung: Api) -> None:
    made = hung.post("/v1/agents/sky/context", {"message": "where is the ibex?"}).json()

    assert IBEX in made["text"]
    assert any("engine" in one for one in made["degraded"])


def test_health_says_so_and_the_api_is_ready_all_the_same(hung: Api) -> None:
    told = hung.get("/health/ready")

    assert told.status_code == 200
    assert told.json()["health"] == "degraded"
    assert any("engine" in one and "does not answer" in one for one in told.json()["reasons"])
    assert hung.get("/health/live").json() == {"alive": True}


def test_what_is_promoted_meanwhile_is_kept_and_indexed_later(hung: Api) -> None:
    name = hung.remember("The chamois lives below it", importance=0.9)
    run = done(hung, "promote")

    assert run["state"] == "done"
    assert run["detail"]["promoted"] == 1
    assert run["detail"]["rag_pending"] == 1
    assert hung.get(f"/v1/agents/sky/memories/{name}").json()["tier"] == "long"
