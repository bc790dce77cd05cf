"""What of a scratchpad outlives its conversation, and where it goes (row W2)."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from skymem import app, open_memory
from skymem.agent import AgentMemory
from skymem.app import Home, init_home, open_home
from skymem.errors import DiskError, NotAllowedError
from skymem.stores.files import Files
from skymem.upkeep import forget_memories
from skymem.working import at_hand as module
from skymem.working.scratchpad import Scratchpad

PRINCIPLE = "Refunds above the limit always need a manager's approval."
OBSERVATION = "The sample showed no region yesterday."
LIKE = "The user prefers short answers with a chart."
ASKED = "Remember that the fiscal year starts in February."


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    init_home(tmp_path / "home")
    yield open_home(str(tmp_path / "home"))
    module._hands.clear()


def memory_of(home: Home, agent: str = "sky") -> AgentMemory:
    return open_memory(agent, home=str(home.paths.root))


def configured(home: Home, rules: str) -> Home:
    home.paths.rules.write_text(rules)
    return open_home(str(home.paths.root))


def lines(home: Home, agent: str) -> list[dict[str, Any]]:
    path = home.paths.agent(agent).short_term
    return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []


def agent_md(home: Home, owner: str = "docs-sky") -> str:
    path = home.paths.agent(owner).directory / "agent.md"
    return path.read_text() if path.exists() else ""


def went(detail: dict[str, Any]) -> list[tuple[str | None, str]]:
    return [(one["to"], one["by"]) for one in detail["decisions"]]


def test_each_snippet_goes_where_it_belongs(home: Home) -> None:
    memory = memory_of(home)
    ids = memory.scratchpad.write(PRINCIPLE, OBSERVATION, LIKE, ASKED, user_id="ann", trust=0.7)
    detail = memory.scratchpad.promote()
    assert went(detail) == [
        ("context", "surprisal"),
        (None, "salience"),
        ("preference", "surprisal"),
        ("context", "explicit"),
    ]
    assert (detail["eligible"], detail["acted"]) == (4, 3)
    assert (detail["context"], detail["preferences"]) == (2, 1)
    assert detail["skipped"] == {"salience": 1}
    kept = lines(home, "docs-sky")
    assert [one["content"] for one in kept] == [PRINCIPLE, ASKED]
    assert [one["evidence_ids"] for one in kept] == [ids[:1], ids[3:]]
    assert all((one["origin"], one["trust"]) == ("agent", 0.7) for one in kept)
    assert agent_md(home).count(PRINCIPLE) == agent_md(home).count(ASKED) == 1
    (like,) = memory.preferences.all(user_id="ann")
    assert (like.text, like.evidence_ids, like.trust, like.how) == (
        LIKE,
        (ids[2],),
        0.7,
        "promotion",
    )


def test_promoting_again_adds_nothing_in_this_conversation_or_another(home: Home) -> None:
    memory = memory_of(home)
    memory.scratchpad.write(PRINCIPLE, LIKE)
    memory.scratchpad.promote()
    before = lines(home, "sky"), lines(home, "docs-sky"), agent_md(home)
    again = memory.scratchpad.promote()
    assert went(again) == [(None, "known"), (None, "known")]
    assert again["why"] == "nothing passes; kept: 2 by known"
    assert (lines(home, "sky"), lines(home, "docs-sky"), agent_md(home)) == before
    memory.scratchpad.write(PRINCIPLE.upper(), remember=True)  # it is the newest again
    other = memory.scratchpad.of("c-2")
    other.write(PRINCIPLE, remember=True)
    assert went(memory.scratchpad.promote()) == [(None, "known"), (None, "known")]
    assert went(other.promote()) == [(None, "known")]
    assert agent_md(home) == before[2]


def test_two_snippets_that_say_the_same_go_once(home: Home) -> None:
    memory = memory_of(home)
    memory.scratchpad.write(PRINCIPLE, "Always, a manager's approval refunds above the limit need!")
    assert went(memory.scratchpad.promote()) == [("context", "surprisal"), (None, "known")]


def test_what_long_term_knows_is_no_surprise_unless_it_was_found_again(home: Home) -> None:
    memory = memory_of(home)
    memory.remember("Refunds above the limit need approval by a manager", importance=0.9)
    home.run_job("promote", agent="sky")
    memory.scratchpad.write(PRINCIPLE)
    kept = memory.scratchpad.promote()
    assert went(kept) == [(None, "surprisal")]
    gates = {one["gate"]: one for one in kept["decisions"][0]["gates"]}
    assert gates["surprisal"]["value"] < gates["surprisal"]["threshold"] == 0.35
    assert gates["surprisal"]["note"] == "told by words"
    memory.scratchpad.of("c-2").write("Refunds above the limit always need the manager's approval")
    assert went(memory.scratchpad.promote()) == [("context", "frequency")]


def test_the_thresholds_are_the_rules(home: Home) -> None:
    configured(home, "scratchpad: {salience: 0, surprisal: 0.9, sessions: 5}\n")
    memory = memory_of(home)
    memory.scratchpad.write(OBSERVATION)
    detail = memory.scratchpad.promote()
    assert went(detail) == [("context", "surprisal")]
    shown = {one["gate"]: one["threshold"] for one in detail["decisions"][0]["gates"]}
    assert shown == {"explicit": 1, "salience": 0, "surprisal": 0.9, "frequency": 5}


@pytest.mark.parametrize(
    ("marks", "value"),
    [
        ({"origin": "tool"}, 0.5),
        ({"origin": "import"}, 0.5),
        ({"origin": "user", "trust": 0.3}, 0.3),
    ],
)
def test_what_is_not_believed_stays_whoever_asks(
    home: Home, marks: dict[str, Any], value: float
) -> None:
    memory = memory_of(home)
    memory.scratchpad.write(ASKED, remember=True, **marks)
    memory.scratchpad.write(ASKED, origin="user", trust=1.0)  # written again, it gains no trust
    detail = memory.scratchpad.promote()
    assert went(detail) == [(None, "trust")]
    first = detail["decisions"][0]["gates"][0]
    assert (first["gate"], first["value"], first["threshold"]) == ("trust", value, 0.6)
    assert lines(home, "docs-sky") == []


def test_no_secret_is_promoted(home: Home) -> None:
    memory = memory_of(home)
    key = "AKIA" + "IOSFODNN7QWERTYA"
    line = {"ts": app.now(), "content": f"Remember that the key is {key}.", "session": "default"}
    home.remember("sky", [json.dumps({**line, "record_type": "snippet"}).encode() + b"\n"])
    assert went(memory.scratchpad.promote()) == [("context", "explicit")]
    assert key not in agent_md(home)
    assert "[redacted:" in agent_md(home)
    assert key not in json.dumps(lines(home, "docs-sky"))


def test_what_is_sensitive_stays(home: Home) -> None:
    memory = memory_of(home)
    line = {"ts": app.now(), "content": ASKED, "record_type": "snippet", "session": "default"}
    home.remember("sky", [json.dumps({**line, "sensitivity": "sensitive"}).encode() + b"\n"])
    assert went(memory.scratchpad.promote()) == [(None, "sensitive")]
    assert lines(home, "docs-sky") == []


def test_a_tenant_shares_what_is_promoted(home: Home) -> None:
    configured(home, "tenants: {acme: {agents: [sky, hobbs]}}\n")
    memory_of(home).scratchpad.write(PRINCIPLE)
    memory_of(home).scratchpad.promote()
    (kept,) = lines(home, "tenant-acme")
    assert kept["tenant"] == "acme"
    assert PRINCIPLE in agent_md(home, "tenant-acme")
    hobbs = memory_of(home, "hobbs")
    hobbs.scratchpad.write(PRINCIPLE, remember=True)
    assert went(hobbs.scratchpad.promote()) == [(None, "known")]
    with pytest.raises(NotAllowedError):  # it is reached by promotion, and by nothing else
        hobbs._home.remember("tenant-acme", [b'{"content": "x"}\n'])


def test_leaving_the_scratchpad_takes_nothing_of_it_along(home: Home) -> None:
    memory = memory_of(home)
    memory.scratchpad.write(PRINCIPLE, LIKE)
    memory.scratchpad.promote()
    memory.scratchpad.write(*(f"finding {number}" for number in range(64)))
    assert PRINCIPLE not in map(str, memory.scratchpad.read())
    assert [one.text for one in memory.preferences.all()] == [LIKE]
    assert memory.scratchpad.end() != []
    assert memory.scratchpad.read() == []
    assert Scratchpad(home, "sky").read() == []
    assert [one.text for one in memory.preferences.all()] == [LIKE]
    assert PRINCIPLE in agent_md(home)
    assert [one["content"] for one in lines(home, "docs-sky")] == [PRINCIPLE]


def test_what_a_person_took_away_is_not_promoted_again(home: Home) -> None:
    memory = memory_of(home)
    memory.scratchpad.write(PRINCIPLE, LIKE)
    done = memory.scratchpad.promote()
    forget_memories(home, "docs-sky", [done["decisions"][0]["made"]])
    forget_memories(home, "sky", [done["decisions"][1]["made"]])
    again = memory.scratchpad.promote()
    assert went(again) == [(None, "known"), (None, "known")]
    assert again["decisions"][0]["gates"][0]["note"] == "promoted before"
    assert memory.preferences.all() == []


class Failing(Files):
    """A disk that takes no more appends to business context."""

    def write(self, fd: int, data: bytes | memoryview) -> int:
        if b'"record_type": "context"' in bytes(data):
            raise OSError(28, "No space left on device")
        return super().write(fd, data)


def test_what_could_not_be_written_is_at_the_next_time_and_once(home: Home) -> None:
    memory = memory_of(home)
    memory.scratchpad.write(LIKE, PRINCIPLE)
    whole = memory._home.files
    memory._home.files = Failing()
    with pytest.raises(DiskError):
        memory.scratchpad.report_saved()
    failed = json.loads((home.paths.status / "jobs/scratchpad_promote.json").read_text())["detail"]
    assert (failed["ok"], failed["exit_code"], failed["preferences"]) == (False, 74, 1)
    assert lines(home, "docs-sky") == []
    memory._home.files = whole
    assert went(memory.scratchpad.promote()) == [(None, "known"), ("context", "surprisal")]
    (kept,) = lines(home, "docs-sky")
    assert agent_md(home).count(PRINCIPLE) == 1
    found = module.at_hand(home, "docs-sky").of("context")
    assert f"memory: {found[0].id} -->" in agent_md(home)
    assert kept["content"] == PRINCIPLE


def test_it_is_on_record_and_holds_no_text(home: Home) -> None:
    memory = memory_of(home)
    (name,) = memory.scratchpad.write(PRINCIPLE)
    detail = memory.scratchpad.report_saved()
    made = detail["decisions"][0]["made"]
    status = json.loads((home.paths.status / "jobs/scratchpad_promote.json").read_text())
    assert status["detail"]["because"] == "report_saved"
    entries = [entry for _, entry in home.workplace().ledger().read_from(0)]
    told = [entry for entry in entries if entry["op"] == "scratchpad"]
    assert [entry["agent"] for entry in told] == ["sky", "docs-sky"]
    assert told[0]["decided"][0][:5] == ["outlive", name, "surprisal", 1.0, 0.35]
    assert told[1]["added"] == [["context", made, [name], []]]
    assert "Refunds" not in json.dumps([detail, status, entries])


def test_an_empty_scratchpad_says_so(home: Home) -> None:
    assert memory_of(home).scratchpad.promote()["why"] == "the scratchpad is empty"


def test_a_dry_run_weighs_and_writes_nothing(home: Home) -> None:
    memory = memory_of(home)
    memory.scratchpad.write(PRINCIPLE, OBSERVATION)
    before = sorted(path for path in home.paths.root.rglob("*"))
    detail = memory.scratchpad.promote(dry_run=True)
    assert went(detail) == [("context", "surprisal"), (None, "salience")]
    assert detail["dry_run"] is True
    assert sorted(path for path in home.paths.root.rglob("*")) == before
