"""The sections about a memory's life: compress, merge, prune, trash and budget.

Each key goes by its row of the table of keys; each section ends as a frozen value of
`model.rules`. What belongs together is checked together, once all of it is read.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

from skymem.config import fields
from skymem.config.key import (
    BUDGET,
    COMPRESS,
    MERGE,
    PRUNE,
    RULES_FILE,
    SUMMARIZER,
    TOP,
    TRASH,
    Key,
)
from skymem.config.keys import key_at
from skymem.config.kinds_section import read_kinds
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
from skymem.config.units import format_percentage, format_size
from skymem.config.yaml_nodes import Pair, Table
from skymem.model.rules import RetentionRules, SummarizerRules

_COMPLETIONS: Final = "/chat/completions"

# Capitals only: whoever pastes a key here by mistake is told, before a message shows it.
_VARIABLE: Final = re.compile(r"[A-Z_][A-Z0-9_]{0,63}")


def read_sections(
    root: Table, rules: RetentionRules, complaints: Complaints, lines: dict[str, int]
) -> RetentionRules:
    """Read every section that stands in the file; `lines` is told where each key does."""
    for name in _SECTIONS:
        pair = root.get(name)
        found = fields.table(pair, key_at(RULES_FILE, TOP, name), complaints) if pair else None
        if found is not None:
            note_lines(found, name, name, lines)
            rules = replace(rules, **{name: _section(found, name, rules, complaints)})
    summarizer = _pair_in(root, COMPRESS, "summarizer")
    if summarizer is not None and not fields.says_none(summarizer):
        own = _summarizer(summarizer, complaints, lines)
        rules = replace(rules, compress=replace(rules.compress, summarizer=own))
    kinds = root.get("kinds")
    if kinds is not None:
        rules = replace(rules, kinds=read_kinds(kinds, rules.kinds, complaints, lines))
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
    return values


def _section(found: Table, name: str, rules: RetentionRules, complaints: Complaints) -> Any:
    values = read_settings(found, name, _SECTIONS[name], complaints)
    if name == PRUNE:
        _check_pair(found, complaints)
    return replace(getattr(rules, name), **values)


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
    """A URL that calls can be made below; one that holds a secret is refused unshown."""
    found = fields.scalar(pair, key, complaints)
    if found is None:
        return None
    parts = _split(found.text)
    if parts is None:
        remedy = f"such as {key.example}"
        complaints.at(found, f"endpoint: {shown(found.text)} is no http or https URL ({remedy})")
        return None
    if "@" in parts.netloc or parts.query or parts.fragment:
        remedy = "write host and path alone; a key goes into the variable that key_env names"
        complaints.at(found, f"endpoint holds more than an address ({remedy})")
        return None
    address = found.text.rstrip("/")
    if address.endswith(_COMPLETIONS):
        complaints.at(
            found, f"endpoint: try {shown(address.removesuffix(_COMPLETIONS))}, without the end"
        )
        return None
    return address


def _split(text: str) -> SplitResult | None:
    """Take a URL apart; None for one of no host, another scheme, no valid port, or with blanks."""
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        return None
    plain = text.isprintable() and not any(character.isspace() for character in text)
    return parts if usable and plain else None


def _variable(pair: Pair, key: Key, complaints: Complaints) -> str | None:
    """The name of an environment variable; what is none may be the key itself: it isn't shown."""
    found = fields.scalar(pair, key, complaints)
    if found is None or _VARIABLE.fullmatch(found.text):
        return None if found is None else found.text
    remedy = f"A-Z, 0-9 and _, such as {key.example}; a key itself never goes into this file"
    complaints.at(found, f"key_env is no name of an environment variable ({remedy})")
    return None


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
    }
)
"""Each section, whose name is its field's; each key with how it is read."""

_SUMMARIZER: Final[Settings] = MappingProxyType(
    {
        "endpoint": Setting("endpoint", _endpoint),
        "model": Setting("model", fields.text),
        "key_env": Setting("key_env", _variable, optional=True),
        "deadline": seconds("deadline_seconds"),
        "tokens_max": Setting("tokens_max", fields.whole),
    }
)
