"""How much of what an agent writes is usually worth promoting, and what of a flood waits.

An agent that rates everything 1.0, by a fault or by what it was fed, would fill long-term. So it is
held against its own past: of what came in within two days, so much is promoted for its importance
as is usual of this agent, and the rest waits in short-term, by the gate `calibration`, until there
is room; nothing is lost. What is promoted always, or because it was recalled, never waits.

Usual is the median share of the last `DAYS_MAX` days that had `LINES_LEAST` lines or more, with the
width of how they differ; a day that took all it was let is no evidence of what is usual, so that a
flood does not widen what is let. But each week of such days widens it by a tenth, to twice as much
and no further: an agent whose work has really grown is caught up with slowly, while it is told.
Before `DAYS_LEAST` days nobody knows, and nothing waits: who is new may be unlike all others, and
what it needs tomorrow it would look for in vain. A first week in which most of many lines is
promoted is told all the same.

Where nearly everything ever came with the very same importance, that number says nothing: the
second opinion alone counts, of the model or of the guide by its kind.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from skymem.model.kinds import Kinds
from skymem.model.plan import Entry, Plan, Reason
from skymem.model.rules import AgentRules
from skymem.policy.earning import DECIMALS, Known, Verdict, is_recalled_enough
from skymem.policy.importance import Worth, expected

GATE: Final = "calibration"
DAY_SECONDS: Final = 86_400

LINES_LEAST: Final = 20
"""Lines that came in, from which a day's share means something."""

DAYS_LEAST: Final = 7
DAYS_MAX: Final = 28
AT_LEAST: Final = 5
"""Promoted of a day without a look at shares: that is no flood."""

SPREADS: Final = 3 * 1.4826
"""Median deviations that are still usual: three standard deviations of what is normal."""

WIDTH_LEAST: Final = 0.5
"""Of the median: an agent that was very regular may be half as much above it."""

SLACK_LEAST: Final = 0.05

WEEK: Final = 7
GROWTH: Final = 1.1
"""What a week of days that took all they were let widens what is let by."""

GROWTH_MOST: Final = 2.0
"""What it is widened to at most; beyond that a person has to look."""

NEW_LINES: Final = 200
NEW_SHARE: Final = 0.5
"""Of so many lines of an agent without a past, within two days, more than this share is told: the
scale has three tenths for what is worth promoting, and a first import of what is curated is less.
"""

ALIKE: Final = 0.95
"""Share of lines with one importance, from which that says nothing."""

ALIKE_LINES: Final = 50
"""Lines that it takes to say so."""


FULL_MOST: Final = WEEK * math.ceil(math.log(GROWTH_MOST, GROWTH))
"""Days from which it is widened no further."""


class Day(NamedTuple):
    """What became of an agent's lines on one day, in UTC."""

    came: int = 0
    promoted: int = 0
    """For their importance alone."""

    given: Mapping[int, int] = MappingProxyType({})
    """Of the promoted, how many had which importance from their writer, in hundredths."""


Days = Mapping[int, Day]
"""By the number of the day since 1970."""


@dataclass(frozen=True, slots=True)
class Held:
    """What waits, and why: numbers alone."""

    count: int
    share: float
    """Of what came in, what would be promoted."""

    usual: float | None
    """The most that is usual; None where importances without a spread are the reason."""

    def as_json(self) -> dict[str, Any]:
        """Spell it for a job's detail."""
        return {"held": self.count, "share": self.share, "usual": self.usual}


class _Candidate(NamedTuple):
    """What would be promoted for its importance alone."""

    place: int
    """Of its decision in the plan."""

    opinion: Worth
    """What it is worth to others than its writer."""

    given: int | None
    """What its writer says, in hundredths."""

    time_us: int
    id: str


def usual(days: Days, today: int) -> float | None:
    """The most of what comes in that this agent's promotions usually are, by the days before.

    None where too little is known.
    """
    shares: list[float] = []
    full, before = 0, 0.0
    for number in sorted(one for one in days if one < today):
        day = days[number]
        if day.came < LINES_LEAST:
            continue
        if len(shares) >= DAYS_LEAST:
            came, promoted = _window(days, number)
            most = _grown(shares, full, before)
            if promoted >= allowance(came, most) and most < 1:
                before = before if full else _most(shares)
                full = min(full + 1, FULL_MOST)
                continue
        full = max(0, full - 1)  # what the days themselves tell takes the place of the growth
        shares = [*shares, min(1.0, day.promoted / day.came)][-DAYS_MAX:]
    return _grown(shares, full, before) if len(shares) >= DAYS_LEAST else None


def _grown(shares: list[float], full: int, before: float) -> float:
    """What is let after so many days that took all they were let, and what was let before them."""
    growth = min(GROWTH_MOST, GROWTH ** (full // WEEK))
    return round(min(1.0, max(_most(shares), before * growth)), DECIMALS)


def allowance(came: int, most: float) -> int:
    """How many may be promoted of so many that came in."""
    return max(AT_LEAST, math.floor(most * came + 1e-9))


def _most(shares: list[float]) -> float:
    middle = _median(shares)
    spread = SPREADS * _median([abs(share - middle) for share in shares])
    return round(min(1.0, middle + max(spread, WIDTH_LEAST * middle, SLACK_LEAST)), DECIMALS)


def _median(numbers: list[float]) -> float:
    # The standard one costs each process that promotes 10 ms, and is not there once root is left.
    ordered, half = sorted(numbers), len(numbers) // 2
    return ordered[half] if len(numbers) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _window(days: Days, today: int) -> tuple[int, int]:
    """What came in and was promoted today and yesterday: a night's run promotes the day's lines."""
    both = [days.get(number, Day()) for number in (today - 1, today)]
    return sum(day.came for day in both), sum(day.promoted for day in both)


def _share(promoted: int, came: int) -> float:
    """Of what came in; with what waits from before it may be more than all, and is told as all."""
    return round(min(1.0, promoted / max(1, came)), 3)


@dataclass(slots=True)
class Calibration:
    """Collects what one plan would promote, and lets the surplus wait."""

    rules: AgentRules
    kinds: Kinds
    now: float
    past: Callable[[], Days]
    """The agent's days, as far as the ledger tells; asked once something would be promoted."""

    new: Callable[[], int]
    """How many lines no run has seen; asked when every line was."""

    _candidates: list[_Candidate] = field(default_factory=list)

    def note(self, place: int, entry: Entry, verdict: Verdict, known: Known) -> None:
        """Take note of what the decision at `place` of the plan would promote."""
        reason = verdict.reason
        if (
            self.rules.promotion.calibrate == "none"
            or reason is None
            or reason.gate != "importance"
        ):
            return
        if is_recalled_enough(self.rules, known.recalled):
            return
        memory = entry.memory
        opinion = known.predicted or expected(memory.kind, self.kinds)
        given = None if memory.importance is None else round(memory.importance * 100)
        self._candidates.append(_Candidate(place, opinion, given, memory.time_us or 0, entry.id))

    def hold_back(self, plan: Plan) -> None:
        """Take the surplus out of the plan, with its twins; and tell the plan of it."""
        if not self._candidates:
            return
        today = int(self.now // DAY_SECONDS)
        days = {number: day for number, day in self.past().items() if number <= today}
        own = days.get(today, Day())
        days[today] = own._replace(came=own.came + self.new())
        most = usual(days, today)
        held: dict[str, Reason] = {}
        if self._says_nothing(plan, days, certain=most is not None):
            held = self._by_opinion(plan)
        staying = [one for one in self._candidates if one.id not in held]
        came, promoted = _window(days, today)
        share = _share(promoted + len(staying), came)
        surplus = 0
        if most is not None:
            room = max(allowance(came, most) - promoted, AT_LEAST - own.promoted, 0)
            surplus = max(0, len(staying) - room)
            for one in sorted(staying, key=_worst_first)[:surplus]:
                held[one.id] = Reason(GATE, share, most, "of what came in, against what is usual")
        whole = _share(promoted + len(self._candidates), came)
        if held:
            self._take_out(plan, held)
            told = (share, most) if surplus else (whole, None)
            plan.calibration = Held(len(held), *told).as_json()
        elif most is None and came >= NEW_LINES and whole > NEW_SHARE:
            plan.calibration = Held(0, whole, None).as_json()

    def _says_nothing(self, plan: Plan, days: Days, *, certain: bool) -> bool:
        """Whether nearly all that came of late has the very same importance."""
        if not certain and self.rules.promotion.calibrate != "strict":
            return False
        given = Counter(one.given for one in self._candidates if one.given is not None)
        lines = 0
        for number in sorted(days)[-DAYS_MAX:]:
            given.update(days[number].given)
            lines += days[number].came
        lines = max(lines, plan.lines)
        most = max(given.values(), default=0)
        return lines >= ALIKE_LINES and most >= ALIKE * lines

    def _by_opinion(self, plan: Plan) -> dict[str, Reason]:
        """Judge by what others say where it was given; what does not reach the threshold waits."""
        held: dict[str, Reason] = {}
        for one in self._candidates:
            decision = plan.decisions[one.place]
            threshold = decision.reason.threshold or 0.0
            if one.given is None:
                continue
            source = f"{one.opinion.source}; as given it says nothing: nearly all are alike"
            if one.opinion.importance >= threshold:
                reason = Reason("importance", one.opinion.importance, threshold, source)
                plan.decisions[one.place] = decision._replace(reason=reason)
            else:
                held[one.id] = Reason(GATE, one.opinion.importance, threshold, source)
        return held

    def _take_out(self, plan: Plan, held: Mapping[str, Reason]) -> None:
        kept = [one for one in plan.decisions if not _stays(one.id, one.reason, held)]
        count = len(plan.decisions) - len(kept)
        plan.decisions[:] = kept
        plan.kept[GATE] = plan.kept.get(GATE, 0) + count
        plan.held = dict(held)
        if not kept:  # what waits would be all that the next round finds
            plan.unfinished = False


def _stays(name: str, reason: Reason, held: Mapping[str, Reason]) -> bool:
    """Whether a line waits: by itself, or as the twin of one that does."""
    return name in held and (reason.gate == "importance" or reason.note == "this run")


def _worst_first(one: _Candidate) -> tuple[float, int, str]:
    """The lowest second opinion, then the oldest, then by id: the same each time."""
    return one.opinion.importance, one.time_us, one.id
