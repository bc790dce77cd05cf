"""Homes of a size: one agent with very many memories, or very many agents.

Of the memories of one agent the first so many have vectors, made up; the rest are owed to the
index, as after a large import. All were worth keeping long ago, so that no job has anything to do,
and prune has to ask for what is old.
"""

import json
import subprocess
import sys
from pathlib import Path

from benchmarks.recall_home import fill
from benchmarks.texts import each_text
from skymem import app

VECTORS_MAX = 100_000
OF_EACH = 100
"""Memories of each of many agents."""

RULES = "prune: {older_than: 365d, importance_below: 0}\nengine: {recent: false}\n"
"""All that is here is older than that, and nothing is worth less."""


def with_memories(root: Path, count: int, *, vectors: int) -> Path:
    """One agent with so many memories in long-term, the first `vectors` of which have vectors."""
    home = root / f"memories-{count}"
    fill(str(home), count, vectors=False)
    (home / "retention_rules.yaml").write_text(RULES)
    if vectors:
        command = [sys.executable, "-m", "benchmarks.filled_index", str(home), str(vectors)]
        subprocess.run(command, check=True)
    return home


def with_agents(root: Path, count: int) -> Path:
    """So many agents, each with a hundred memories of its own."""
    home = root / f"agents-{count}"
    app.init_home(home)
    (home / "retention_rules.yaml").write_text(RULES)
    for number in range(count):
        directory = home / "memory" / f"agent{number:03}"
        directory.mkdir(parents=True)
        with (directory / "long_term.jsonl").open("w") as stream:
            for each, text in enumerate(each_text(OF_EACH, number)):
                fields = {"id": f"m{each}", "ts": 1_600_000_000 + each, "content": text}
                stream.write(json.dumps({**fields, "importance": 0.8}) + "\n")
    return home
