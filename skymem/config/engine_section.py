"""The `engine:` section of `retention_rules.yaml`: how memories are embedded and indexed."""

from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any, Final

from skymem.config import fields
from skymem.config.key import ENGINE, RULES_FILE, Key
from skymem.config.keys import names_at
from skymem.config.problems import Complaints, shown
from skymem.config.remote_section import read_remote
from skymem.config.units import format_duration
from skymem.config.yaml_nodes import Pair
from skymem.model.rules import EngineRules


def with_engine_value(
    engine: EngineRules, pair: Pair, key: Key, complaints: Complaints
) -> EngineRules:
    """The settings with one more value read; what is wrong with it is complained about."""
    value = _READERS[key.name](pair, key, complaints)
    return engine if value is None else engine._replace(**{_FIELDS.get(key.name, key.name): value})


def engine_values(engine: EngineRules) -> dict[str, str | int | bool]:
    """Each setting in force, as it is written in the file; not those of `remote`, a section."""
    values = {
        name: getattr(engine, _FIELDS.get(name, name))
        for name in names_at(RULES_FILE, ENGINE)
        if name != "remote"
    }
    return {**values, "idle": format_duration(engine.idle_seconds)}


def _model(pair: Pair, key: Key, complaints: Complaints) -> str | None:
    """A model's name or absolute path: a relative one would depend on who starts the engine."""
    found = fields.scalar(pair, key, complaints)
    if found is None:
        return None
    if "/" in found.text.strip("/") and not PurePosixPath(found.text).is_absolute():
        remedy = "write a name without a slash, or a path that starts with one"
        complaints.at(found, f"{key.name}: {shown(found.text)} is a relative path ({remedy})")
        return None
    return found.text


_FIELDS: Final = {"idle": "idle_seconds"}
"""Keys whose field has another name, with its unit."""

_READERS: Final[Mapping[str, Callable[[Pair, Key, Complaints], Any]]] = MappingProxyType(
    {
        "backend": fields.choice,
        "model": _model,
        "threads": fields.whole,
        "batch_size": fields.whole,
        "chunks_max": fields.whole,
        "idle": fields.duration,
        "download": fields.truth,
        "recent": fields.truth,
        "remote": read_remote,
    }
)
