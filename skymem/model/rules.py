"""Retention rules: what is kept, promoted and rotated, as frozen values.

`config.rules_file` reads them from `retention_rules.yaml`; nothing downstream sees a dict.
Rows P4, P7, M5 and design §4.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

Access = Literal["private", "group"]
Backend = Literal["onnx", "sentence-transformers"]


@dataclass(frozen=True, slots=True)
class AgentRules:
    """The rules one agent's memories live under."""

    promote_threshold: float = 0.70
    """Importance, 0 to 1, from which a memory is promoted (row P6)."""

    short_term_max_lines: int = 5000
    """Lines short-term keeps; the oldest beyond it are archived (row P7)."""


@dataclass(frozen=True, slots=True)
class EngineRules:
    """How memories are embedded and indexed (design §5, rows R7, R8, R14)."""

    backend: Backend = "onnx"
    model: str = "all-MiniLM-L6-v2"
    """A name, looked for on this machine, or an absolute path."""

    threads: int = 2
    """Threads of one encode; more than there are idle cores makes it slower."""

    batch_size: int = 32
    """Texts encoded at once, at most; long ones go in smaller batches (memory)."""

    chunks_max: int = 64
    """Pieces of one memory that are embedded; of a longer one its beginning and its end."""

    idle_seconds: float = 900.0
    """Without a request for this long, the engine leaves."""

    download: bool = False
    """Whether a model that is not on this machine may be fetched (promise 9)."""

    recent: bool = True
    """Whether short-term and archives are indexed as well as long-term."""


@dataclass(frozen=True, slots=True)
class RetentionRules:
    """Everything `retention_rules.yaml` says, defaults filled in."""

    default: AgentRules = AgentRules()
    agents: Mapping[str, AgentRules] = field(default_factory=lambda: MappingProxyType({}))
    access: Access = "private"
    """Who may touch the home's files: the owner alone, or its group too (promise 9)."""

    line_bytes_max: int = 1024 * 1024
    """A longer line goes to quarantine unread: it bounds memory (hazard A12)."""

    torn_after_seconds: float = 300.0
    """Silence after which a last line without its newline counts as dead (hazard A20)."""

    engine: EngineRules = EngineRules()

    def for_agent(self, agent: str) -> AgentRules:
        """The agent's own rules, or the home's."""
        return self.agents.get(agent, self.default)
