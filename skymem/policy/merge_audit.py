"""How many merges were wrong? A sample is looked at, and says it within an interval (row X9)."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from random import Random
from typing import Any, Final, NamedTuple

from skymem.errors import UsageError
from skymem.model.strict_json import LineDamage, parse_object
from skymem.policy.interval import LEVEL, interval

SAME: Final = "same"
DIFFERENT: Final = "different"
FIELDS: Final = ("merged", "into", "verdict")
EXAMPLE: Final = '{"merged": "ID", "into": "ID", "verdict": "same"}'


class Merged(NamedTuple):
    """A memory that became part of another."""

    merged: str
    into: str


Verdicts = Mapping[Merged, str]
"""What was said of merges: `same`, or `different`, which they should not have been."""


def sample(merges: Collection[Merged], most: int, seed: int) -> list[Merged]:
    """Draw some, the same for the same merges and the same seed."""
    ordered = sorted(merges)
    return Random(seed).sample(ordered, min(most, len(ordered)))  # noqa: S311  (no secret)


def figures(verdicts: Verdicts) -> dict[str, Any]:
    """The share that should not have been merged, and between which shares the true one lies."""
    wrong = sorted(one for one, verdict in verdicts.items() if verdict == DIFFERENT)
    of = len(verdicts)
    return {
        "judged": of,
        "different": len(wrong),
        "rate": len(wrong) / of if of else None,
        "interval": list(interval(len(wrong), of)),
        "level": LEVEL,
        "wrong": [one._asdict() for one in wrong],
    }


def read_labels(lines: Sequence[bytes], name: str) -> dict[Merged, str]:
    """Read what was said of merges, a JSON object a line; of several about one the last counts.

    Empty lines, and those that begin with `#`, are passed over.

    Raises:
        UsageError: a line is none of it; says which, and what of it.
    """
    found: dict[Merged, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith(b"#"):
            continue
        faults = [*_faults(line)]
        if faults:
            raise UsageError(f"{name}, line {number}: {faults[0]} (a line is {EXAMPLE})")
        fields = parse_object(line)
        found[Merged(fields["merged"], fields["into"])] = fields["verdict"]
    return found


def spelled(one: Merged, verdict: str) -> bytes:
    """A line that says it."""
    return json.dumps({**one._asdict(), "verdict": verdict}).encode() + b"\n"


def _faults(line: bytes) -> Iterator[str]:
    try:
        fields = parse_object(line)
    except LineDamage as damage:
        yield str(damage)
        return
    for name in FIELDS:
        value = fields.get(name)
        if not isinstance(value, str) or not value:
            yield f"{name}: {'missing' if name not in fields else 'a text is expected here'}"
    if (verdict := fields.get("verdict")) not in (SAME, DIFFERENT):
        yield f"verdict: {str(verdict)[:20]!r} is neither {SAME} nor {DIFFERENT}"
    for name in fields.keys() - FIELDS:
        yield f"{name[:20]}: no such field"
