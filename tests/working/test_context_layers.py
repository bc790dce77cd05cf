"""What working memory gives to a prompt: each layer from its source, and nobody else's (N11)."""

import json
from pathlib import Path
from typing import Any

import pytest

from skymem.agent import AgentMemory, open_memory
from skymem.app import init_home, open_home
from skymem.policy.business import paragraphs
from skymem.policy.context import CHARS_OF
from skymem.recall.context import Context
from skymem.working.documents import Documents

RULES = "tenants:\n  acme:\n    agents: [sky]\n    users: [ann, bob]\n"
AGENT_MD = """# Acme

We sell pumps in Ghent.

## Tone

Be brief.
<!-- skymem:begin -->
- Refunds need a manager <!-- memory: abc -->
<!-- skymem:end -->
"""
FLOW: dict[str, Any] = {
    "user_query": "Make the weekly sales report",
    "tool_calls": [{"tool": "query_sales"}, {"tool": "render_pdf"}],
    "outcome": "a report in PDF",
}


@pytest.fixture
def memory(tmp_path: Path) -> AgentMemory:
    init_home(tmp_path / "home")
    return open_memory("sky", home=str(tmp_path / "home"))


@pytest.fixture
def tenant(tmp_path: Path) -> AgentMemory:
    """An agent whose tenant has business context."""
    init_home(tmp_path / "home")
    (tmp_path / "home/retention_rules.yaml").write_text(RULES)
    directory = tmp_path / "home/memory/tenant-acme"
    directory.mkdir()
    (directory / "agent.md").write_text(AGENT_MD)
    return open_memory("sky", home=str(tmp_path / "home"))


def contents(found: Context) -> dict[str, list[str]]:
    layers = found.as_json()["layers"]
    told = {one["name"]: [each["content"] for each in one["entries"]] for one in layers}
    return {name: said for name, said in told.items() if said and name in CHARS_OF}


def test_where_there_is_no_working_memory_nothing_is_said_and_nobody_asked(
    memory: AgentMemory,
) -> None:
    memory.remember("The report is due on Friday")
    found = memory.context("report")
    assert contents(found) == {}
    assert len(found.degraded) == 1  # of the recall: nothing else asked for an engine
    assert memory.context().degraded == []


def test_preferences_that_apply_stand_there_and_what_is_overruled_does_not(
    memory: AgentMemory,
) -> None:
    preferences = memory.preferences
    preferences.update("verbosity", "terse")
    preferences.update("verbosity", "chatty", user_id="ann")
    preferences.update("tone", "formal", user_id="bob")
    preferences.note("Ann likes charts in reports", user_id="ann", origin="user")
    preferences.add_rule("analysts", when={"persona": "analyst"}, effect={"depth": "deep"})
    assert contents(memory.context()) == {"preferences": ["verbosity: terse"]}
    anns = memory.context("the report", user_id="ann")
    assert contents(anns) == {"preferences": ["Ann likes charts in reports", "verbosity: chatty"]}
    assert "- [preference, from user, trust unstated, " in anns.text
    analyst = memory.context(situation={"persona": "analyst"})
    assert len(contents(analyst)["preferences"]) == 2
    assert "depth is deep" in analyst.text


def test_the_scratchpad_and_the_summary_of_the_conversation_are_of_that_one(
    memory: AgentMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.scratchpad.of("s1").write("Margins fell", "Fuel rose")
    memory.scratchpad.of("s2").write("Ann was ill")
    said = [{"role": "user", "content": "We decided to wait."}]
    memory.conversation.summarize(said, (), session="s1", force=True, store=True)
    told = contents(memory.context("fuel and Ann and margins", session="s1"))
    assert told["scratchpad"] == ["Margins fell", "Fuel rose"]
    assert told["conversation"] == ["Conversation so far, 1 turn:\n- user: We decided to wait."]
    assert contents(memory.context("fuel and Ann")) == {}  # nor as what is recalled
    monkeypatch.setenv("SKYMEM_SESSION", "s2")
    assert contents(memory.context()) == {"scratchpad": ["Ann was ill"]}


def test_a_playbook_that_fits_tells_its_steps_and_is_not_written_down_for_it(
    memory: AgentMemory,
) -> None:
    memory.playbooks.add("report", **FLOW)
    memory.playbooks.add("other", **{**FLOW, "user_query": "Order paper"}, user_id="bob")
    found = contents(memory.context("Make the weekly sales report for May"))
    assert len(found["playbooks"]) == 1
    assert "query_sales" in found["playbooks"][0]
    assert memory.scratchpad.read() == []
    assert contents(memory.context("What is the weather?")) == {}
    assert contents(memory.context()) == {}


def test_business_context_stands_there_for_the_users_of_the_tenant(tenant: AgentMemory) -> None:
    tenant.scratchpad.write("Invoices must always carry a purchase order.", remember=True)
    tenant.scratchpad.promote()
    found = tenant.context(user_id="ann")
    assert contents(found)["business"] == [
        "Invoices must always carry a purchase order.",
        "# Acme\nWe sell pumps in Ghent.",
        "## Tone\nBe brief.",
    ]
    assert "[from agent.md] # Acme" in found.text
    assert "- [context, from agent, trust 0.8, " in found.text
    assert "business" not in contents(tenant.context(user_id="eve"))


def test_documents_answer_a_message_each_passage_with_where_it_stands(
    tenant: AgentMemory, tmp_path: Path
) -> None:
    path = tmp_path / "handbook.md"
    path.write_text("# Warranty\n\nPumps have a warranty of five years.\n\n# Tea\n\nTea is free.\n")
    Documents(open_home(str(tmp_path / "home")), "sky").add(str(path))
    found = tenant.context("How long is the warranty of pumps?", user_id="ann", documents=1)
    (passage,) = contents(found)["documents"]
    assert "five years" in passage
    assert "from document, trust 0.5" in found.text
    assert f"{path}, Warranty] " in found.text
    for other in (
        tenant.context("warranty of pumps", user_id="ann", documents=0),
        tenant.context("warranty of pumps", user_id="eve"),
        tenant.context(user_id="ann"),
    ):
        assert "documents" not in contents(other)


def test_another_agent_of_no_tenant_sees_none_of_it(tenant: AgentMemory) -> None:
    other = open_memory("hobbs", home=str(tenant._home.paths.root))
    assert contents(other.context("pumps in Ghent", user_id="ann")) == {}


def test_what_is_sensitive_or_another_users_stands_in_no_layer(memory: AgentMemory) -> None:
    for record_type in ("snippet", "preference", "conversation"):
        for more in ({"sensitivity": "sensitive"}, {"user_id": "bob"}):
            fields = {"content": "hidden", "record_type": record_type, "session": "default"}
            line = {"ts": 1_790_000_000, **fields, "payload": {"how": "hand"}, **more}
            memory._home.remember("sky", [json.dumps(line).encode() + b"\n"])
    assert "hidden" not in memory.context("hidden", user_id="ann").text


def test_a_layer_takes_no_more_room_than_it_may_and_halves_nothing(memory: AgentMemory) -> None:
    notes = [f"Note {number}: " + "word " * 60 for number in range(12)]
    memory.scratchpad.write(*notes)
    found = memory.context(max_chars=20_000)
    (layer,) = [one for one in found.layers if one.name == "scratchpad"]
    assert sum(len(one.memory.content) for one in layer.pieces) <= CHARS_OF["scratchpad"]
    assert layer.left_out == 12 - len(layer.pieces) > 0
    assert all(one.memory.content in found.text for one in layer.pieces)
    assert memory.context(max_chars=20_000).text == found.text


def test_a_context_of_the_past_is_without_working_memory(memory: AgentMemory) -> None:
    memory.preferences.update("verbosity", "terse")
    assert contents(memory.context(at=4_000_000_000)) == {}


def test_agent_md_is_parted_at_its_headings_without_what_was_promoted() -> None:
    assert paragraphs(AGENT_MD) == ["# Acme\nWe sell pumps in Ghent.", "## Tone\nBe brief."]
    assert paragraphs("") == paragraphs("# Only a title\n") == paragraphs("<!-- a\n\nb -->") == []
