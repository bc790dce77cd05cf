"""The `kinds:` section of `retention_rules.yaml`: what is usual for a kind, changed or added."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from skymem.config import fields
from skymem.config.key import KIND, RULES_FILE, TOP, Key
from skymem.config.keys import key_at
from skymem.config.problems import Complaints, shown
from skymem.config.readers import Setting, Shown, note_lines, read_settings, show_settings
from skymem.config.units import format_duration
from skymem.config.yaml_nodes import Pair, Table
from skymem.model.kinds import UNKNOWN, Kind, Kinds

NAME_CHARACTERS_MAX: Final = 64
DAY_SECONDS: Final = 86_400


def read_kinds(pair: Pair, kinds: Kinds, complaints: Complaints, lines: dict[str, int]) -> Kinds:
    """The table of kinds with what the file says of them; `lines` is told where each key stands."""
    found = fields.table(pair, key_at(RULES_FILE, TOP, "kinds"), complaints)
    for each in found.pairs if found else ():
        name = each.key.text  # as it is written: a kind may be called no or null
        if not _is_name(name):
            remedy = f"use 1 to {NAME_CHARACTERS_MAX} characters that show, no space at either end"
            complaints.at(each.key, f"kind {shown(name)} is no name ({remedy})")
        elif not isinstance(each.value, Table):
            example = f"{name}: {{importance: 0.6}}"
            complaints.at(each.key, f"kind {shown(name)} says nothing (such as {example})")
        else:
            note_lines(each.value, KIND, f"kinds.{name}", lines)
            kinds = kinds.with_kind(_read_kind(name, each.value, kinds, complaints))
    return kinds


def kind_values(kind: Kind) -> dict[str, Shown]:
    """What is usual for a kind, as it is written in the file."""
    return show_settings(_SETTINGS, kind)


def _read_kind(name: str, found: Table, kinds: Kinds, complaints: Complaints) -> Kind:
    usual = kinds.get(name) or UNKNOWN._replace(name=name, meaning="A kind of this home.")
    values = read_settings(found, KIND, _SETTINGS, complaints)
    if values.get("stability") == "permanent":
        values.setdefault("ttl_days", None)  # what was made permanent takes no ttl over
    kind = usual._replace(**values)
    ttl = found.get("ttl")
    if ttl is not None and kind.stability == "permanent" and kind.ttl_days is not None:
        remedy = "remove ttl, or write stability: stable beside it"
        complaints.at(ttl.key, f"ttl: kind {shown(name)} is permanent, never expires ({remedy})")
    return kind


def _is_name(text: str) -> bool:
    """Whether a memory's kind could be called so and be told from others by eye."""
    return 0 < len(text) <= NAME_CHARACTERS_MAX and text.isprintable() and text == text.strip()


def _days(pair: Pair, key: Key, complaints: Complaints) -> float | None:
    length = fields.duration(pair, key, complaints)
    return None if length is None else length / DAY_SECONDS


def _write_days(days: float) -> str:
    return format_duration(round(days * DAY_SECONDS, 6))


_SETTINGS: Final[Mapping[str, Setting]] = MappingProxyType(
    {
        "importance": Setting("importance", fields.number),
        "stability": Setting("stability", fields.choice),
        "ttl": Setting("ttl_days", _days, _write_days, optional=True),
        "promote": Setting("promote", fields.truth),
        "compress": Setting("compress", fields.truth),
        "merge": Setting("merge", fields.truth),
        "single": Setting("single", fields.truth),
    }
)
