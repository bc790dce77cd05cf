"""What tenants have in common is shared by rule, and nothing that is one's own (row W10)."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skymem.agent import AgentMemory, open_memory
from skymem.app import init_home
from skymem.policy.patterns import Kind, flow, generalised, in_common, statements
from tests.cli.conftest import Shell

NAMES = ("acme", "globex", "initech")
RULES = """
tenants:
  acme: {agents: [sky]}
  globex: {agents: [hobbs, calvin]}
  initech: {agents: [milton]}
  umbrella: {agents: [ada]}
patterns:
  give: [acme, globex, initech]
  take: [acme, umbrella]
"""
AGENTS = {"sky": "acme", "hobbs": "globex", "milton": "initech"}
CALLS = [{"tool": "query_sales", "region": "Ghent"}, {"tool": "render_pdf", "to": "ann@acme.com"}]


@pytest.mark.parametrize(
    ("text", "general"),
    [
        (
            "Refunds over 500 euros need a manager's approval at Acme Corp.",
            "refunds over {number} euros need a manager's approval at {name}",
        ),
        (
            "Always ask Bob before you write to /srv/x.",
            "always ask {name} before you write to {id}",
        ),
        ("Never send PO-77 or a_b.", "never send {id} or {id}"),
        ('They call it "the gold list" on Monday.', "they call it {quoted} on {number}"),
        ("Acme wants three copies.", "{name} wants {number} copies"),
        ("See https://x.example/a and me@x.example.", "{name} {id} and {id}"),
        ("退款需要经理批准", "{name}"),
    ],
)
def test_what_could_tell_whose_it_is_becomes_a_slot(text: str, general: str) -> None:
    assert generalised(text) == general


def test_what_is_slots_alone_says_nothing() -> None:
    assert statements("Ann met Bob. 退款需要经理批准. In 2020 it was so.") == set()


def test_of_a_flow_only_the_names_of_its_tools_are_left() -> None:
    assert flow("report", CALLS) == "report: query_sales → render_pdf"
    assert flow("report", [{"function": {"name": "a", "arguments": "secret"}}]) == "report: a"
    assert flow("Acme report", CALLS) == ""
    assert flow("report", [{"tool": "Ask Ann"}]) == ""
    assert flow("report", [{"region": "Ghent"}]) == ""


@given(
    st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=3, max_size=6), min_size=1, max_size=6),
    st.integers(1, 5),
)
def test_no_word_is_told_that_fewer_tenants_have(texts: list[list[str]], least: int) -> None:
    words = [[f"word{'y' * (ord(one) - 96)}" for one in text] for text in texts]
    told: dict[str, dict[Kind, set[str]]] = {
        f"t{number}": {"statement": statements(" ".join(["we", *some]))}
        for number, some in enumerate(words)
    }
    for pattern in in_common(told, least):
        for word in pattern.text.split():
            assert word == "we" or sum(word in some for some in words) >= max(2, least)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    init_home(tmp_path / "home")
    (tmp_path / "home/retention_rules.yaml").write_text(RULES)
    return tmp_path / "home"


def opened(home: Path, agent: str) -> AgentMemory:
    return open_memory(agent, home=str(home))


def know(home: Path, agent: str, own: str) -> None:
    """A flow and business context that differ from the others' in what is the tenant's own."""
    memory = opened(home, agent)
    calls: list[dict[str, Any]] = [{**call, "secret": own} for call in CALLS]
    memory.playbooks.add("report", user_query=f"Report for {own}", tool_calls=calls, outcome=own)
    memory.scratchpad.write(
        f"Refunds over {len(own)}00 euros need a manager's approval at {own.title()}.",
        f"Nobody but {own} may ship pumps to the moon.",
        f"our {own} recipe is a family secret of old",
        remember=True,
    )
    memory.scratchpad.promote()


def test_what_enough_tenants_have_in_common_is_told_to_those_that_take(home: Path) -> None:
    for agent, tenant in AGENTS.items():
        know(home, agent, f"{tenant}quux")
    expected = [
        ("flow", "report: query_sales → render_pdf", 3),
        ("statement", "refunds over {number} euros need a manager's approval at {name}", 3),
    ]
    for agent in ("sky", "ada"):
        found = opened(home, agent).patterns.list()
        assert [(one.kind, one.text, one.tenants) for one in found] == expected
    assert opened(home, "hobbs").patterns.list() == []  # gives, and does not take


def test_nothing_of_one_tenants_own_leaks_into_a_context(home: Path) -> None:
    for agent, tenant in AGENTS.items():
        know(home, agent, f"{tenant}quux")
    text = opened(home, "ada").context("refunds and reports").text
    assert "[from several tenants] refunds over {number} euros" in text
    for word in ("quux", "acme", "Ghent", "moon", "recipe", "00 euros", "secret"):
        assert word not in text
    assert "several tenants" not in opened(home, "hobbs").context("refunds").text


def test_with_a_tenant_fewer_there_is_nothing(home: Path) -> None:
    for agent in ("sky", "hobbs"):
        know(home, agent, f"{agent}quux")
    know(home, "calvin", "calvinquux")  # of the same tenant as hobbs
    know(home, "ada", "adaquux")  # of a tenant that does not give
    assert opened(home, "sky").patterns.list() == []


def test_it_is_off_unless_the_rules_say_so(home: Path) -> None:
    for agent, tenant in AGENTS.items():
        know(home, agent, f"{tenant}quux")
    (home / "retention_rules.yaml").write_text(RULES.split("patterns:", maxsplit=1)[0])
    memory = opened(home, "sky")
    assert not memory.patterns.taken
    assert memory.patterns.list() == []


def test_what_is_sensitive_or_forgotten_counts_no_more(home: Path) -> None:
    for agent, tenant in AGENTS.items():
        know(home, agent, f"{tenant}quux")
    path = home / "memory/sky/short_term.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    kept = [
        {**one, "sensitivity": "sensitive"} if one.get("record_type") == "playbook" else one
        for one in lines
    ]
    path.write_text("".join(json.dumps(one) + "\n" for one in kept))
    assert [one.kind for one in opened(home, "sky").patterns.list()] == ["statement"]


def test_the_command_tells_the_operator_all_and_an_agent_what_it_may_know(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for agent, tenant in AGENTS.items():
        know(home, agent, f"{tenant}quux")
    shell = Shell(home, monkeypatch, capsys)
    told = shell("patterns", "list", "--json").json
    assert {one["text"] for one in told["patterns"]} >= {"report: query_sales → render_pdf"}
    assert (told["tenants_least"], told["taken"]) == (3, True)
    assert shell("patterns", "list").out.startswith("3 tenants  flow  report: query_sales")
    others = shell("--agent", "hobbs", "patterns", "list")
    assert (others.code, others.out) == (0, "")
    assert "takes no patterns" in others.err
