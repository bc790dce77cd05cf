"""The whole story of working memory: what one conversation found out, the next one knows (issue 7).

Three flows write snippets, a report is saved, one snippet becomes business context, one a
preference, and the flow a playbook; the next conversation gets all three, each with its origin.
Told twice: by Python and by the command line, which must come to the same.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from skymem import open_memory
from skymem.app import init_home
from tests.cli.conftest import Shell

RULES = "tenants:\n  acme:\n    agents: [sky, hobbs]\n    users: [ann]\n"
COUNTED = "The sales table has 4,210 rows for May."
PRINCIPLE = "Refunds above the limit always need a manager's approval."
LIKING = "Ann prefers charts to tables."
ASKED = "Make the sales report for May"
NEXT = "Make the sales report for June"
FLOW: dict[str, Any] = {
    "flow_dact": "report",
    "user_query": ASKED,
    "tool_calls": [{"tool": "query_sales", "month": "May"}, {"tool": "render_pdf"}],
    "outcome": "report.pdf",
}
SAID = [
    {"role": "user", "content": ASKED},
    {"role": "assistant", "content": "The report for May is in report.pdf."},
    {"role": "user", "content": "Thanks! We decided to send it to Bob on 3 June."},
]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    init_home(tmp_path / "home")
    (tmp_path / "home/retention_rules.yaml").write_text(RULES)
    return tmp_path / "home"


def told(document: dict[str, Any]) -> dict[str, list[tuple[str, str | None]]]:
    """What each layer of working memory says: the first line of an entry, and its origin."""
    found: dict[str, list[tuple[str, str | None]]] = {}
    for layer in document["layers"]:
        for one in layer["entries"]:
            if "id" in one:
                entry = one["content"].partition("\n")[0], one["origin"]
                found.setdefault(layer["name"], []).append(entry)
    return found


KNOWN = {
    "preferences": [(LIKING, "user")],
    "business": [(PRINCIPLE, "agent")],
    "playbooks": [(f"Playbook report, which went well for: {ASKED}", "agent")],
}
"""What the next conversation knows, wherever it is told."""

OF_THE_FIRST = {
    "conversation": [("Conversation so far, 3 turns:", "agent")],
    "scratchpad": [(COUNTED, "tool"), (PRINCIPLE, "agent"), (LIKING, "user")],
}
"""What the first one has beside that."""


def test_in_python(home: Path) -> None:
    memory = open_memory("sky", home=str(home))
    pad = memory.scratchpad.of("c1")
    pad.write(COUNTED, origin="tool")  # the first flow looks at the data
    pad.write(PRINCIPLE)  # the second reads the handbook
    pad.write(LIKING, remember=True, user_id="ann", origin="user")  # the third talks with Ann
    memory.playbooks.complete(_flow(), session="c1")
    memory.playbooks.continued(session="c1")
    done = pad.report_saved()
    assert (done["eligible"], done["context"], done["preferences"]) == (3, 1, 1)
    memory.conversation.summarize(SAID, (), session="c1", force=True, store=True)

    again = open_memory("sky", home=str(home)).context(NEXT, user_id="ann", session="c2")
    assert told(again.as_json()) == KNOWN
    first = memory.context(NEXT, user_id="ann", session="c1")
    assert told(first.as_json()) == {**KNOWN, **OF_THE_FIRST}
    assert "send it to Bob on 3 June" in first.text

    other = open_memory("hobbs", home=str(home))  # of the same tenant: it shares the business
    other.remember("I am here")
    assert told(other.context(NEXT, user_id="ann").as_json()) == {"business": KNOWN["business"]}


def _flow() -> Any:
    from skymem.model.playbook import Flow

    return Flow(**FLOW)


def test_from_the_command_line(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = Shell(home, monkeypatch, capsys)
    monkeypatch.setenv("SKYMEM_SESSION", "c1")
    write = ("scratchpad", "write")
    shell(*write, COUNTED, "--origin", "tool")
    shell(*write, PRINCIPLE)
    shell(*write, LIKING, "--remember", "--user", "ann", "--origin", "user")
    shell("playbook", "complete", "--stdin", stdin=json.dumps(FLOW).encode())
    shell("playbook", "continued")
    done = shell("scratchpad", "report-saved", "--json").json
    assert (done["eligible"], done["context"], done["preferences"]) == (3, 1, 1)
    turns = b"".join(json.dumps(turn).encode() + b"\n" for turn in SAID)
    summed = shell("conversation", "summarize", "--force", "--store", "--json", stdin=turns)
    assert summed.json["written"]

    asked = ("context", NEXT, "--user", "ann", "--json")
    assert told(shell(*asked, "--session", "c2").json) == KNOWN
    first = told(shell(*asked).json)
    assert first["scratchpad"] == OF_THE_FIRST["scratchpad"]
    assert {name: first[name] for name in KNOWN} == KNOWN
    text = shell("context", NEXT, "--user", "ann", "--session", "c2").out
    for marked in ("[preference, from user, ", "[context, from agent, ", "[playbook, from agent, "):
        assert marked in text
    assert (home / "memory/tenant-acme/agent.md").read_text().count(PRINCIPLE) == 1
