"""The mapping `duplicates` in the section `merge`: its keys, and how it is read (row P15)."""

from types import MappingProxyType
from typing import Final

from skymem.config import fields
from skymem.config.key import DUPLICATES, MERGE, RULES_FILE, Key
from skymem.config.keys import key_at
from skymem.config.problems import Complaints
from skymem.config.readers import (
    NONE,
    Setting,
    Settings,
    Shown,
    note_lines,
    read_settings,
    show_settings,
)
from skymem.config.yaml_nodes import Pair
from skymem.model.rules import DuplicateRules

_SETTINGS: Final[Settings] = MappingProxyType(
    {
        "likeness": Setting(
            "likeness", fields.number, lambda value: NONE if value is None else value, optional=True
        ),
        "on_promotion": Setting("on_promotion", fields.truth),
    }
)


def read_duplicates(
    pair: Pair, rules: DuplicateRules, complaints: Complaints, lines: dict[str, int]
) -> DuplicateRules:
    """Read it over the rules there are."""
    key: Key = key_at(RULES_FILE, MERGE, "duplicates")
    found = fields.table(pair, key, complaints)
    if found is None:
        return rules
    note_lines(found, DUPLICATES, DUPLICATES, lines)
    return rules._replace(**read_settings(found, DUPLICATES, _SETTINGS, complaints))


def duplicate_values(rules: DuplicateRules) -> dict[str, Shown]:
    """Each setting in force, as it is written in the file."""
    return show_settings(_SETTINGS, rules)
