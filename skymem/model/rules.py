"""Retention rules: what is kept, promoted and rotated, as frozen values.

`config.rules_file` reads them from `retention_rules.yaml`; nothing downstream sees a dict.
Rows P4, P7, M5 and design §4.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

from skymem.model.alarm import USUAL_ALARMS, AlarmRules
from skymem.model.api import NO_API, ApiRules
from skymem.model.caution import USUAL_SECRETS, USUAL_TRUST, SecretRules, TrustRules
from skymem.model.kinds import KINDS, Kinds
from skymem.model.preference import Declared
from skymem.model.promotion import USUAL_PROMOTION, PromotionRules
from skymem.model.tenants import NO_TENANTS, Tenants

Access = Literal["private", "group"]
Backend = Literal["onnx", "sentence-transformers"]
Predict = Literal["off", "missing", "second_opinion"]
ByVectors = Literal["auto", "off"]


class AgentRules(NamedTuple):
    """The rules one agent's memories live under."""

    promote_threshold: float = 0.70
    """Importance, 0 to 1, from which a memory is promoted (row P6)."""

    short_term_max_lines: int = 5000
    """Lines short-term keeps; the oldest beyond it are archived (row P7)."""

    promotion: PromotionRules = USUAL_PROMOTION
    """What else decides about a promotion (rows P13, P14)."""


class RemoteRules(NamedTuple):
    """A Chroma server that holds the vector index in this machine's place (row R14)."""

    url: str
    """Where it answers, without `/api/v2`; https, or http on a loopback address."""

    token_env: str | None = None
    """Name of the environment variable that holds its token."""

    token_file: str | None = None
    """Absolute path of a file that holds its token, and that nobody else can read."""

    ca_file: str | None = None
    """Absolute path of the authority its certificate is trusted by, alone; None: the machine's."""

    timeout_seconds: float = 1.0
    """How long a question waits for it; then it is answered from the cache."""

    tenant: str = "default_tenant"
    database: str = "default_database"


class EngineRules(NamedTuple):
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

    remote: RemoteRules | None = None
    """Where the vector index is, if not on this machine."""


class SummarizerRules(NamedTuple):
    """A language model that may write summaries; every sentence of it is checked (row X7)."""

    endpoint: str
    """URL of an OpenAI-compatible API, up to and without `/chat/completions`."""

    model: str
    key_env: str | None = None
    """Name of the environment variable that holds its key."""

    deadline_seconds: float = 60.0
    """For all calls of one run."""

    tokens_max: int = 2000
    """Tokens it may write in one run."""


class CompressRules(NamedTuple):
    """When and how short-term is compressed (row R9)."""

    older_than_seconds: float = 48 * 3600.0
    likeness: float = 0.86
    """Cosine from which two statements may say the same; numbers and names still part them."""

    items_max: int = 5000
    """Memories of one round: bounds memory; a job goes round until nothing is left."""

    summarizer: SummarizerRules | None = None
    """None writes extracts: sentences as they stand in their sources."""


class DuplicateRules(NamedTuple):
    """When two memories that mean the same become one (row P15)."""

    likeness: float | None = 0.85
    """The cosine from which they may; all they say must agree as well. None: nobody looks.

    No likeness had a false merge in `benchmarks/duplicates.py`; below this little more is found.
    """

    on_promotion: bool = False
    """Whether promote asks the engine about what it is to promote; merge asks in any case."""


class MergeRules(NamedTuple):
    """What is merged (rows N8, P15, P16)."""

    after_seconds: float = 7 * 86_400.0
    """Age from which volatile notes without a time to live are merged."""

    batch: int = 5
    duplicates: DuplicateRules = DuplicateRules()


class PatternRules(NamedTuple):
    """Which tenants share what they have in common (row W10)."""

    give: tuple[str, ...] = ()
    """Tenants whose lines are looked at."""

    take: tuple[str, ...] = ()
    """Tenants that get what is found."""

    tenants_least: int = 3
    """How many must have it in common."""


class PruneRules(NamedTuple):
    """What leaves for trash beside what has expired (rows P18, M9)."""

    older_than_seconds: float | None = None
    """With `importance_below`: what is both older and worth less goes; None removes nothing."""

    importance_below: float | None = None
    superseded_after_seconds: float = 30 * 86_400.0
    """How long what was superseded stays readable as history."""

    archive_older_than_seconds: float | None = None
    archive_bytes_max: int | None = None
    """Of all archives of an agent together."""


class TrashRules(NamedTuple):
    """How long trash keeps what was removed (promise 5)."""

    keep_seconds: float = 30 * 86_400.0


class BudgetRules(NamedTuple):
    """How much jobs may remove by judgement (row X4)."""

    per_run: float = 0.10
    """Share of an agent's tier, 0 to 1."""

    per_30_days: float = 0.30
    at_least: int = 20
    """Always allowed, so that a small home can work."""


class DocumentRules(NamedTuple):
    """How documents are read, cut into chunks and searched (row W8)."""

    chunk_chars: int = 1200
    """Characters of a chunk; a sentence that is longer is cut."""

    overlap_chars: int = 150
    """Of what stands before it, repeated at the beginning of a chunk of the same place."""

    file_bytes_max: int = 32 * 1024 * 1024
    """A larger file is reported and not read."""

    reranker: str | None = None
    """Name or absolute path of the cross-encoder a search ranks again by; None: without one."""


class ScratchpadRules(NamedTuple):
    """What a conversation's scratchpad keeps, and what of it is promoted (rows W1, W2)."""

    keep_seconds: float = 7 * 86_400.0
    """How long a snippet is good for after it was last written: it ends with its conversation, and
    one that is taken up again within days finds it."""

    size: int = 64
    """Snippets of one conversation, at most."""

    salience: float = 0.5
    """Share of a general principle, 0 to 1, from which a snippet may be promoted."""

    surprisal: float = 0.35
    """1 − its best likeness in long-term, from which it is promoted as new."""

    sessions: int = 2
    """Conversations it was found in, from which it is promoted as usual."""


class PlaybookRules(NamedTuple):
    """When a playbook fits what is asked (rows W6, W7)."""

    likeness: float = 0.6
    """Cosine of the question to a playbook's own, from which it fits."""

    words: float = 0.5
    """Share of words that both have, the same where there is no engine."""

    waits_seconds: float = 86_400.0
    """How long a completed flow waits for the next turn."""


class ShareRule(NamedTuple):
    """What other agents may read of one agent's long-term, as copies (row P17)."""

    source: str
    receivers: tuple[str, ...]
    tags: tuple[str, ...] = ()
    """With any of these; none asks for none."""

    kinds: tuple[str, ...] = ()
    trust_min: float = 0.0
    """What is trusted less is not shared."""

    trust_max: float = 1.0
    """No copy is trusted more than this."""


class ConversationRules(NamedTuple):
    """When a conversation is summed up, and how long that may be (row W11)."""

    after_turns: int = 20
    """Turns that no summary stands for yet."""

    after_chars: int = 8_000
    """Or so much text in them."""

    summary_chars: int = 2_000


class ImportanceRules(NamedTuple):
    """Whom a trained model is asked about (row P12); without one nothing is predicted."""

    predict: Predict = "missing"
    """`missing`: memories whose writer gave no importance. `second_opinion`: others as well, to be
    shown beside what was given, which goes on counting."""

    vectors: ByVectors = "auto"
    """Whether it may learn from what texts mean, where that surely serves, and ask the engine."""


class RetentionRules(NamedTuple):
    """Everything `retention_rules.yaml` says, defaults filled in."""

    default: AgentRules = AgentRules()
    agents: Mapping[str, AgentRules] = MappingProxyType({})
    access: Access = "private"
    """Who may touch the home's files: the owner alone, or its group too (promise 9)."""

    line_bytes_max: int = 1024 * 1024
    """A longer line goes to quarantine unread: it bounds memory (hazard A12)."""

    torn_after_seconds: float = 300.0
    """Silence after which a last line without its newline counts as dead (hazard A20)."""

    engine: EngineRules = EngineRules()
    kinds: Kinds = KINDS
    compress: CompressRules = CompressRules()
    merge: MergeRules = MergeRules()
    conversation: ConversationRules = ConversationRules()
    patterns: PatternRules = PatternRules()
    prune: PruneRules = PruneRules()
    trash: TrashRules = TrashRules()
    restore_grace_seconds: float = 30 * 86_400.0
    """How long a restored memory is exempt from the rule that removed it (promise 10)."""

    budget: BudgetRules = BudgetRules()
    tenants: Tenants = NO_TENANTS
    documents: DocumentRules = DocumentRules()
    share: tuple[ShareRule, ...] = ()
    """None: no agent sees another's memories."""

    recall_log: bool = True
    """Whether ids of what is recalled are counted, for canaries (row X4)."""

    scratchpad: ScratchpadRules = ScratchpadRules()

    preferences: Mapping[str, Declared] = MappingProxyType({})
    """Those a user may have (row W3); with none declared any name is good."""

    playbooks: PlaybookRules = PlaybookRules()
    secrets: SecretRules = USUAL_SECRETS
    trust: TrustRules = USUAL_TRUST
    importance: ImportanceRules = ImportanceRules()
    api: ApiRules = NO_API
    """Who may come through the API beside the owner: nobody."""

    alarms: AlarmRules = USUAL_ALARMS

    def for_agent(self, agent: str) -> AgentRules:
        """The agent's own rules, or the home's."""
        return self.agents.get(agent, self.default)
