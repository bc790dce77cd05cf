"""A job's detail: what a run did, as the CLI, the status file and the history tell it alike.

Ids, counts, gates and numbers only (promise 6). Keys are fixed; see docs/daemon.md.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from skymem.errors import SkymemError, UsageError
from skymem.jobs.kept_words import KEPT
from skymem.jobs.own_keys import own_keys
from skymem.jobs.planned import planned
from skymem.model.plan import STAYING, Plan, highest_of

EVERY_TIER: Final = ("merge", "prune")
"""Jobs that look at more than short-term."""


class Ended(Protocol):
    """What a run leaves for each agent, whichever the job."""

    job: str
    error: str
    exit_code: int
    plans: list[Plan]


def exit_code(ended: Iterable[Ended]) -> int:
    """What the run ends with: 0, or what the first failure asks for."""
    return next((one.exit_code for one in ended if one.error), 0)


def raise_failure(ended: Iterable[Ended]) -> None:
    """Raise what ended a run, for a caller with nobody to read its detail.

    Raises:
        SkymemError: the very error, of its own class.
    """
    for one in ended:
        if one.error:
            cause = one.cause if isinstance(one, Outcome) else None
            raise cause or SkymemError(one.error)


def raise_refusal(ended: Iterable[Ended]) -> None:
    """Raise what was asked for in a wrong way: nothing was done, and nothing is to be recorded.

    Raises:
        SkymemError: a usage error, of its own class.
    """
    raise_failure(one for one in ended if one.exit_code == UsageError.exit_code)


@dataclass(slots=True)
class Outcome:
    """What one job did, or would do, about one agent."""

    job: str
    agent: str
    threshold: float | None = None
    lines: int = 0
    """Readable lines in short-term when the job began."""

    remaining: int | None = None
    """Lines left in short-term; None where the job failed before it could read them."""

    actions: Counter[str] = field(default_factory=Counter)
    """Decisions by what they do."""

    gates: Counter[str] = field(default_factory=Counter)
    """Decisions that bring a memory to another tier, by their gate."""

    additions: Counter[str] = field(default_factory=Counter)
    """New memories, by what they are."""

    made: list[str] = field(default_factory=list)
    """Their ids."""

    sources: int = 0
    """Memories that those were made of, or take the place of."""

    withheld: Counter[str] = field(default_factory=Counter)
    redacted: Counter[str] = field(default_factory=Counter)
    """Secrets taken out of what moved, by kind."""

    unasked: int = 0
    calibration: dict[str, Any] = field(default_factory=dict)
    """Of an agent that would promote more than is usual: what waits, and why."""

    predicted: dict[str, int] = field(default_factory=dict)
    """What a model that goes by `vectors` and by `text` went by, of how many memories."""

    duplicates: int = 0
    """Memories that became part of one that says the same (row P15)."""

    quarantined: int = 0
    erased: int = 0
    """Lines dropped because their memory was erased (row X5)."""

    skipped: Counter[str] = field(default_factory=Counter)
    runs: list[str] = field(default_factory=list)
    recovered: list[str] = field(default_factory=list)
    archives: list[str] = field(default_factory=list)
    plans: list[Plan] = field(default_factory=list)
    """Kept for a dry run and a saved plan only."""

    highest: float | None = None
    """The highest importance of what promote left (row X3)."""

    budget: dict[str, dict[str, int]] = field(default_factory=dict)
    """What 30 days have removed by judgement, and what they may, by tier (row X4)."""

    late: int = 0
    """Old short-term files that a process still has open for writing."""

    unfinished: bool = False
    """A dry run or a saved plan that covers one round, where the run itself would go on."""

    error: str = ""
    exit_code: int = 0
    cause: SkymemError | None = None
    """What ended it, for a caller who has nobody to read the detail; None where it was a bug."""

    def fail(self, error: str, code: int, cause: SkymemError | None = None) -> None:
        """Record that it did not come to its end."""
        self.error, self.exit_code, self.cause = error, code, cause

    def add(self, plan: Plan) -> None:
        """Count what one plan decides."""
        if not self.lines:
            self.lines = plan.lines
        self.remaining = plan.lines - plan.leaving
        self.unfinished = plan.unfinished
        self.actions.update(decision.action for decision in plan.decisions)
        moving = (one for one in plan.decisions if one.action not in STAYING)
        self.gates.update(decision.reason.gate for decision in moving)
        self.quarantined += plan.count("quarantine")
        self.erased += sum(decision.reason.gate == "erased" for decision in plan.decisions)
        self.additions.update(one.what for one in plan.additions)
        self.made += [one.id for one in plan.additions]
        basis = {name for one in plan.additions for name in (*one.evidence, *one.supersedes)}
        self.sources += len(basis)
        self.withheld.update(plan.withheld)
        self.redacted.update(plan.redacted)
        self.unasked += plan.unasked
        if plan.calibration:
            self.calibration[self.agent] = plan.calibration
        self.highest = highest_of([self.highest, plan.highest])
        self.predicted |= Counter(self.predicted) | Counter(plan.predicted)
        self.budget = plan.budget or self.budget
        self.duplicates += plan.duplicates
        if not plan.unfinished:
            self.skipped.update(plan.kept)

    @property
    def moved(self) -> int:
        """Memories that came to another tier."""
        return sum(self.actions.values()) - sum(self.actions[action] for action in STAYING)

    @property
    def acted(self) -> int:
        """Memories it moved, or made part of another; if none, the records it wrote anew."""
        if self.job == "share":
            return self.moved + sum(self.additions.values())
        # What a compress quotes it moves; its record also cites what older ones rest on.
        united = 0 if self.job == "compress" else self.sources
        return max(self.moved, united) or sum(self.additions.values())

    @property
    def repeats(self) -> int:
        """Lines whose memory was elsewhere already."""
        return self.actions["repeat"]

    def to_json(self) -> dict[str, Any]:
        """The detail of this agent alone."""
        detail: dict[str, Any] = {
            "ok": not self.error,
            "eligible": self.lines,
            "acted": self.acted,
            "skipped": dict(self.skipped),
            "repeats": self.repeats,
            "quarantined": self.quarantined,
            "remaining": self.remaining,
        }
        if self.threshold is not None:
            detail["threshold"] = self.threshold
        detail |= own_keys(self.job, [self]) | _erased([self]) | redacted([self])
        if self.late:
            detail["held"] = self.late
        if self.unfinished:
            detail["unfinished"] = True
        if self.runs:
            detail["runs"] = self.runs
        if self.recovered:
            detail["recovered"] = self.recovered
        if self.error:
            detail |= {"error": self.error, "exit_code": self.exit_code}
        return detail


@dataclass(frozen=True, slots=True)
class Frame:
    """What every detail of one invocation shares."""

    started: float
    duration_s: float
    rag_pending: int
    degraded: tuple[str, ...]
    threshold: float | None = None
    """The home's default for this job (P3 wants a number even with several agents)."""

    dry_run: bool = False
    awaited: tuple[str, ...] = ()
    """Of share: agents that a rule shares with and that have no memory yet."""


def job_detail(job: str, outcomes: Iterable[Outcome], frame: Frame) -> dict[str, Any]:
    """Sum one job over its agents."""
    each = list(outcomes)
    agents = {outcome.agent: outcome.to_json() for outcome in each}
    skipped: Counter[str] = Counter()
    for outcome in each:
        skipped.update(outcome.skipped)
    detail: dict[str, Any] = {
        "ok": all(not outcome.error for outcome in each),
        "job": job,
        "started": frame.started,
        "duration_s": round(frame.duration_s, 6),
        "eligible": sum(outcome.lines for outcome in each),
        "acted": sum(outcome.acted for outcome in each),
        "skipped": dict(skipped),
        "repeats": sum(outcome.repeats for outcome in each),
        "quarantined": sum(outcome.quarantined for outcome in each),
        "remaining": _sum_known(outcome.remaining for outcome in each),
        **({} if frame.threshold is None else {"threshold": frame.threshold}),
        **({"awaited": list(frame.awaited)} if frame.awaited else {}),
        "rag_pending": frame.rag_pending,
        "degraded": list(frame.degraded),
        "agents": agents,
    }
    detail |= own_keys(job, each) | _erased(each) | redacted(each)
    if any(outcome.unfinished for outcome in each):
        detail["unfinished"] = True
    recovered = [run for outcome in each for run in outcome.recovered]
    if recovered:
        detail["recovered"] = recovered
    if frame.dry_run:
        detail |= {"dry_run": True, **planned(plan for one in each for plan in one.plans)}
    if not detail["acted"]:
        detail["why"] = _why_nothing(job, each, detail)
    elif any(plan.over for one in each for plan in one.plans):
        detail["why"] = "the loss budget stops it"
    errors = [f"{outcome.agent}: {outcome.error}" for outcome in each if outcome.error]
    if errors:
        detail["error"] = "; ".join(errors)
    return detail


def _erased(each: Iterable[Outcome]) -> dict[str, int]:
    """Lines dropped because their memory was erased, where there were any."""
    erased = sum(outcome.erased for outcome in each)
    return {"erased": erased} if erased else {}


def redacted(each: Iterable[Outcome]) -> dict[str, Any]:
    """How many secrets of which kind were taken out; no key where there were none."""
    taken = sum((one.redacted for one in each), Counter[str]())
    return {"redacted": dict(taken)} if taken else {}


def _taken_out(*steps: Mapping[str, Any]) -> dict[str, Any]:
    """What was redacted and what was dropped as erased, in all steps; no key where nothing was."""
    redacted = sum((Counter(step.get("redacted", {})) for step in steps), Counter[str]())
    erased = sum(step.get("erased", 0) for step in steps)
    told = {"redacted": dict(redacted), "erased": erased}
    return {name: found for name, found in told.items() if found}


def together(name: str, steps: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Join promote's and rotate's details as row P3 shows `memory_rotate_check`."""
    promote, rotate = steps["promote"], steps["rotate"]
    whole: dict[str, Any] = {
        "ok": promote["ok"] and rotate["ok"],
        "promoted": promote["promoted"],
        "rotated": rotate["rotated"],
        "remaining": rotate["remaining"],
        "threshold": promote["threshold"],
        "job": name,
        "started": promote["started"],
        "duration_s": round(promote["duration_s"] + rotate["duration_s"], 6),
        "eligible": promote["eligible"],
        "acted": promote["acted"] + rotate["acted"],
        "skipped": {**promote["skipped"], **rotate["skipped"]},
        "repeats": promote["repeats"] + rotate["repeats"],
        "quarantined": promote["quarantined"] + rotate["quarantined"],
        "archived": rotate["archived"],
        "archives": rotate["archives"],
        "rag_pending": rotate["rag_pending"],
        "degraded": sorted({*promote["degraded"], *rotate["degraded"]}),
        "agents": {
            agent: {**rotate["agents"].get(agent, {}), **detail, "remaining": _left(rotate, agent)}
            for agent, detail in promote["agents"].items()
        },
        "steps": dict(steps),
    }
    for key in ("dry_run", "recovered", "unfinished", "calibration", "highest", "importance_by"):
        if key in promote:
            whole[key] = promote[key]
    whole |= _taken_out(promote, rotate)
    for key in ("decisions", "additions"):
        if key in promote:
            whole[key] = [*promote[key], *rotate[key]]
    if not whole["acted"]:
        whole["why"] = "; ".join(dict.fromkeys(str(step["why"]) for step in (promote, rotate)))
    errors = dict.fromkeys(str(step["error"]) for step in (promote, rotate) if "error" in step)
    if errors:
        whole["error"] = "; ".join(errors)
    return whole


def _left(rotate: Mapping[str, Any], agent: str) -> int | None:
    left = rotate["agents"].get(agent, {}).get("remaining")
    return None if left is None else int(left)


def _sum_known(numbers: Iterable[int | None]) -> int | None:
    """Add up what is known; None when none is, 0 when there is nothing to add."""
    each = list(numbers)
    known = [number for number in each if number is not None]
    return sum(known) if known or not each else None


def _why_nothing(job: str, outcomes: list[Outcome], detail: Mapping[str, Any]) -> str:
    """Say why a run that did nothing did nothing (promise 8)."""
    if job == "forget" and detail["ok"]:
        return _why_not_forgotten(detail["skipped"])
    if detail["repeats"] or detail["quarantined"]:
        return "what left short-term was repeated or unreadable"
    if detail["skipped"]:
        return _why_kept(job, detail["skipped"])
    if any(outcome.error for outcome in outcomes):
        return "it failed"
    if not outcomes:
        return "there is no agent yet"
    return _why_not_due(job, detail)


def _why_not_forgotten(skipped: Mapping[str, int]) -> str:
    if not skipped:
        return "nothing matched"
    return f"{skipped['pinned']} pinned; first: skymem unpin ID"


def _why_not_shared(awaited: Sequence[str]) -> str:
    if awaited:
        return f"no memory yet, so nothing to be shared with: {', '.join(awaited)}"
    return "every copy that a rule shares is where it belongs"


def _why_not_due(job: str, detail: Mapping[str, Any]) -> str:
    if job == "share":
        return _why_not_shared(detail.get("awaited", ()))
    lines = detail["eligible"]
    if lines:
        return f"nothing of {lines} line(s) in short-term is for it, nor elsewhere"
    elsewhere = ", and nothing elsewhere is due" if job in EVERY_TIER else ""
    return f"short-term is empty{elsewhere}"


def _why_kept(job: str, skipped: Mapping[str, int]) -> str:
    kept = sum(skipped.values())
    if job == "promote" and {*skipped} == {"importance"}:
        return f"none of {kept} line(s) reaches the threshold"
    if job == "rotate" and {*skipped} == {"line_limit"}:
        return f"{kept} line(s) are within the limit"
    each = sorted(skipped.items())
    told = ", ".join(f"{count} {KEPT.get(gate, gate)}" for gate, count in each)
    if job == "prune" and "no_ttl" in skipped:
        told += "; its age rule is not for short-term"
    return f"nothing is due; kept: {told}"
