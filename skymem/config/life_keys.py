"""The configuration keys of a memory's life: compress, merge, prune, trash, budget and kinds."""

from typing import Final

from skymem.config.key import (
    BUDGET,
    COMPRESS,
    CONVERSATION,
    KIND,
    MERGE,
    PRUNE,
    RULES_FILE,
    SUMMARIZER,
    TOP,
    TRASH,
    Key,
)
from skymem.config.units import format_duration, format_percentage
from skymem.model.rules import (
    BudgetRules,
    CompressRules,
    ConversationRules,
    MergeRules,
    PruneRules,
    RetentionRules,
    SummarizerRules,
    TrashRules,
)

_DAY: Final = 86_400
_LONGEST: Final = 100 * 366 * _DAY
"""A century: more is a slip of the hand."""

_COMPRESS: Final = CompressRules()
_MERGE: Final = MergeRules()
_CONVERSATION: Final = ConversationRules()
_PRUNE: Final = PruneRules()
_SUMMARIZER: Final = SummarizerRules("", "")
_BUDGET: Final = BudgetRules()


def _section(name: str, meaning: str, example: str, row: str) -> Key:
    return Key(RULES_FILE, TOP, name, "mapping", "none", meaning, example, row)


def _age(level: str, name: str, default: float | None, meaning: str, row: str) -> Key:
    shown = "none" if default is None else format_duration(default)
    example = f"{name}: {'365d' if default is None else shown}"
    return Key(RULES_FILE, level, name, "duration", shown, meaning, example, row, 1, _LONGEST)


def _share(level: str, name: str, default: float, meaning: str, row: str) -> Key:
    shown = format_percentage(default)
    return Key(RULES_FILE, level, name, "percentage", shown, meaning, f"{name}: {shown}", row, 0, 1)


def _cosine(level: str, default: float, meaning: str, row: str) -> Key:
    return Key(
        RULES_FILE, level, "likeness", "number", f"{default:g}", meaning,
        f"likeness: {default:g}", row, 0.5, 1,
    )  # fmt: skip


def _may(name: str, job: str) -> Key:
    return Key(
        RULES_FILE, KIND, name, "true or false", "as the kind is", f"Whether {job} may have it.",
        f"{name}: false", "N1",
    )  # fmt: skip


LIFE_KEYS: Final = (
    _section(
        "compress", "When short-term is compressed into a profile and projects' records.",
        "compress: {older_than: 48h}", "R9",
    ),
    _age(
        COMPRESS, "older_than", _COMPRESS.older_than_seconds,
        "Age from which memories of short-term are compressed.", "R9",
    ),
    _cosine(
        COMPRESS, _COMPRESS.likeness,
        "Likeness in meaning from which statements stand together in a record.", "R9",
    ),
    Key(
        RULES_FILE, COMPRESS, "items_max", "whole number", str(_COMPRESS.items_max),
        "Memories of one round, at most: bounds what it holds at once; it goes round until done.",
        "items_max: 5000", "R9", 1, 100_000,
    ),
    Key(
        RULES_FILE, COMPRESS, "summarizer", "mapping", "none",
        "A language model that is sent what is compressed, to word it; each sentence is checked.",
        'summarizer: {endpoint: "http://127.0.0.1:11434/v1", model: llama3.2}', "X7",
    ),
    Key(
        RULES_FILE, SUMMARIZER, "endpoint", "URL", "required",
        "Where an OpenAI-compatible API answers, without `/chat/completions`.",
        'endpoint: "http://127.0.0.1:11434/v1"', "X7",
    ),
    Key(
        RULES_FILE, SUMMARIZER, "model", "word", "required", "The model's name there.",
        "model: llama3.2", "X7",
    ),
    Key(
        RULES_FILE, SUMMARIZER, "key_env", "word", "none",
        "Environment variable, in capitals, that holds the key; the key itself stands in no file.",
        "key_env: OPENAI_API_KEY", "X7",
    ),
    Key(
        RULES_FILE, SUMMARIZER, "deadline", "duration",
        format_duration(_SUMMARIZER.deadline_seconds),
        "For all calls of one run; after it sources are quoted.", "deadline: 60s", "X7",
        1, 3600,
    ),
    Key(
        RULES_FILE, SUMMARIZER, "tokens_max", "whole number", str(_SUMMARIZER.tokens_max),
        "Tokens it may write in one run; after that sources are quoted.",
        "tokens_max: 2000", "X7", 1, 10**7,
    ),
    _section("merge", "What is merged.", "merge: {after: 7d}", "N8, P16"),
    _age(
        MERGE, "after", _MERGE.after_seconds,
        "Age from which volatile notes without a time to live are merged.", "N8",
    ),
    Key(
        RULES_FILE, MERGE, "batch", "whole number", str(_MERGE.batch),
        "Such notes merged into one summary.", "batch: 5", "N8", 2, 50,
    ),
    _section(
        "conversation", "When a conversation is summed up, and how briefly.",
        "conversation: {after_turns: 20, summary_chars: 2000}", "W11",
    ),
    Key(
        RULES_FILE, CONVERSATION, "after_turns", "whole number", str(_CONVERSATION.after_turns),
        "Turns since the last summary from which it is time for the next.", "after_turns: 20",
        "W11", 1, 10_000,
    ),
    Key(
        RULES_FILE, CONVERSATION, "after_chars", "whole number", str(_CONVERSATION.after_chars),
        "Or so many characters in them.", "after_chars: 8000", "W11", 1, 10**7,
    ),
    Key(
        RULES_FILE, CONVERSATION, "summary_chars", "whole number",
        str(_CONVERSATION.summary_chars),
        "How long a summary may be; what there is no room for is told.", "summary_chars: 2000",
        "W11", 100, 100_000,
    ),
    _section(
        "prune", "What leaves for trash beside what has expired.",
        "prune: {older_than: 365d, importance_below: 0.3}", "P18",
    ),
    _age(
        PRUNE, "older_than", _PRUNE.older_than_seconds,
        "With `importance_below`: what of long-term and archives is both older and worth less goes "
        "to trash. Short-term is left to rotate and compress.", "P18",
    ),
    Key(
        RULES_FILE, PRUNE, "importance_below", "number", "none",
        "With `older_than`: what of long-term and archives is both worth less and older goes to "
        "trash.",
        "importance_below: 0.3", "P18", 0, 1,
    ),
    _age(
        PRUNE, "superseded_after", _PRUNE.superseded_after_seconds,
        "How long what was superseded stays readable as history.", "M9",
    ),
    _age(
        PRUNE, "archive_older_than", _PRUNE.archive_older_than_seconds,
        "Age from which an archive goes to trash.", "M9",
    ),
    Key(
        RULES_FILE, PRUNE, "archive_max", "size", "none",
        "Size of all archives of an agent together; the oldest beyond it go to trash.",
        "archive_max: 1GiB", "M9", 1024, 900 * 1024**4,
    ),
    _section("trash", "How long trash keeps what was removed.", "trash: {keep: 30d}", "X4"),
    _age(
        TRASH, "keep", TrashRules().keep_seconds,
        "How long `restore` works; `compact` takes what is older.", "X4",
    ),
    _age(
        TOP, "restore_grace", RetentionRules().restore_grace_seconds,
        "How long a restored memory is exempt from the rule that removed it.", "design §4.10",
    ),
    _section(
        "budget", "How much a job may remove by age, importance or size.",
        "budget: {per_run: 10%}", "X4",
    ),
    _share(
        BUDGET, "per_run", _BUDGET.per_run,
        "Share of an agent's tier that one run may remove by judgement.", "X4",
    ),
    _share(
        BUDGET, "per_30_days", _BUDGET.per_30_days,
        "Share of an agent's tier that all runs of 30 days may remove by judgement.", "X4",
    ),
    Key(
        RULES_FILE, BUDGET, "at_least", "whole number", str(_BUDGET.at_least),
        "Memories that may always go, so that a small home can work.", "at_least: 20", "X4",
        0, 10**6,
    ),
    Key(
        RULES_FILE, TOP, "recall_log", "true or false", "true",
        "Whether ids of what is recalled are counted, to protect what is recalled most.",
        "recall_log: true", "X4",
    ),
    _section(
        "kinds", "What is usual for a kind of memory; changes a known kind, or adds one.",
        "kinds: {recipe: {importance: 0.6, merge: true}}", "N1",
    ),
    Key(
        RULES_FILE, KIND, "importance", "number", "as the kind is",
        "What a memory of the kind is worth whose writer gave no importance.",
        "importance: 0.6", "M4", 0, 1,
    ),
    Key(
        RULES_FILE, KIND, "stability", "word", "as the kind is",
        "What `note write` gives a memory of the kind.", "stability: volatile", "N2",
        choices=("volatile", "stable", "permanent"),
    ),
    Key(
        RULES_FILE, KIND, "ttl", "duration", "as the kind is",
        "How long `note write` makes a memory of the kind good for; `none` is for good.",
        "ttl: 30d", "N2", 1, _LONGEST,
    ),
    _may("promote", "promote"),
    _may("compress", "compress"),
    _may("merge", "merge"),
    Key(
        RULES_FILE, KIND, "single", "true or false", "as the kind is",
        "Whether only the newest of a user is active.", "single: true", "N10",
    ),
)  # fmt: skip
"""The table, in the order of the reference."""
