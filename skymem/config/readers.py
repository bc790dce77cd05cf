"""Settings read by a table: each key with its reader, its field and how it is shown again."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from skymem.config import fields
from skymem.config.key import RULES_FILE, Key
from skymem.config.keys import names_at
from skymem.config.problems import Complaints
from skymem.config.units import format_duration
from skymem.config.yaml_nodes import Pair, Table

Shown: TypeAlias = str | float | bool
"""A setting as it is written in the file."""

NONE: Final = "none"


class Setting(NamedTuple):
    """How a key is read, which field it becomes, and how that is written again."""

    field: str
    reader: Callable[[Pair, Key, Complaints], Any]
    """Gives the value, or None after it has complained."""

    write: Callable[[Any], Shown] = lambda value: value
    optional: bool = False
    """Whether `none` may stand there."""


Settings: TypeAlias = Mapping[str, Setting]


def seconds(field: str, *, optional: bool = False) -> Setting:
    """A duration, kept in seconds."""
    return Setting(field, fields.duration, format_duration, optional)


def read_settings(
    found: Table, level: str, settings: Settings, complaints: Complaints
) -> dict[str, Any]:
    """The fields that the mapping sets; a key that is not in `settings` is a mapping of its own."""
    values: dict[str, Any] = {}
    for pair, key in fields.known_pairs(found, RULES_FILE, level, complaints):
        setting = settings.get(key.name)
        if setting is None:
            continue
        if setting.optional and fields.says_none(pair):
            values[setting.field] = None
            continue
        value = setting.reader(pair, key, complaints)
        if value is not None:
            values[setting.field] = value
    return values


def show_settings(settings: Settings, values: object) -> dict[str, Shown]:
    """Each setting in force as it is written in the file, `none` for what is not set."""
    held = {name: getattr(values, setting.field) for name, setting in settings.items()}
    return {
        name: NONE if value is None else settings[name].write(value) for name, value in held.items()
    }


def note_lines(found: Table, level: str, place: str, lines: dict[str, int]) -> None:
    """Tell `lines` where each known key stands, under the place's own name."""
    known = names_at(RULES_FILE, level)
    for pair in found.pairs:
        if pair.key.text in known:
            lines[f"{place}.{pair.key.text}"] = pair.key.line
