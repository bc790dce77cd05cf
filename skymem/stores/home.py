"""Where everything of a home lies on disk (design §3)."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from skymem.errors import DiskError

RULES_FILE = "retention_rules.yaml"
SCHEDULE_FILE = "schedule.yaml"
FORMAT_FILE = "skymem.json"


@dataclass(frozen=True)
class AgentPaths:
    """The files of one agent; a directory under `memory/`. Each path is made once."""

    directory: Path

    @cached_property
    def name(self) -> str:
        """The agent's name."""
        return self.directory.name

    @cached_property
    def short_term(self) -> Path:
        """Where agents append."""
        return self.directory / "short_term.jsonl"

    @cached_property
    def long_term(self) -> Path:
        """What was promoted; append-only."""
        return self.directory / "long_term.jsonl"

    @cached_property
    def drains(self) -> Path:
        """Old short-term files and how far each has been read."""
        return self.directory / "drains"

    @cached_property
    def quarantine(self) -> Path:
        """Bytes that could not be read, with where and why."""
        return self.directory / "quarantine"

    @cached_property
    def trash(self) -> Path:
        """What jobs and people removed, until it is compacted."""
        return self.directory / "trash"

    @property
    def directories(self) -> tuple[Path, ...]:
        """What else there is beside files."""
        return self.drains, self.quarantine, self.trash

    @cached_property
    def protected(self) -> Path:
        """What is pinned, and what was restored of late."""
        return self.directory / "protected.json"

    @cached_property
    def append_lock(self) -> Path:
        """Held for an append, or for the link and rename of a swap."""
        return self.directory / ".lock"


@dataclass(frozen=True, slots=True)
class HomePaths:
    """The files of a home."""

    root: Path

    def must_be_there(self) -> None:
        """Refuse to make a home anew where it was, by writing into it.

        Raises:
            DiskError: it was moved or removed since it was opened.
        """
        if not self.root.is_dir():
            raise DiskError(str(self.root), "the home is not there any more")

    @property
    def own(self) -> tuple[Path, ...]:
        """The directories of the home that are the program's own, and written by it alone."""
        return self.memory, self.state, self.status, self.audit, self.run, self.rag

    @property
    def rules(self) -> Path:
        """What is kept, promoted, forgotten."""
        return self.root / RULES_FILE

    @property
    def schedule(self) -> Path:
        """What runs when."""
        return self.root / SCHEDULE_FILE

    @property
    def format(self) -> Path:
        """In which format the home is; a home without it was made before formats were numbered."""
        return self.root / FORMAT_FILE

    @property
    def memory(self) -> Path:
        """One directory per agent."""
        return self.root / "memory"

    @property
    def flat_short_term(self) -> Path:
        """The first source's path, adopted into the default agent."""
        return self.memory / "short_term.jsonl"

    @property
    def state(self) -> Path:
        """Derived or small: the catalog, last runs."""
        return self.root / "state"

    def recalled(self, agent: str) -> Path:
        """How often which of an agent's memories were recalled."""
        return self.state / "recalled" / f"{agent}.json"

    def recall_events(self, agent: str) -> Path:
        """Which of an agent's memories were recalled when, by which question."""
        return self.state / "recall_events" / agent

    @property
    def promoted_days(self) -> Path:
        """How many lines of each agent came in and were promoted, by day."""
        return self.state / "promoted_days.json"

    def merge_audit(self, agent: str) -> Path:
        """What a person said of an agent's merges, ids only."""
        return self.state / "merge_audit" / f"{agent}.jsonl"

    def redacted(self, agent: str) -> Path:
        """How many secrets of which kind were taken out of an agent's memories."""
        return self.state / "redacted" / f"{agent}.json"

    def importance(self, agent: str) -> Path:
        """The models of what an agent's memories are worth, the last ones."""
        return self.state / "importance" / agent

    @property
    def alarms(self) -> Path:
        """What was told of alarms, and to whom."""
        return self.state / "alarms.json"

    @property
    def clock(self) -> Path:
        """When the clocks were last seen in order."""
        return self.state / "clock.json"

    @property
    def status(self) -> Path:
        """What pollers read."""
        return self.root / "status"

    @property
    def audit(self) -> Path:
        """The ledger."""
        return self.root / "audit"

    @property
    def run(self) -> Path:
        """Process locks and sockets."""
        return self.root / "run"

    @property
    def daemon_lock(self) -> Path:
        """Held by the one daemon for its life."""
        return self.run / "daemon.lock"

    @property
    def api_lock(self) -> Path:
        """Held by the one API for its life."""
        return self.run / "api.lock"

    @property
    def api_socket(self) -> Path:
        """Where the API answers, unless it was told another place."""
        return self.run / "api.sock"

    @property
    def hook_lock(self) -> Path:
        """Held by the one process that keeps recall at hand, for its life."""
        return self.run / "hook.lock"

    @property
    def hook_socket(self) -> Path:
        """Where that one answers prompts."""
        return self.run / "hook.sock"

    @property
    def hook_log(self) -> Path:
        """What it says to nobody in particular."""
        return self.run / "hook.log"

    @property
    def rag(self) -> Path:
        """Vectors, and the lock of the process that owns them."""
        return self.root / "rag"

    @property
    def chroma_store(self) -> Path:
        """One directory per agent, in it one per generation of its index."""
        return self.rag / "chroma_store"

    @property
    def generations_beside(self) -> tuple[Path, Path]:
        """Generations of models that are not in use: in the making, and kept for a rollback."""
        return self.rag / "shadow", self.rag / "kept"

    @property
    def model_record(self) -> Path:
        """Which model is in use, where another one than the configured one is."""
        return self.state / "model.json"

    @property
    def embeddings(self) -> Path:
        """What has been embedded, by agent and model: rebuilding an index encodes nothing."""
        return self.state / "embeddings"

    @property
    def words(self) -> Path:
        """The word indexes of all agents."""
        return self.state / "words"

    def words_of(self, agent: str) -> Path:
        """The word index of an agent."""
        return self.words / f"{agent}.db"

    @property
    def models(self) -> Path:
        """Models made or fetched for this home."""
        return self.state / "models"

    @property
    def engine_lock(self) -> Path:
        """Held by the one engine for its life, beside the store it guards."""
        return self.rag / "engine.lock"

    @property
    def engine_socket(self) -> Path:
        """Where the engine answers; its name may be too long to bind or connect by."""
        return self.run / "engine.sock"

    @property
    def engine_wanted(self) -> Path:
        """Left by who wants an engine that is the daemon's to start."""
        return self.run / "engine.wanted"

    @property
    def engine_log(self) -> Path:
        """What the engine says to nobody in particular: its stderr."""
        return self.run / "engine.log"

    @property
    def engine_status(self) -> Path:
        """What the engine is and has, for those who don't talk to it."""
        return self.status / "engine.json"

    def agent(self, name: str) -> AgentPaths:
        """The files of agent `name`, which must have passed `policy.admit`."""
        return AgentPaths(self.memory / name)

    def job_lock(self, agent: str) -> Path:
        """Held by a job for its whole run on one agent."""
        return self.run / f"job-{agent}.lock"

    def states_lock(self, agent: str) -> Path:
        """Held by whoever reads what something is and writes what it is next (`adapters`)."""
        return self.run / f"states-{agent}.lock"


@dataclass(frozen=True, slots=True)
class ShadowPaths(HomePaths):
    """The same home as a second engine sees it: one that fills the index of the next model.

    The caches are the home's, as each model has its own; all else of an engine is apart.
    """

    @property
    def run(self) -> Path:
        """Its socket, log and locks."""
        return self.root / "run" / "shadow"

    @property
    def engine_lock(self) -> Path:
        """Held by the one shadow of a home."""
        return self.rag / "shadow.lock"

    @property
    def engine_status(self) -> Path:
        """What it says of itself: nobody else's business."""
        return self.run / "engine.json"

    @property
    def chroma_store(self) -> Path:
        """Where generations lie until their model is in use."""
        return self.generations_beside[0]
