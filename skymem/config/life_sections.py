"""The sections about a memory's life: compress, merge, prune, trash, budget and kinds.

Each key goes by its row of the table of keys; each section ends as a frozen value of
`model.rules`. What belongs together is checked together, once all of it is read.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import urlsplit

from skymem.config import fields
from skymem.config.key import (
    BUDGET,
    COMPRESS,
    KIND,
    MERGE,
    PRUNE,
    RULES_FILE,
    SUMMARIZER,
    TOP,
    TRASH,
    Key,
)
from skymem.config.keys import key_at, names_at
from skymem.config.problems import Complaints, shown
from skymem.config.units import format_duration, format_size
from skymem.config.yaml_nodes import Pair, Table
from skymem.model.kinds import UNKNOWN, Kind, Kinds
from skymem.model.rules import RetentionRules, SummarizerRules

Reader = Callable[[Pair, Key, Complaints], Any]

KIND_LETTERS_MAX: Final = 64


@dataclass(frozen=True, slots=True)
class _Read:
    """How a key is read, which field it becomes, and how that is written again."""

    field: str
    reader: Reader
    write: Callable[[Any], str | float | bool] = lambda value: value


def _seconds(field: str) -> _Read:
    return _Read(field, fields.duration, format_duration)


_SECTIONS: Final[Mapping[str, Mapping[str, _Read]]] = MappingProxyType(
    {
        COMPRESS: {
            "older_than": _seconds("older_than_seconds"),
            "likeness": _Read("likeness", fields.number),
            "items_max": _Read("items_max", fields.whole),
        },
        MERGE: {
            "after": _seconds("after_seconds"),
            "batch": _Read("batch", fields.whole),
        },
        PRUNE: {
            "older_than": _seconds("older_than_seconds"),
            "importance_below": _Read("importance_below", fields.number),
            "superseded_after": _seconds("superseded_after_seconds"),
            "archive_older_than": _seconds("archive_older_than_seconds"),
            "archive_max": _Read("archive_bytes_max", fields.size, format_size),
        },
        TRASH: {"keep": _seconds("keep_seconds")},
        BUDGET: {
            "per_run": _Read("per_run", fields.percentage, lambda share: f"{share * 100:g}%"),
            "per_30_days": _Read(
                "per_30_days", fields.percentage, lambda share: f"{share * 100:g}%"
            ),
            "at_least": _Read("at_least", fields.whole),
        },
    }
)
"""Each section, whose name is its field's; each key with its reader."""

_SUMMARIZER: Final[Mapping[str, _Read]] = MappingProxyType(
    {
        "model": _Read("model", fields.text),
        "key_env": _Read("key_env", fields.text),
        "deadline": _seconds("deadline_seconds"),
        "tokens_max": _Read("tokens_max", fields.whole),
    }
)

_KIND: Final[Mapping[str, _Read]] = MappingProxyType(
    {
        "importance": _Read("importance", fields.number),
        "stability": _Read("stability", fields.choice),
        "promote": _Read("promote", fields.truth),
        "compress": _Read("compress", fields.truth),
        "merge": _Read("merge", fields.truth),
        "single": _Read("single", fields.truth),
    }
)

DAY_SECONDS: Final = 86_400


def read_sections(
    root: Table, rules: RetentionRules, complaints: Complaints, lines: dict[str, int]
) -> RetentionRules:
    """Read every section that stands in the file; `lines` is told where each key does."""
    for name in _SECTIONS:
        pair = root.get(name)
        found = fields.table(pair, key_at(RULES_FILE, TOP, name), complaints) if pair else None
        if found is not None:
            rules = replace(rules, **{name: _section(found, name, rules, complaints, lines)})
    kinds = root.get("kinds")
    if kinds is not None:
        rules = replace(rules, kinds=_kinds(kinds, rules.kinds, complaints, lines))
    return rules


def _section(
    found: Table, name: str, rules: RetentionRules, complaints: Complaints, lines: dict[str, int]
) -> Any:
    section = getattr(rules, name)
    for pair, key in fields.known_pairs(found, RULES_FILE, name, complaints):
        lines[key.dotted] = pair.key.line
        if key.name == "summarizer":
            section = replace(section, summarizer=_summarizer(pair, key, complaints, lines))
            continue
        read = _SECTIONS[name][key.name]
        value = read.reader(pair, key, complaints)
        section = section if value is None else replace(section, **{read.field: value})
    if name == PRUNE:
        _check_pair(found, complaints)
    return section


def _check_pair(found: Table, complaints: Complaints) -> None:
    """Age alone, or importance alone, would remove far more than who writes it means."""
    age, worth = found.get("older_than"), found.get("importance_below")
    for there, other in ((age, "importance_below"), (worth, "older_than")):
        if there is not None and (age is None or worth is None):
            name = there.key.text
            complaints.at(
                there.key,
                f"{name} alone prunes nothing: it needs {other} beside it (such as "
                f"{key_at(RULES_FILE, PRUNE, other).example}), or remove the line",
            )


def _summarizer(
    pair: Pair, key: Key, complaints: Complaints, lines: dict[str, int]
) -> SummarizerRules | None:
    found = fields.table(pair, key, complaints)
    if found is None:
        return None
    values: dict[str, Any] = {"endpoint": "", "model": ""}
    for each, own in fields.known_pairs(found, RULES_FILE, SUMMARIZER, complaints):
        lines[own.dotted] = each.key.line
        if own.name == "endpoint":
            values["endpoint"] = _endpoint(each, own, complaints) or ""
            continue
        value = _SUMMARIZER[own.name].reader(each, own, complaints)
        if value is not None:
            values[_SUMMARIZER[own.name].field] = value
    for name in ("endpoint", "model"):
        if found.get(name) is None:
            example = key_at(RULES_FILE, SUMMARIZER, name).example
            complaints.at(pair.key, f"summarizer has no {name} (such as {example})")
    return SummarizerRules(**values)


def _endpoint(pair: Pair, key: Key, complaints: Complaints) -> str | None:
    found = fields.scalar(pair, key, complaints)
    if found is None:
        return None
    try:
        parts = urlsplit(found.text)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        usable = False
    if not usable:
        complaints.at(found, f"endpoint: {shown(found.text)} is no http or https URL")
        return None
    return found.text.rstrip("/")


def _kinds(pair: Pair, kinds: Kinds, complaints: Complaints, lines: dict[str, int]) -> Kinds:
    found = fields.table(pair, key_at(RULES_FILE, TOP, "kinds"), complaints)
    for each in found.pairs if found else ():
        name = each.key.text  # as it is written: a kind may be called no or null
        if not name or len(name) > KIND_LETTERS_MAX or not name.isprintable():
            remedy = f"1 to {KIND_LETTERS_MAX} letters, digits and signs"
            complaints.at(each.key, f"kind {shown(name)} is no name ({remedy})")
        elif not isinstance(each.value, Table):
            example = f"{name}: {{importance: 0.6}}"
            complaints.at(each.key, f"kind {shown(name)} says nothing (such as {example})")
        else:
            kinds = kinds.with_kind(_kind(name, each.value, kinds, complaints, lines))
    return kinds


def _kind(
    name: str, found: Table, kinds: Kinds, complaints: Complaints, lines: dict[str, int]
) -> Kind:
    known = kinds.table.get(name)
    kind = known or replace(UNKNOWN, name=name, meaning="A kind of this home.")
    for pair, key in fields.known_pairs(found, RULES_FILE, KIND, complaints):
        lines[f"kinds.{name}.{key.name}"] = pair.key.line
        if key.name == "ttl":
            seconds = fields.duration(pair, key, complaints)
            kind = kind if seconds is None else replace(kind, ttl_days=seconds / DAY_SECONDS)
            continue
        value = _KIND[key.name].reader(pair, key, complaints)
        kind = kind if value is None else replace(kind, **{key.name: value})
    return kind


def section_values(rules: RetentionRules) -> dict[str, dict[str, str | float | bool]]:
    """Each setting of each section in force, as it is written in the file; none where it is not."""
    values: dict[str, dict[str, str | float | bool]] = {
        name: {
            key: read.write(value)
            for key, read in keys.items()
            if (value := getattr(getattr(rules, name), read.field)) is not None
        }
        for name, keys in _SECTIONS.items()
    }
    summarizer = rules.compress.summarizer
    if summarizer is not None:
        own = {key: getattr(summarizer, read.field) for key, read in _SUMMARIZER.items()}
        values[SUMMARIZER] = {"endpoint": summarizer.endpoint}
        values[SUMMARIZER] |= {
            key: _SUMMARIZER[key].write(value) for key, value in own.items() if value is not None
        }
    return values


def kind_values(kind: Kind) -> dict[str, str | float | bool]:
    """What is usual for a kind, as it is written in the file."""
    values: dict[str, str | float | bool] = {
        key: getattr(kind, read.field) for key, read in _KIND.items()
    }
    if kind.ttl_days is not None:
        values["ttl"] = format_duration(kind.ttl_days * DAY_SECONDS)
    return {name: values[name] for name in names_at(RULES_FILE, KIND) if name in values}
