"""The sections about a memory's life: compress, merge, prune, trash, budget; and what follows.

Each key goes by its row of the table of keys; each section ends as a frozen value of
`model.rules`. What belongs together is checked together, once all of it is read.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from skymem.config import fields
from skymem.config.addresses import address, variable
from skymem.config.alarm_section import ALARM_SETTINGS
from skymem.config.api_section import API_SETTINGS
from skymem.config.caution_section import SECRET_SETTINGS, TRUST_SETTINGS
from skymem.config.documents_section import DOCUMENT_SETTINGS
from skymem.config.duplicates_section import duplicate_values, read_duplicates
from skymem.config.importance_section import IMPORTANCE_SETTINGS
from skymem.config.key import (
    ALARMS,
    API,
    BUDGET,
    COMPRESS,
    CONVERSATION,
    DOCUMENTS,
    DUPLICATES,
    IMPORTANCE,
    MERGE,
    PATTERNS,
    PLAYBOOKS,
    PRUNE,
    RULES_FILE,
    SCRATCHPAD,
    SECRETS,
    SUMMARIZER,
    TOP,
    TRASH,
    TRUST,
    Key,
)
from skymem.config.keys import key_at
from skymem.config.kinds_section import read_kinds
from skymem.config.patterns_section import PATTERN_SETTINGS
from skymem.config.preferences_section import read_preferences
from skymem.config.problems import Complaints, shown
from skymem.config.readers import (
    NONE,
    Setting,
    Settings,
    Shown,
    note_lines,
    read_settings,
    seconds,
    show_settings,
)
from skymem.config.tenants_section import read_tenants
from skymem.config.units import format_percentage, format_size
from skymem.config.yaml_nodes import Pair, Table
from skymem.model.rules import RetentionRules, SummarizerRules

_COMPLETIONS: Final = "/chat/completions"


def read_sections(
    root: Table, rules: RetentionRules, complaints: Complaints, lines: dict[str, int]
) -> RetentionRules:
    """Read every section that stands in the file; `lines` is told where each key does."""
    for name in _SECTIONS:
        pair = root.get(name)
        found = fields.table(pair, key_at(RULES_FILE, TOP, name), complaints) if pair else None
        if found is not None:
            note_lines(found, name, name, lines)
            rules = rules._replace(**{name: _section(found, name, rules, complaints)})
    summarizer = _pair_in(root, COMPRESS, "summarizer")
    if summarizer is not None and not fields.says_none(summarizer):
        own = _summarizer(summarizer, complaints, lines)
        rules = rules._replace(compress=rules.compress._replace(summarizer=own))
    duplicates = _pair_in(root, MERGE, "duplicates")
    if duplicates is not None:
        read = read_duplicates(duplicates, rules.merge.duplicates, complaints, lines)
        rules = rules._replace(merge=rules.merge._replace(duplicates=read))
    kinds = root.get("kinds")
    if kinds is not None:
        rules = rules._replace(kinds=read_kinds(kinds, rules.kinds, complaints, lines))
    tenants = root.get("tenants")
    if tenants is not None:
        rules = rules._replace(tenants=read_tenants(tenants, complaints, lines))
    preferences = root.get("preferences")
    if preferences is not None:
        rules = rules._replace(preferences=read_preferences(preferences, complaints, lines))
    return rules


def section_values(rules: RetentionRules) -> dict[str, dict[str, Shown]]:
    """Each setting of each section in force, as it is written in the file."""
    values = {
        name: show_settings(settings, getattr(rules, name)) for name, settings in _SECTIONS.items()
    }
    if rules.compress.summarizer is None:
        values[COMPRESS]["summarizer"] = NONE
    else:
        values[SUMMARIZER] = show_settings(_SUMMARIZER, rules.compress.summarizer)
    values[DUPLICATES] = duplicate_values(rules.merge.duplicates)
    return values


def _section(found: Table, name: str, rules: RetentionRules, complaints: Complaints) -> Any:
    values = read_settings(found, name, _SECTIONS[name], complaints)
    if name == PRUNE:
        _check_pair(found, complaints)
    return getattr(rules, name)._replace(**values)


def _check_pair(found: Table, complaints: Complaints) -> None:
    """Age alone, or importance alone, would remove far more than who writes it means."""
    said = {
        name: pair
        for name in ("older_than", "importance_below")
        if (pair := found.get(name)) is not None and not fields.says_none(pair)
    }
    if len(said) != 1:
        return
    [(name, pair)] = said.items()
    other = "importance_below" if name == "older_than" else "older_than"
    complaints.at(
        pair.key,
        f"{name} alone prunes nothing: it needs {other} beside it (such as "
        f"{key_at(RULES_FILE, PRUNE, other).example}), or remove the line",
    )


def _pair_in(root: Table, section: str, name: str) -> Pair | None:
    pair = root.get(section)
    return pair.value.get(name) if pair is not None and isinstance(pair.value, Table) else None


def _summarizer(
    pair: Pair, complaints: Complaints, lines: dict[str, int]
) -> SummarizerRules | None:
    found = fields.table(pair, key_at(RULES_FILE, COMPRESS, "summarizer"), complaints)
    if found is None:
        return None
    note_lines(found, SUMMARIZER, SUMMARIZER, lines)
    values = read_settings(found, SUMMARIZER, _SUMMARIZER, complaints)
    for name in ("endpoint", "model"):
        if found.get(name) is None:
            example = key_at(RULES_FILE, SUMMARIZER, name).example
            complaints.at(pair.key, f"summarizer has no {name} (such as {example})")
    return SummarizerRules(**({"endpoint": "", "model": ""} | values))


def _endpoint(pair: Pair, key: Key, complaints: Complaints) -> str | None:
    """A URL up to and without what every call adds to it."""
    parts = address(pair, key, complaints)
    if parts is None:
        return None
    url = parts.geturl().rstrip("/")
    if url.endswith(_COMPLETIONS):
        wanted = shown(url.removesuffix(_COMPLETIONS))
        complaints.at(pair.value, f"endpoint: try {wanted}, without the end")
        return None
    return url


_SECTIONS: Final[Mapping[str, Settings]] = MappingProxyType(
    {
        COMPRESS: {
            "older_than": seconds("older_than_seconds"),
            "likeness": Setting("likeness", fields.number),
            "items_max": Setting("items_max", fields.whole),
        },
        MERGE: {
            "after": seconds("after_seconds"),
            "batch": Setting("batch", fields.whole),
        },
        CONVERSATION: {
            "after_turns": Setting("after_turns", fields.whole),
            "after_chars": Setting("after_chars", fields.whole),
            "summary_chars": Setting("summary_chars", fields.whole),
        },
        PRUNE: {
            "older_than": seconds("older_than_seconds", optional=True),
            "importance_below": Setting("importance_below", fields.number, optional=True),
            "superseded_after": seconds("superseded_after_seconds"),
            "archive_older_than": seconds("archive_older_than_seconds", optional=True),
            "archive_max": Setting("archive_bytes_max", fields.size, format_size, optional=True),
        },
        TRASH: {"keep": seconds("keep_seconds")},
        BUDGET: {
            "per_run": Setting("per_run", fields.percentage, format_percentage),
            "per_30_days": Setting("per_30_days", fields.percentage, format_percentage),
            "at_least": Setting("at_least", fields.whole),
        },
        SECRETS: SECRET_SETTINGS,
        TRUST: TRUST_SETTINGS,
        PATTERNS: PATTERN_SETTINGS,
        DOCUMENTS: DOCUMENT_SETTINGS,
        SCRATCHPAD: {
            "keep": seconds("keep_seconds"),
            "size": Setting("size", fields.whole),
            "salience": Setting("salience", fields.number),
            "surprisal": Setting("surprisal", fields.number),
            "sessions": Setting("sessions", fields.whole),
        },
        PLAYBOOKS: {
            "likeness": Setting("likeness", fields.number),
            "words": Setting("words", fields.number),
            "waits": seconds("waits_seconds"),
        },
        API: API_SETTINGS,
        ALARMS: ALARM_SETTINGS,
        IMPORTANCE: IMPORTANCE_SETTINGS,
    }
)
"""Each section, whose name is its field's; each key with how it is read."""

_SUMMARIZER: Final[Settings] = MappingProxyType(
    {
        "endpoint": Setting("endpoint", _endpoint),
        "model": Setting("model", fields.text),
        "key_env": Setting("key_env", variable, optional=True),
        "deadline": seconds("deadline_seconds"),
        "tokens_max": Setting("tokens_max", fields.whole),
    }
)
