"""Which embedding model is in use: `state/model.json`, one small file written whole (row X10).

The configuration says which model is wanted to begin with. A change of model (`skymem index
--migrate`) is recorded here, and the record overrides `engine.model` for as long as the
configuration says what it said at the switch: who edits it is obeyed again. Without the file, or
where it can't be read, the configuration counts.
"""

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from skymem.model.rules import EngineRules
from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from skymem.stores.status import read_json

FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class UsedModel:
    """A model as it was asked for, and the name of its cache."""

    model: str
    """What `engine.model` could say: a name or an absolute path."""

    key: str
    """Of its identity: the directory of its vectors under `state/embeddings/<agent>/`."""


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """What the file says."""

    configured: str = ""
    """`engine.model` when it was written."""

    backend: str = ""
    """`engine.backend` when it was written."""

    used: UsedModel | None = None
    previous: UsedModel | None = None
    """What was in use before, and can be gone back to."""

    wanted: str = ""
    """The model whose index is being made beside; "" where none is."""

    switched: float | None = None
    """When `used` came into use, epoch seconds; None where it is the one that is configured."""

    def holds(self, rules: EngineRules) -> bool:
        """Whether the configuration says what it said when this was written."""
        return (self.configured, self.backend) == (rules.model, rules.backend)


class InUse(NamedTuple):
    """The model in use, and why it is that one."""

    model: str
    why: str


def read_record(paths: HomePaths) -> ModelRecord:
    """Read the record; an empty one where there is none, or none that can be read."""
    found = read_json(paths.model_record) or {}
    texts = {name: found.get(name) for name in ("configured", "backend", "wanted")}
    used = _model(found.get("used"))
    if used is None or not all(isinstance(text, str) for text in texts.values()):
        return ModelRecord()
    switched = found.get("switched")
    return ModelRecord(
        **{name: str(text) for name, text in texts.items()},
        used=used,
        previous=_model(found.get("previous")),
        switched=float(switched) if isinstance(switched, int | float) else None,
    )


def _model(told: Any) -> UsedModel | None:
    if not isinstance(told, dict):
        return None
    model, key = told.get("model"), told.get("key")
    # The key becomes part of a path that may be deleted.
    if not isinstance(model, str) or not isinstance(key, str) or "/" in key or key[:1] in ".":
        return None
    return UsedModel(model, key)


def write_record(paths: HomePaths, files: Files, record: ModelRecord) -> None:
    """Put a record in the place of the last one, durable when it returns.

    Raises:
        DiskError: the disk refuses; the last one stays.
    """
    files.make_directory(paths.state)
    files.remove_left(paths.state, paths.model_record.name)
    data = json.dumps({"format": FORMAT, **asdict(record)}, indent=1).encode() + b"\n"
    files.replace(paths.model_record, data)


def rules_in_use(rules: EngineRules, record: ModelRecord) -> EngineRules:
    """The configured settings with the model that is in use."""
    if record.used is None or not record.holds(rules):
        return rules
    return rules._replace(model=record.used.model)


def model_in_use(rules: EngineRules, paths: HomePaths) -> InUse:
    """Say which model is in use and why, for who looks."""
    return switched_model(rules, paths) or InUse(rules.model, _as_configured(rules, paths))


def switched_model(rules: EngineRules, paths: HomePaths) -> InUse | None:
    """The model in use where it was switched to; None where it is the one that is configured."""
    record = read_record(paths)
    if record.used is None or record.switched is None or not record.holds(rules):
        return None
    at = datetime.fromtimestamp(record.switched, UTC)
    said = f"the configuration says {record.configured}"
    return InUse(record.used.model, f"skymem index, {at:%Y-%m-%d} (state/model.json; {said})")


def damage(paths: HomePaths) -> str:
    """Why the record can't be believed, or "" when it can."""
    if not paths.model_record.exists() or read_record(paths).used is not None:
        return ""
    return (
        "state/model.json can't be read: the configured model is in use, whichever was switched to "
        "(remove it, or switch again: skymem index --migrate MODEL)"
    )


def _as_configured(rules: EngineRules, paths: HomePaths) -> str:
    record = read_record(paths)
    if record.used is None and paths.model_record.exists():
        return "as configured: state/model.json can't be read"
    is_same = record.used is not None and record.used.model == rules.model
    if record.switched is not None and not record.holds(rules) and not is_same:
        return "as configured: engine.model or engine.backend was changed since the last switch"
    return "as configured"
