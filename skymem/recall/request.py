"""What is asked: the query, how to weigh it, and which memories may answer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, cast, get_args

from skymem.config.units import parse_duration
from skymem.errors import UsageError
from skymem.model.memory import Memory, read_time
from skymem.model.spelling import spelled
from skymem.model.strict_json import LineDamage
from skymem.policy.rank import LIMIT, RECENCY_BIAS, SEMANTIC_WEIGHT

Mode = Literal["auto", "fusion", "hybrid", "deterministic", "semantic"]
MODES: Final[tuple[str, ...]] = get_args(Mode)

Tier = Literal["short", "long", "archive"]
TIERS: Final[tuple[str, ...]] = get_args(Tier)

LIMIT_MAX: Final = 10_000
"""Results of one recall: what is held in memory at once."""

HOUR_US: Final = 3_600_000_000
HOURS_MAX: Final = 100 * 366 * 24
"""A century: more is a slip of the hand."""

EPOCH_LIKELY: Final = 100_000_000
"""Seconds, in 1973: a smaller number is not meant as a count of seconds."""

_SINCE: Final = "an ISO 8601 time, epoch seconds, or an age such as 7d or 12h"


@dataclass(frozen=True, slots=True)
class Filters:
    """Which memories may answer; an empty field lets everything through."""

    tiers: frozenset[str] = frozenset(TIERS)
    kind: str | None = None
    tags: frozenset[str] = frozenset()
    """Any of them."""

    meta: tuple[tuple[str, str], ...] = ()
    """All of them, each compared as text with the metadata, else with the line's own field."""

    since_us: int | None = None
    """Microseconds since the epoch; a memory without a time is not since anything."""

    until_us: int | None = None
    """Microseconds since the epoch; what happened then or later is left out."""

    besides: Callable[[Memory], bool] | None = None
    """What else has to hold of a memory."""

    def let(self, memory: Memory) -> bool:
        """Whether a memory may answer; its tier is looked at elsewhere."""
        if self.since_us is not None and (memory.time_us is None or memory.time_us < self.since_us):
            return False
        if self.until_us is not None and (
            memory.time_us is None or memory.time_us >= self.until_us
        ):
            return False
        if self.kind is not None and memory.kind != self.kind:
            return False
        if self.tags and self.tags.isdisjoint(memory.tags):
            return False
        if self.besides is not None and not self.besides(memory):
            return False
        return all(_has(memory, key, value) for key, value in self.meta)

    def passes(self, tier: str, memory: Memory) -> bool:
        """Whether a memory of a tier may answer."""
        return tier in self.tiers and self.let(memory)

    def by(self, at_us: int | None) -> "Filters":
        """The same, of what had happened by a moment; None: of all."""
        if at_us is None or (self.until_us is not None and self.until_us <= at_us):
            return self
        return replace(self, until_us=at_us + 1)

    @property
    def narrow(self) -> bool:
        """Whether anything is left out."""
        return self != Filters()


@dataclass(frozen=True, slots=True)
class Request:
    """One question. Made by `ask`, which checks it."""

    query: str
    limit: int = LIMIT
    mode: Mode = "auto"
    recency_bias: float = RECENCY_BIAS
    semantic_weight: float = SEMANTIC_WEIGHT
    filters: Filters = Filters()
    at_us: int | None = None
    """The moment it is asked about, microseconds since the epoch; None: now."""

    def moment_us(self, now: float) -> int:
        """The moment by which age is reckoned and standing judged."""
        return round(now * 1_000_000) if self.at_us is None else self.at_us


def ask(
    query: str,
    limit: int = LIMIT,
    mode: str = "auto",
    recency_bias: float = RECENCY_BIAS,
    semantic_weight: float = SEMANTIC_WEIGHT,
    *,
    filters: Filters = Filters(),
    at_us: int | None = None,
) -> Request:
    """Check what was asked; with `at_us`, of the memories there are, as it was at that moment.

    Raises:
        UsageError: a value is outside its range; names the option, the value and what it may be.
    """
    _check_text("query", query)
    check_limit(limit)
    if mode not in MODES:
        raise UsageError(f"mode {mode!r:.40} is unknown; give one of {', '.join(MODES)}")
    _check_share("recency-bias", recency_bias)
    _check_share("semantic-weight", semantic_weight)
    filters = filters.by(at_us)
    return Request(query, limit, cast("Mode", mode), recency_bias, semantic_weight, filters, at_us)


def check_limit(limit: int) -> None:
    """Check how many are wanted.

    Raises:
        UsageError: it is no whole number from 1 to `LIMIT_MAX`.
    """
    if type(limit) is not int or not 1 <= limit <= LIMIT_MAX:
        raise UsageError(f"limit {limit!r:.40} is not in 1 to {LIMIT_MAX}; give a whole number")


def hours_before(moment_us: int, hours: float | None) -> int | None:
    """So many hours before a moment, microseconds since the epoch; None when nobody says how many.

    Raises:
        UsageError: they are no number from 0 to a century.
    """
    if hours is None:
        return None
    if type(hours) not in (int, float) or not 0 <= hours <= HOURS_MAX:  # NaN is neither
        raise UsageError(f"hours {hours!r:.40} is not in 0 to {HOURS_MAX}")
    return round(moment_us - hours * HOUR_US)


def filters_of(
    *,
    tiers: Sequence[str] = (),
    kind: str | None = None,
    tags: Sequence[str] = (),
    meta: Sequence[tuple[str, str]] = (),
    since_us: int | None = None,
    until_us: int | None = None,
) -> Filters:
    """Check which memories may answer.

    Raises:
        UsageError: there is no such tier, or a word is no text.
    """
    for tier in tiers:
        if tier not in TIERS:
            raise UsageError(f"tier {tier!r:.40} is unknown; give one of {', '.join(TIERS)}")
    for word in (kind or "", *tags, *(part for pair in meta for part in pair)):
        _check_text("filter", word)
    allowed = frozenset(tiers) or frozenset(TIERS)
    return Filters(allowed, kind, frozenset(tags), tuple(meta), since_us, until_us)


def since(text: str, now: float, option: str = "since") -> int:
    """Read `--since` or `--until` as microseconds since the epoch: a time, or an age before `now`.

    Raises:
        UsageError: it is neither; names the value and the forms.
    """
    try:
        return round((now - parse_duration(text)) * 1_000_000)
    except ValueError:
        pass
    try:
        found = read_time("since", float(text) if _is_epoch(text) else text)
    except LineDamage:
        found = None
    if found is None:
        raise UsageError(f"{option} {text!r:.60} is no time; give {_SINCE}")
    return found


def _is_epoch(text: str) -> bool:
    """Whether it counts seconds: `2025` and `20251108` are dates, whatever else they could be."""
    try:
        seconds = float(text)
    except ValueError:
        return False
    return seconds == 0 or seconds >= EPOCH_LIKELY


def _check_share(option: str, value: float) -> None:
    if type(value) not in (int, float) or not 0 <= value <= 1:
        raise UsageError(f"{option} {value!r:.40} is not in 0 to 1; leave it out for the default")


def _check_text(what: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"the {what} holds bytes that are not UTF-8; type it as text") from None


def _has(memory: Memory, key: str, wanted: str) -> bool:
    places = (memory.metadata, memory.fields)
    return any(key in place and _says(place[key], wanted) for place in places)


def _says(value: Any, wanted: str) -> bool:
    """Whether a value is what is wanted, as text; of a list, whether it holds that (row M6)."""
    listed = isinstance(value, list) and any(spelled(one) == wanted for one in value)
    return listed or spelled(value) == wanted
