"""One key of the rules at several values: `promote_threshold=0.5:0.9:0.05`."""

import json
import math
import re
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Final, NamedTuple

from skymem.config.problems import Complaints
from skymem.config.rules_file import read_rules
from skymem.config.yaml_nodes import Items, Node, Scalar, Table
from skymem.config.yaml_text import read_yaml
from skymem.errors import ConfigurationError, UsageError
from skymem.model.rules import RetentionRules

POINTS_MAX: Final = 100

_PLACE: Final = re.compile(r"(?m)^[^:\n]*:\d+:\d+: ")


class Sweep(NamedTuple):
    """What is tried out."""

    key: str
    values: tuple[int | float, ...]


def sweep_of(text: str) -> Sweep:
    """Read KEY=FROM:TO:STEP.

    Raises:
        UsageError: it is none, or of more than a hundred values.
    """
    key, equals, span = text.partition("=")
    parts = span.split(":")
    if not key or not equals or len(parts) != 3:
        raise UsageError(f"--sweep {text!r:.60}: give KEY=FROM:TO:STEP, as {_EXAMPLE}")
    try:
        first, last, step = (Decimal(part) for part in parts)
    except InvalidOperation:
        raise UsageError(f"--sweep {text!r:.60}: no number; as {_EXAMPLE}") from None
    if not all(one.is_finite() for one in (first, last, step)) or step <= 0 or last < first:
        raise UsageError(f"--sweep {text!r:.60}: it leads nowhere; as {_EXAMPLE}")
    if (count := math.floor((last - first) / step) + 1) > POINTS_MAX:
        raise UsageError(f"--sweep {text!r:.60}: {count:,} values; at most {POINTS_MAX} at once")
    return Sweep(key, tuple(_number(first + step * number) for number in range(count)))


_EXAMPLE: Final = "promote_threshold=0.5:0.9:0.05"


def _number(value: Decimal) -> int | float:
    return int(value) if value == value.to_integral_value() else float(value)


def rules_with(path: Path, key: str, value: float, directory: Path) -> RetentionRules:
    """Read a rules file as if `key`, dotted, had this value.

    Raises:
        ConfigurationError: it is not usable as it is; all problems, one a line.
        UsageError: it is not with this value.
    """
    complaints = Complaints(path.name)
    root = read_yaml(path, complaints, "promote_threshold: 0.70")
    complaints.raise_if_any()
    document: Any = {} if root is None else _plain(root)
    at = document
    *above, last = key.split(".")
    for name in above:
        if not isinstance(at.get(name), dict):
            at[name] = {}
        at = at[name]
    at[last] = value
    changed = directory / path.name
    changed.write_text(json.dumps(document))
    try:
        return read_rules(changed)
    except ConfigurationError as error:  # where it stands there is nobody's business
        why = _PLACE.sub("", str(error))
        raise UsageError(f"--sweep {key}={value:g}: {why}") from None
    finally:
        changed.unlink()


def _plain(node: Node) -> Any:
    if isinstance(node, Table):
        return {pair.key.text: _plain(pair.value) for pair in node.pairs}
    if isinstance(node, Items):
        return [_plain(one) for one in node.items]
    assert isinstance(node, Scalar)  # noqa: S101  (there are three)
    return node.value
