"""An erasure that is killed at any step is ended by what comes next, and ends as any other (X5)."""

import os
import shutil
import time
from pathlib import Path

import pytest

from skymem import app, erasure, upkeep
from skymem.errors import SkymemError
from skymem.jobs.fsck import fsck
from skymem.stores.files import Files
from skymem.stores.shelf import Kept
from tests.conftest import line
from tests.jobs.erased import SECRET, traces

from .faulty import FAULTS, CountedFiles, PowerCut
from .life import look, opened
from .sweep import as_if_from_another_process
from .world import AGENT

DAY = 86_400
WHOLE = os.environ.get("SKYMEM_FAULTS") == "all"
VECTORS = ("rag/chroma_store/sky/g20250101T000000.000000Z", "state/embeddings/sky/model")


def _all(home: app.Home) -> dict[str, Kept]:
    with home.workplace().catalog() as catalog:
        return {kept.memory.content: kept for kept in home.shelf("sky").find("", catalog)}


def _make(root: Path) -> None:
    """A home that has it in every place, among others; a writer had the first drain open."""
    app.init_home(root)
    home = app.open_home(str(root))
    with (root / AGENT / "short_term.jsonl").open("ab", buffering=0) as late:
        old = time.time() - 9 * DAY
        for text in (f"{SECRET}, archived.", "Kept, archived."):
            late.write(line(text, 0.1, ts=old, kind="preference"))
        home.run_job("compress")
        late.write(line(f"{SECRET}, promoted.", 0.9) + line("Kept, promoted.", 0.9))
        late.write(line(f"{SECRET}, torn.")[:-28] + b"\n")
        late.write(line(f"{SECRET}, thrown away.") + line("Kept, thrown away."))
        home.run_job("promote")
    names = {text: kept.id for text, kept in _all(home).items()}
    gone = [names[f"{one}, thrown away."] for one in (SECRET, "Kept")]
    upkeep.pin_memory(home, "sky", names[f"{SECRET}, promoted."])
    upkeep.forget_memories(home, "sky", gone)  # whose drain stays
    with (root / AGENT / "short_term.jsonl").open("ab", buffering=0) as stream:
        stream.write(line(f"{SECRET}, new.", 0.2) + line("Kept, new.", 0.2))
    for place in VECTORS:
        (root / place).mkdir(parents=True)
        (root / place / "vectors.f32").write_bytes(b"\1\2\3\4" * 100)


def _erase(root: Path, files: Files | None = None) -> None:
    receipt = erasure.erase_memories(opened(root, files), "sky", match="Müllerin")
    assert receipt.complete or files is not None, receipt.left


def _has_begun(root: Path) -> bool:
    return bool([*root.glob("state/erasures/sky/[!.]*.json")])


def _check(root: Path, expected: dict[str, list[str]]) -> None:
    """As an undisturbed erasure leaves it."""
    assert traces(root, SECRET) == []
    assert look(root).tiers() == expected
    assert [*root.glob("state/erasures/sky/*")] == []
    assert not any((root / place).exists() for place in VECTORS)
    found = fsck(opened(root).workplace(), ["sky"])
    assert found.problems == []
    assert found.memories["sky"]["erased"] == 4


# Each step dies once; torn writes and a full disk are tried at some of them: the rest is alike.
@pytest.mark.parametrize(
    ("fault", "stride"),
    [("killed", 1), ("killed in the middle of a write", 5), ("ENOSPC for good", 7)],
)
def test_whichever_step_it_was_broken_at_it_ends_the_same(
    fault: str, stride: int, disk: Path
) -> None:
    template = disk / "template"
    _make(template)
    assert len(traces(template, SECRET)) >= 6
    whole = disk / "undisturbed"
    shutil.copytree(template, whole)
    counted = CountedFiles()
    _erase(whole, counted)
    expected = look(whole).tiers()
    assert expected["Preferences:\n- Kept, archived."] == ["long"]
    _check(whole, expected)
    begun = 0
    for step in range(1, len(counted.steps) + 2, 1 if WHOLE else stride):
        root = disk / f"{step}"
        shutil.copytree(template, root)
        files = FAULTS[fault](step)
        try:
            _erase(root, files)
        except (PowerCut, SkymemError):
            assert files.fired
        as_if_from_another_process(root)
        if step % 4 < 2 and _has_begun(root):
            begun += 1
            assert opened(root).run_job("promote")[0]["ok"]
        else:
            _erase(root)
        _check(root, expected)
        shutil.rmtree(root)
    assert begun > 8
