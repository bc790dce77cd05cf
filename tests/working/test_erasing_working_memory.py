"""Erasing reaches what was made of a memory at its tenant, `agent.md` and documents (row X5)."""

from pathlib import Path

import pytest

import skymem
from skymem import app
from skymem.agent import AgentMemory
from tests.jobs.erased import SECRET, traces


@pytest.fixture
def memory(tmp_path: Path) -> AgentMemory:
    app.init_home(tmp_path / "home")
    return skymem.open_memory("sky", home=str(tmp_path / "home"))


def test_a_snippet_goes_with_the_context_it_was_promoted_to(
    memory: AgentMemory, tmp_path: Path
) -> None:
    memory.scratchpad.write(SECRET, remember=True)
    memory.scratchpad.write("Invoices must always carry a purchase order.", remember=True)
    memory.scratchpad.promote()
    assert len(traces(tmp_path / "home", SECRET)) == 3
    (own,) = [one.id for one in memory.recent() if one.content == SECRET]
    planned, receipt = memory.erase(own, dry_run=True), memory.erase(own)

    assert planned["erased"] == receipt["erased"] == [own]
    assert [one["agent"] for one in receipt["shared"]] == ["docs-sky"]
    assert traces(tmp_path / "home", SECRET) == []
    assert "purchase order" in memory.context().text


def test_a_document_goes_by_its_file_and_is_not_taken_in_again(
    memory: AgentMemory, tmp_path: Path
) -> None:
    path, other = tmp_path / "handbook.md", tmp_path / "tea.md"
    path.write_text(f"# Safe\n\n{SECRET}\n")
    other.write_text("# Tea\n\nTea is free.\n")
    memory.documents.add(str(path), str(other))
    receipt = memory.erase(source="handbook.md")

    assert receipt["erased"] == []
    assert [one["agent"] for one in receipt["shared"]] == ["docs-sky"]
    assert traces(tmp_path / "home", SECRET) == []
    memory.documents.add(str(path), str(other))
    assert traces(tmp_path / "home", SECRET) == []
    path.write_text(f"# Safe\n\n{SECRET}\n\n# More\n\nThe safe is blue.\n")
    memory.documents.add(str(path))
    assert traces(tmp_path / "home", SECRET) == []


def test_everything_of_an_agent_is_its_documents_as_well(
    memory: AgentMemory, tmp_path: Path
) -> None:
    path = tmp_path / "handbook.md"
    path.write_text(f"# Safe\n\n{SECRET}\n")
    memory.documents.add(str(path))
    memory.remember("A blue giraffe")
    memory.erase(everything=True)
    assert traces(tmp_path / "home", SECRET, "A blue giraffe") == []


def test_a_passage_goes_by_its_id(memory: AgentMemory, tmp_path: Path) -> None:
    path = tmp_path / "handbook.md"
    path.write_text(f"# Safe\n\n{SECRET}\n\n# Tea\n\nTea is free.\n")
    memory.documents.add(str(path))
    theirs = skymem.open_memory("docs-sky", home=str(tmp_path / "home"))
    (own,) = [one.id for one in theirs.recent() if SECRET in one.content]
    assert memory.erase(own)["shared"][0]["id"] == own
    assert traces(tmp_path / "home", SECRET) == []
