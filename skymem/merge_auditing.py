"""Looking at past merges: which there were, what was said of them, and what is to be asked (X9).

What was said is kept in `state/merge_audit/AGENT.jsonl`, ids only, so that a second audit goes on
where the first one ended. Copies word for word are no judgement, and nobody is asked about them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from skymem.app import READER_BUSY_MS, Home
from skymem.errors import UsageError
from skymem.jobs.workplace import Workplace
from skymem.policy.alike import copy_key
from skymem.policy.merge_audit import Merged, Verdicts, figures, read_labels, sample, spelled
from skymem.stores.aspects import EVIDENCE, SUPERSEDES
from skymem.stores.catalog import Catalog
from skymem.stores.files import disk_errors
from skymem.stores.lifecycle import Lifecycle
from skymem.stores.lock import held

LOCK_SECONDS = 5.0


class Texts(NamedTuple):
    """What a merged memory said, and what stands for it."""

    merged: str
    into: str


@dataclass(slots=True)
class Audit:
    """The merges of one agent that are still readable, and what was said of them."""

    home: Home
    agent: str
    merges: Mapping[Merged, Texts]
    """Those whose words differ."""

    copies: int
    """Those that are copies word for word."""

    said: dict[Merged, str]

    def to_ask(self, most: int, seed: int) -> list[Merged]:
        """Some of which nothing was said yet."""
        return sample(self.merges.keys() - self.said.keys(), most, seed)

    def answer(self, verdicts: Verdicts) -> None:
        """Keep what was said.

        Raises:
            DiskError: what was said before stays.
        """
        if not verdicts:
            return
        path = self.home.paths.merge_audit(self.agent)
        work = self.home.workplace()
        work.files.make_directory(path.parent)
        with held(path.with_suffix(".lock"), "another audit", deadline_seconds=LOCK_SECONDS):
            lines = b"".join(spelled(one, verdict) for one, verdict in verdicts.items())
            work.files.append(path, lines)
        self.said |= verdicts

    def labels(self, file: Path, most: int, seed: int) -> dict[Merged, str]:
        """Read what a file says of these merges; of more than are wanted a sample.

        Raises:
            UsageError: a line is none, or is about no merge that is here; names it.
            DiskError: the file can't be read.
        """
        with disk_errors(file):
            lines = file.read_bytes().split(b"\n")
        found = read_labels(lines, str(file))
        for one in found:
            if one not in self.merges:
                ids = [name.encode() for name in one]
                number = next(n for n, line in enumerate(lines, 1) if all(i in line for i in ids))
                what = f"no merge of {self.agent} made {one.merged} part of {one.into}"
                raise UsageError(f"{file}, line {number}: merged: {what}, or its words are gone")
        return {one: found[one] for one in sample(found.keys(), most, seed)}

    def figures(self) -> dict[str, Any]:
        """The rate, and what it rests on: only what is still readable counts."""
        said = {one: verdict for one, verdict in self.said.items() if one in self.merges}
        return {
            "ok": True,
            "agent": self.agent,
            "merges": len(self.merges),
            "copies": self.copies,
            **figures(said),
            "left": len(self.merges) - len(said),
        }


def open_audit(home: Home, agent: str) -> Audit:
    """Find the past merges of an agent.

    Raises:
        AgentNameError, NotAllowedError: there is no such agent, or it is out of reach.
        UsageError: what was said before can't be read; names the line.
    """
    work = home.workplace()
    shelf = work.shelf(agent)
    with work.catalog(busy_ms=READER_BUSY_MS) as catalog:
        texts = work.ask(catalog, shelf, lambda: _texts(work, catalog, agent))
    merges = {one: text for one, text in texts.items() if copy_key(text[0]) != copy_key(text[1])}
    path = home.paths.merge_audit(agent)
    said: dict[Merged, str] = {}
    if path.exists():
        with disk_errors(path):
            said = read_labels(path.read_bytes().split(b"\n"), str(path))
    return Audit(home, agent, merges, len(texts) - len(merges), said)


def _texts(work: Workplace, catalog: Catalog, agent: str) -> dict[Merged, Texts]:
    """What each merge made one, as far as both are there; a summary quotes, and merges nothing."""
    life = Lifecycle(catalog, agent, work.rules.kinds)
    cited = {(one.source, one.target) for one in life.references(EVIDENCE)}
    merges = [
        Merged(one.target, one.source)
        for one in life.references(SUPERSEDES)
        if (one.source, one.target) in cited
    ]
    names = sorted({name for one in merges for name in one})
    kept = {one.id: one for one in work.shelf(agent).read(catalog.find(agent, names))}
    return {
        one: Texts(kept[one.merged].memory.content, kept[one.into].memory.content)
        for one in merges
        if one.merged in kept and one.into in kept and kept[one.into].memory.record_type is None
    }
