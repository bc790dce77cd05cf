"""A household of three agents, each at a door of its own, and what each was told is kept."""

import itertools
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from skymem.app import open_home
from skymem.model.plan import Damage, Entry
from skymem.policy.share import shared_from
from skymem.stores.home import HomePaths
from skymem.stores.shelf import tier_entries
from skymem.stores.tiers import tier_files
from tests.acceptance.homes import Outside, line, told_by, wait_until
from tests.hooks.agents import CodingAgent
from tests.serve.conftest import Api, new_home, serving
from tests.serve.mcp_client import Spoken, speaking

AGENTS: Final = ("sky", "hobbs", "aegis")

RULES: Final = """
agents:
  hobbs: {promote_threshold: 0.7}
  aegis: {promote_threshold: 0.7, short_term_max_lines: 3}
share:
  - {from: sky, to: [hobbs, aegis], kinds: [decision]}
"""

SCHEDULE: Final = """
every:
  - {name: memory_rotate_check, seconds: 2}
  - {name: heartbeat, seconds: 5}
  - {name: share, seconds: 5}
  - {name: prune, seconds: 10}
  - {name: compress, seconds: 10}
"""


@dataclass
class Household:
    """A home, all its doors open, and every text that somebody was told is kept, with its agent."""

    home: Outside
    api: Api
    mcp: Spoken
    hooks: CodingAgent
    daemon: "subprocess.Popen[str]"
    kept: dict[str, str] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def hour(self) -> None:
        """Sky works over the API and has hooks, Hobbs speaks MCP, Aegis appends as shells do."""
        now = next(self.numbers)
        for what, importance in (("decided", 0.9), ("saw", 0.2)):
            kind = "decision" if what == "decided" else "log"
            text = f"sky {what} (hour {now})"
            fields = {"importance": importance, "kind": kind}
            self._keep("sky", text, self.api.remember(text, "sky", **fields))
            text = f"hobbs {what} (hour {now})"
            self._keep("hobbs", text, self.mcp.store(text, importance=importance))
        for what in ("reported", "heard", "smelt", "felt", "watched"):
            text = f"aegis {what} (hour {now})"
            self.echo("aegis", line(text, 0.8 if what == "reported" else 0.3))
            self._keep("aegis", text)
        self._use_a_tool(f"make hour-{now}")
        wait_until(lambda: self._promoted(f"(hour {now})"), f"hour {now} is in long-term")

    def echo(self, agent: str, data: bytes) -> None:
        """Append as `echo >>` does."""
        with self.home.paths.agent(agent).short_term.open("ab", buffering=0) as stream:
            stream.write(data)

    def _use_a_tool(self, command: str) -> None:
        event = {
            "session_id": "day", "hook_event_name": "PostToolUse", "tool_name": "Bash",
            "tool_input": {"command": command}, "tool_response": {"stdout": "done"},
        }  # fmt: skip
        assert self.hooks.tells("tool-use", event).code == 0
        self._keep("sky", f"Bash: {command}\n→ done")

    def _keep(self, agent: str, text: str, name: str = "") -> None:
        self.kept[text] = agent
        self.ids[text] = name

    def _promoted(self, hour: str) -> bool:
        files = [self.home.paths.agent(agent).long_term for agent in AGENTS]
        return all(one.exists() and hour.encode() in one.read_bytes() for one in files)

    def end(self) -> None:
        """Close every door, the daemon last; each ends well."""
        assert self.api.end() == 0
        self.daemon.send_signal(signal.SIGTERM)
        told = told_by(self.daemon)
        assert told.code == 0, told


@contextmanager
def household(root: Path) -> Iterator[Household]:
    """Open all doors of a new home; leave nothing of them behind."""
    home = Outside(HomePaths(new_home(root / "home", RULES)))
    (home.paths.root / "schedule.yaml").write_text(SCHEDULE)
    for agent in AGENTS:
        home.paths.agent(agent).directory.mkdir(parents=True, exist_ok=True)
    with ExitStack() as doors:
        doors.callback(home.close)
        api = doors.enter_context(serving(home.paths.root))
        mcp = doors.enter_context(speaking(home.paths.root, "hobbs"))
        daemon = home.start("run")
        doors.callback(_stop, daemon)
        yield Household(home, api, mcp, CodingAgent(home.paths), daemon)


def _stop(daemon: "subprocess.Popen[str]") -> None:
    """End it with what it has started, where the day was broken off."""
    if daemon.poll() is None:
        daemon.send_signal(signal.SIGTERM)
        told_by(daemon)


def places_of(root: Path, agent: str) -> Counter[str]:
    """How often each text stands in an agent's tiers and trash, copies of others' left out."""
    shelf = open_home(str(root)).shelf(agent)
    entries = [*shelf.short_entries()]
    for _, path in tier_files(shelf.paths):
        entries += tier_entries(path)
    assert all(isinstance(one, Entry) for one in entries), entries
    memories = [one.memory for one in (*entries, *shelf.trash.all()) if not isinstance(one, Damage)]
    return Counter(one.content for one in memories if shared_from(one) is None)
