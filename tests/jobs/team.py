"""A home of several agents whose jobs run as `Home.run_job` runs them, under a clock of its own."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from skymem.jobs import runner
from skymem.jobs.forget import Wanted, forget
from skymem.jobs.fsck import fsck
from skymem.jobs.workplace import Workplace
from skymem.model.memory import Memory
from skymem.model.rules import RetentionRules, ShareRule
from skymem.policy.bound import Bound
from skymem.policy.share import shared_from
from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from skymem.stores.shelf import tier_entries
from tests.conftest import START


@dataclass
class Team:
    """A home of several agents under a clock of its own."""

    root: Path
    rules: RetentionRules
    clock: float = START + 100

    @property
    def paths(self) -> HomePaths:
        return HomePaths(self.root)

    def work(self, files: Files | None = None, *, bound: str | None = None) -> Workplace:
        """A workplace; with `bound`, as a handle of that agent has it."""
        made = Workplace(self.paths, files or Files(), self.rules, lambda: self.clock, lambda: None)
        return replace(made, bound=None if bound is None else Bound(bound), door="python")

    def share_by(self, *rules: ShareRule) -> None:
        self.rules = self.rules._replace(share=rules)

    def remember(self, agent: str, *lines: bytes) -> None:
        shelf = self.work(bound=agent).shelf(agent)
        shelf.ensure()
        shelf.append(lines)

    def add(self, agent: str, *lines: bytes) -> None:
        """Remember, and promote."""
        self.remember(agent, *lines)
        self.run("promote", agent)

    def run(
        self, job: str, *agents: str, files: Files | None = None, dry_run: bool = False
    ) -> dict[str, Any]:
        self.clock += 1
        work = self.work(files)
        return runner.run(work, job, agents or work.agents(), dry_run=dry_run)[0]

    def long(self, agent: str) -> list[Memory]:
        path = self.paths.agent(agent).long_term
        return [entry.memory for entry in tier_entries(path)]

    def texts(self, agent: str) -> list[str]:
        return [memory.content for memory in self.long(agent)]

    def copies(self, agent: str) -> list[Memory]:
        return [memory for memory in self.long(agent) if shared_from(memory) is not None]

    def id_of(self, agent: str, text: str) -> str:
        return next(str(one.source_id) for one in self.long(agent) if one.content == text)

    def forget(self, agent: str, name: str) -> None:
        self.clock += 1
        table = {"forget": forget(Wanted(frozenset({name}), None))}
        runner.run(self.work(), "forget", [agent], table=table)

    def check(self) -> None:
        """What fsck says, of the files and of the ledger's chain."""
        findings = fsck(self.work(), self.work().agents(), all_agents=True)
        assert findings.problems == []

    def ledger(self, op: str, agent: str) -> list[dict[str, Any]]:
        """The entries of one operation about one agent."""
        entries = [entry for _, entry in self.work().ledger().read_from(0)]
        return [one for one in entries if one["op"] == op and one.get("agent") == agent]
