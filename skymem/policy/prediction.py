"""A trained model as plain numbers, and what it says of a memory: no library, no engine (P12).

It is a logistic one: what is seen of a memory (`policy/features.py`) adds or takes away, each its
own share, from what the usual memory starts with, and the sum is read as a number from 0 to 1. So
every prediction can be told by its parts, and they add up.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from skymem.model.memory import Memory
from skymem.policy.features import VERSION, Feature, features
from skymem.policy.importance import PREDICTED

FORMAT: Final = 1
DECIMALS: Final = 3
"""Of a prediction: more would be no better, and a threshold is compared with what is shown."""


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

    @property
    def log_odds(self) -> float:
        """The sum; `importance` is 1 ÷ (1 + e to the minus of it)."""
        return self.base + math.fsum(part.value for part in self.parts)


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

    @property
    def is_usable(self) -> bool:
        """Whether it knows memories as they are looked at now."""
        return self.version == VERSION

    def of(self, memory: Memory, repeats: int = 0) -> float:
        """What a memory is worth, 0 to 1."""
        return self.of_features({one.key: one.value for one in features(memory, repeats)})

    def of_features(self, seen: Mapping[str, float]) -> float:
        """The same of what is seen of one, by key."""
        known = self.coefficients
        parts = (known[key] * value for key, value in seen.items() if key in known)
        return round(logistic(self.base + math.fsum(parts)), DECIMALS)

    def why(self, memory: Memory, repeats: int = 0) -> Predicted:
        """What a memory is worth, with the share of each of its features."""
        seen = features(memory, repeats)
        parts = [self._part(one) for one in seen if one.key in self.coefficients]
        parts.sort(key=lambda part: (-abs(part.value), part.shown))
        unknown = len(seen) - len(parts)
        return Predicted(self.of(memory, repeats), self.base, tuple(parts), unknown)

    def _part(self, feature: Feature) -> Part:
        return Part(feature.shown, self.coefficients[feature.key] * feature.value)

    @property
    def source(self) -> str:
        """How what it says is told from what others say, in words."""
        return (
            f"{PREDICTED} by the model of {datetime.fromtimestamp(self.trained_at, UTC):%Y-%m-%d}"
        )

    def as_json(self) -> dict[str, Any]:
        """Spell it: numbers, and names of ours; no word of a memory is in it."""
        return {
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
