"""A run that takes a secret out breaks at each step: its memory is in one place, and known again.

The line that stays in short-term and the one that came to long-term differ by the secret; that they
are one memory has to hold at every step in between (row X11, promise 1).
"""

import os
import shutil
from pathlib import Path

import pytest

from skymem.jobs.fsck import fsck
from skymem.model.identity import digest
from skymem.model.plan import Entry
from skymem.stores.shelf import tier_entries
from skymem.stores.tiers import tier_files

from .faulty import FAULTS, CountedFiles
from .life import RULES, Life, base, check_records, opened, running
from .sweep import as_if_from_another_process
from .swept import attempt
from .world import AGENT, line

TOKEN = "gl" + "pat-" + "Zx8Qw2Er5Ty7Ui9Op1As"
EVERY = 1 if os.environ.get("SKYMEM_FAULTS") == "all" else 9


def with_secrets(root: Path) -> None:
    lines = [
        line(f"push with {TOKEN}", 0.9),
        line(f"push with {TOKEN}", 0.9),
        line(f"pull with {TOKEN}", 0.9, id="own"),
    ]
    base(root, b"".join(lines) + line(f"old {TOKEN}", 0.5, ttl_days=1))
    (root / "retention_rules.yaml").write_text(RULES)


LIVES = {
    "promote": Life(with_secrets, running("promote"), 2),
    "prune": Life(with_secrets, running("prune"), 1),
}


def memories(root: Path) -> list[str]:
    """Every memory of every tier, by its digest, once for each place it is in."""
    shelf = opened(root).shelf("sky")
    short = {one.digest.hex() for one in shelf.short_entries() if isinstance(one, Entry)}
    tiers = [one.digest.hex() for _, path in tier_files(shelf.paths) for one in tier_entries(path)]
    trash = [digest(one.memory).hex() for one in shelf.trash.all()]
    return sorted([*short, *tiers, *trash])


def check_copies(root: Path) -> None:
    """The secret is in short-term, as it came, and in what was short-term; nowhere else."""
    for path in root.rglob("*"):
        if path.is_file() and TOKEN.encode() in path.read_bytes():
            own = path.parent.name == "drains" or path.name.startswith((".short", "short_term."))
            assert own, path.relative_to(root)


@pytest.mark.parametrize("fault", ["killed", "killed in the middle of a write", "EIO for good"])
@pytest.mark.parametrize("name", LIVES)
def test_a_memory_without_its_secret_is_one_memory_whichever_step_broke(
    name: str, fault: str, tmp_path: Path
) -> None:
    life = LIVES[name]
    life.make(tmp_path / "template")
    before = memories(tmp_path / "template")
    shutil.copytree(tmp_path / "template", tmp_path / "whole")
    counted = CountedFiles()
    life.verb(opened(tmp_path / "whole", counted))
    assert memories(tmp_path / "whole") == before
    for step in range(1, len(counted.steps) + 1, EVERY):
        root = tmp_path / f"{step}"
        shutil.copytree(tmp_path / "template", root)
        files = FAULTS[fault](step)
        attempt(life, root, files)
        check_copies(root)
        as_if_from_another_process(root)
        attempt(life, root)
        assert memories(root) == before, f"{name}, {fault}, step {step}"
        check_copies(root)
        assert fsck(opened(root).workplace(), ["sky"]).valid
        with (root / AGENT / "short_term.jsonl").open("ab") as stream:
            stream.write(line(f"push with {TOKEN}", 0.9))  # it comes once more
        attempt(life, root)
        assert memories(root) == before
        check_records(root)
        shutil.rmtree(root)
