"""What the API does with one agent's memories is what the CLI does (row M7)."""

import json
import uuid

import pytest

from tests.serve.conftest import Api


@pytest.fixture
def agent(api: Api) -> str:
    """An agent nobody else uses."""
    name = f"a{uuid.uuid4().hex[:12]}"
    api.remember("the home is named harbour", agent=name)
    return name


def test_what_is_remembered_is_on_disk_and_says_where_it_came_from(api: Api, agent: str) -> None:
    name = api.remember(
        "reports at seven", agent=agent, tags=["time"], importance=0.9, metadata={"job": "daily"}
    )

    last = (api.home / f"memory/{agent}/short_term.jsonl").read_text().splitlines()[-1]
    line = json.loads(last)
    assert (line["content"], line["origin"], line["tags"]) == (
        "reports at seven",
        "agent",
        ["time"],
    )
    shown = api.get(f"/v1/agents/{agent}/memories/{name}").json()
    assert (shown["id"], shown["tier"], shown["memory"]) == (name, "short", line)


def test_lines_come_in_as_they_are_spelled_all_or_none(api: Api, agent: str) -> None:
    good = b'{"ts": 1700000000.50, "content": "kept", "mine": 1e2}\n'
    path, kind = f"/v1/agents/{agent}/lines", {"content-type": "application/x-ndjson"}

    refused = api.client.post(
        path, content=good + b'{"content": "x", "importance": 7}', headers=kind
    )
    taken = api.client.post(path, content=good, headers=kind)

    assert (refused.status_code, refused.json()["error"]["code"]) == (422, 2)
    assert taken.status_code == 201
    text = (api.home / f"memory/{agent}/short_term.jsonl").read_bytes()
    assert text.count(good) == 1


def test_it_is_found_listed_and_put_into_a_prompt(api: Api, agent: str) -> None:
    api.remember("the ferry leaves at nine", agent=agent, tags=["ferry"], metadata={"pier": "4"})
    base = f"/v1/agents/{agent}"

    found = api.get(f"{base}/search", q="ferry", mode="deterministic", meta="pier=4").json()
    listed = api.get(f"{base}/memories", tag="ferry").json()
    block = api.post(f"{base}/context", {"message": "when does the ferry leave?"}).json()
    read = api.get(f"{base}/context", message="when does the ferry leave?").json()

    assert [one["content"] for one in found["results"]] == ["the ferry leaves at nine"]
    assert found["mode"] == "deterministic"
    assert [one["content"] for one in listed["results"]] == ["the ferry leaves at nine"]
    assert "the ferry leaves at nine" in block["text"] == read["text"]


def test_it_is_corrected_forgotten_and_explained(api: Api, agent: str) -> None:
    old = api.remember("the ferry leaves at nine", agent=agent)
    base = f"/v1/agents/{agent}/memories"

    corrected = api.client.patch(f"{base}/{old}", json={"content": "the ferry leaves at ten"})
    new = corrected.json()["id"]
    explained = api.get(f"{base}/{old}/explain").json()
    shown = api.get(f"{base}/{old}").json()
    forgotten = api.client.delete(f"{base}/{new}")

    assert explained["superseded_by"] == new
    assert [shown[key] for key in ("standing", "superseded_by", "survivor")] == [
        "superseded", new, new,
    ]  # fmt: skip
    assert forgotten.json()["forgotten"] == 1
    assert api.get(f"{base}/{new}").json()["tier"] == "trash"
    back = api.get(f"{base}/{old}").json()
    assert (back["standing"], back["survivor"]) == ("active", None)
    assert api.client.delete(f"{base}/{new}").status_code == 404


def test_no_text_gains_trust_by_a_correction(api: Api, agent: str) -> None:
    base = f"/v1/agents/{agent}/memories"
    heard = {"content": "the ferry leaves at nine", "origin": "tool", "trust": 0.3}
    old = api.client.post(base, json=heard).json()["id"]

    corrected = api.client.patch(f"{base}/{old}", json={"content": "the ferry leaves at ten"})
    memory = api.get(f"{base}/{corrected.json()['id']}").json()["memory"]

    assert memory["origin"] == "agent"
    assert memory["trust"] == 0.3


@pytest.mark.parametrize(
    ("query", "wrong"),
    [
        ({"q": "x", "mode": "telepathy"}, "mode"),
        ({"q": "x", "limit": 0}, "limit"),
        ({"q": "x", "since": "yesterdayish"}, "since"),
        ({"q": "x", "meta": "nopair"}, "meta"),
        ({}, "q"),
    ],
)
def test_a_value_that_cannot_be_is_named(
    api: Api, agent: str, query: dict[str, str], wrong: str
) -> None:
    told = api.get(f"/v1/agents/{agent}/search", **query)

    assert (told.status_code, told.json()["error"]["code"]) == (422, 2)
    assert wrong in told.json()["error"]["message"]


def test_what_is_not_there_is_said_as_the_cli_says_it(api: Api, agent: str) -> None:
    told = api.get(f"/v1/agents/{agent}/memories/nosuch")

    assert (told.status_code, told.json()["error"]["code"]) == (404, 24)
    assert api.get("/v1/agents/nobody/search", q="x").status_code == 404
    assert not (api.home / "memory/nobody").exists()


def test_text_that_is_no_text_elsewhere_comes_back_as_it_was(api: Api, agent: str) -> None:
    with (api.home / f"memory/{agent}/short_term.jsonl").open("ab") as stream:
        stream.write(b'{"ts": 1, "content": "half \\ud83d a pair", "id": "lone"}\n')

    assert api.get(f"/v1/agents/{agent}/memories/lone").json()["memory"]["content"] == (
        "half \ud83d a pair"
    )
