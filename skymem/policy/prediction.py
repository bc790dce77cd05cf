"""A trained model as plain numbers, and what it says of a memory: no library, no engine (P12).

It is a logistic one: what is seen of a memory (`policy/features.py`) adds or takes away, each its
own share, from what the usual memory starts with, and the sum is read as a number from 0 to 1. So
every prediction can be told by its parts, and they add up.

Where it serves, the vector of its text has a share too: what a memory is about. Whoever has none of
the very embedding model it was trained with goes by what is seen alone, with the numbers for that.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from operator import mul
from typing import Any, Final, NamedTuple

from skymem.model.memory import Memory
from skymem.policy.features import VERSION, Feature, features, values
from skymem.policy.importance import PREDICTED

FORMAT: Final = 1
DECIMALS: Final = 3
"""Of a prediction: more would be no better, and a threshold is compared with what is shown."""


SHARE_DECIMALS: Final = 4
"""Of a share of the meaning, which is kept and has to be the same when it is asked for again."""

ABOUT: Final = "what it is about"


class Part(NamedTuple):
    """What one feature of a memory adds to its prediction, in log-odds."""

    shown: str
    value: float


class Predicted(NamedTuple):
    """A prediction, and what it is made of."""

    importance: float
    base: float
    """Log-odds that every memory starts with."""

    parts: tuple[Part, ...]
    """What adds or takes away, the most telling first; with `base` they sum to `log_odds`."""

    unknown: int
    """Features that the model has never met often enough to say anything of."""

    by: str = "text"
    """`vectors` where what it is about has its share, `text` where it goes without."""

    @property
    def log_odds(self) -> float:
        """The sum; `importance` is 1 ÷ (1 + e to the minus of it)."""
        return self.base + math.fsum(part.value for part in self.parts)


@dataclass(frozen=True, slots=True)
class Meaning:
    """What the vector of a memory's text adds, and how the rest then counts."""

    model: str
    """Key of the embedding model; vectors of another mean nothing here."""

    base: float
    scale: float
    """By how much what is seen counts beside it."""

    usual: float
    """What the vectors it was fitted to came to on average: a share is what exceeds that."""

    weights: tuple[float, ...] = field(repr=False)
    """A number for each dimension."""

    def share(self, vector: Sequence[float] | None) -> float:
        """What a text adds by its meaning, in log-odds; nothing where there is nothing to read.

        The sum is exact, in whatever order: the same vector gives the same number everywhere.
        """
        if vector is None or len(vector) != len(self.weights):
            return 0.0
        found = math.fsum(map(mul, self.weights, vector)) - self.usual
        return round(found, SHARE_DECIMALS) if math.isfinite(found) else 0.0


@dataclass(frozen=True, slots=True)
class Model:
    """What was learned from one agent's history."""

    agent: str
    trained_at: float
    """Epoch seconds; it is in force from then on."""

    inputs: str
    """Hash of all it was made from: the same history makes the same model."""

    taught_until: int
    """Time of the newest memory it was fitted to, microseconds; what it was tried on is newer."""

    base: float
    coefficients: Mapping[str, float] = field(repr=False)
    told: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """What was counted and measured when it was trained, as numbers."""

    version: int = VERSION
    """Of the features it knows."""

    meaning: Meaning | None = None
    """What vectors add; None where they add nothing that is worth asking the engine."""

    @property
    def is_usable(self) -> bool:
        """Whether it knows memories as they are looked at now."""
        return self.version == VERSION

    def of(self, memory: Memory, repeats: int = 0, share: float | None = None) -> float:
        """What a memory is worth, 0 to 1.

        Args:
            memory: what is looked at.
            repeats: how many others say the same.
            share: what its meaning adds; None where nobody knows.
        """
        return self.of_features(values(memory, repeats), share)

    def of_features(self, seen: Mapping[str, float], share: float | None = None) -> float:
        """The same of what is seen of one, by key."""
        known = self.coefficients.get
        parts = [one * value for key, value in seen.items() if (one := known(key))]
        return self._worth(math.fsum(parts), share)

    def _worth(self, seen: float, share: float | None) -> float:
        found = self.base + seen
        if self.meaning is not None and share is not None:
            found = self.meaning.base + self.meaning.scale * found + share
        return round(logistic(found), DECIMALS)

    def why(self, memory: Memory, repeats: int = 0, share: float | None = None) -> Predicted:
        """What a memory is worth, with the share of each of its features."""
        seen = features(memory, repeats)
        scale, base, by = 1.0, self.base, "text"
        parts = []
        if self.meaning is not None and share is not None:
            scale, by = self.meaning.scale, "vectors"
            base = self.meaning.base + scale * base
            parts = [Part(ABOUT, share)]
        parts += [self._part(one, scale) for one in seen if one.key in self.coefficients]
        parts.sort(key=lambda part: (-abs(part.value), part.shown))
        unknown = sum(one.key not in self.coefficients for one in seen)
        return Predicted(self.of(memory, repeats, share), base, tuple(parts), unknown, by)

    def _part(self, feature: Feature, scale: float) -> Part:
        return Part(feature.shown, scale * self.coefficients[feature.key] * feature.value)

    @property
    def source(self) -> str:
        """How what it says is told from what others say, in words."""
        return (
            f"{PREDICTED} by the model of {datetime.fromtimestamp(self.trained_at, UTC):%Y-%m-%d}"
        )

    @property
    def source_by_text(self) -> str:
        """The same, where what it is about would have had its share, and nobody knew it."""
        return f"{self.source}, by its text alone"

    def as_json(self) -> dict[str, Any]:
        """Spell it: numbers, and names of ours; no word of a memory is in it."""
        told = {
            "format": FORMAT,
            "features": self.version,
            "agent": self.agent,
            "trained_at": self.trained_at,
            "inputs": self.inputs,
            "taught_until": self.taught_until,
            "told": dict(self.told),
            "base": self.base,
            "coefficients": dict(self.coefficients),
        }
        if self.meaning is not None:
            told["meaning"] = asdict(self.meaning)
        return told


def model_of(told: Mapping[str, Any]) -> Model:
    """Read what `as_json` spelled.

    Raises:
        KeyError, TypeError, ValueError: it is no model.
    """
    if told["format"] != FORMAT or not isinstance(told["told"], dict):
        raise ValueError("not a model of this format")
    coefficients = {str(key): _number(one) for key, one in told["coefficients"].items()}
    return Model(
        agent=str(told["agent"]),
        trained_at=_number(told["trained_at"]),
        inputs=str(told["inputs"]),
        taught_until=int(told["taught_until"]),
        base=_number(told["base"]),
        coefficients=coefficients,
        told=told["told"],
        version=int(told["features"]),
        meaning=_meaning_of(told["meaning"]) if "meaning" in told else None,
    )


def _meaning_of(told: Mapping[str, Any]) -> Meaning:
    return Meaning(
        model=str(told["model"]),
        base=_number(told["base"]),
        scale=_number(told["scale"]),
        usual=_number(told["usual"]),
        weights=tuple(_number(one) for one in told["weights"]),
    )


def logistic(log_odds: float) -> float:
    """Log-odds as a share, 0 to 1."""
    if log_odds >= 0:
        return 1 / (1 + math.exp(-min(log_odds, 700.0)))
    grown = math.exp(max(log_odds, -700.0))
    return grown / (1 + grown)


def _number(value: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ValueError("not a number")
    return float(value)
