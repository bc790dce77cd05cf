"""Did the runs of a job do anything? What their results in a row say, as alarms (row X3).

Values in, alarms out: what is looked at was counted by the jobs already. A result alone says
little: an hour in which nothing was worth promoting is an hour of routine. So each job's record
holds in short what its last results had in common, agent by agent (`lately`), and from when on.
"""

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any, Final, NamedTuple

from skymem.model.alarm import Alarm, AlarmRules, alarm

PROMOTING: Final = ("promote", "memory_rotate_check")
"""Jobs whose detail is promote's."""

READING: Final = (*PROMOTING, "rotate", "compress")
"""Jobs that go by what stands in short-term."""

HALF: Final = 0.5
NEW_SECONDS: Final = 2 * 86_400.0
"""How long it is news what an agent without a past had promoted."""

TELLS_LITTLE: Final = frozenset({"runs", "recovered", "archives", "archive", "calibration"})
"""What differs from run to run, or belongs to no count."""


class Source(NamedTuple):
    """One agent's part of a job's last result, and what its results in a row had in common."""

    name: str
    """What the result is filed under: an entry of the schedule, or a verb."""

    agent: str
    detail: Mapping[str, Any]
    lately: Mapping[str, Any]


# -- what is recorded ------------------------------------------------------------------------------


def lately(before: object, detail: Mapping[str, Any], now: float) -> dict[str, Any]:
    """What this result and those before it have in common; bounded, whatever their number.

    Args:
        before: what this gave for the result before; anything else begins anew.
        detail: the result.
        now: epoch seconds.
    """
    old = _mapping(before)
    known = _mapping(old.get("agents")).items()  # whom this run was not for stays as it was
    agents = {name: one for name, one in known if isinstance(one, Mapping)}
    if detail.get("job") in READING:
        for name, own in _mapping(detail.get("agents")).items():
            if isinstance(own, Mapping) and own.get("ok"):
                last = _mapping(agents.get(name))
                told = _mapping(_mapping(detail.get("calibration")).get(name))
                new = _newcomer(last.get("newcomer"), told, now)
                agents[name] = _of_agent(last, own, now) | new
    found: dict[str, Any] = {"agents": agents} if agents else {}
    pending = detail.get("rag_pending")
    if isinstance(pending, int):
        found["backlog"] = _backlog(_mapping(old.get("backlog")), pending, now)
    return found


def _newcomer(old: object, told: Mapping[str, Any], now: float) -> dict[str, Any]:
    """That one without a past had most of its lines promoted: it is news for a while."""
    if told.get("held") == 0 and _number(told.get("share")) is not None:
        since = _time(_mapping(old).get("since"), now)
        return {"newcomer": {"since": since, "at": now, "share": told["share"]}}
    fresh = now - _time(_mapping(old).get("at"), now - NEW_SECONDS) < NEW_SECONDS
    return {"newcomer": old} if fresh else {}


def _of_agent(old: Mapping[str, Any], own: Mapping[str, Any], now: float) -> dict[str, Any]:
    left = own.get("remaining")
    eligible = _count(own.get("eligible"))
    fresh = max(0, eligible - _count(old.get("left")))
    found: dict[str, Any] = {"left": left if isinstance(left, int) else eligible}
    if eligible and not own.get("acted"):
        found["idle"] = _idle(_mapping(old.get("idle")), own, fresh, now)
    if eligible:
        found["same"] = _same(_mapping(old.get("same")), own, now)
    return found


def _idle(old: Mapping[str, Any], own: Mapping[str, Any], fresh: int, now: float) -> dict[str, Any]:
    """Runs in a row that had something to look at and moved none of it."""
    seen = [old.get("highest"), own.get("highest")]
    highest = max((one for one in seen if isinstance(one, int | float)), default=None)
    return {
        "runs": _count(old.get("runs")) + 1,
        "since": _time(old.get("since"), now),
        "fresh": _count(old.get("fresh")) + fresh,
        "highest": highest,
    }


def _same(old: Mapping[str, Any], own: Mapping[str, Any], now: float) -> dict[str, Any]:
    """Runs in a row that told the very same numbers."""
    numbers = {name: value for name, value in own.items() if name not in TELLS_LITTLE}
    told = sha256(json.dumps(numbers, sort_keys=True).encode()).hexdigest()[:16]
    if old.get("told") != told:
        return {"runs": 1, "since": now, "told": told}
    return {
        "runs": _count(old.get("runs")) + 1,
        "since": _time(old.get("since"), now),
        "told": told,
    }


def _backlog(old: Mapping[str, Any], pending: int, now: float) -> dict[str, Any]:
    """Runs after each of which more was left to index; one that leaves as much says nothing."""
    last = old.get("last")
    if not pending or not isinstance(last, int) or pending < last:
        return {"runs": 0, "since": now, "first": pending, "last": pending}
    return {
        "runs": _count(old.get("runs")) + (pending > last),
        "since": _time(old.get("since"), now),
        "first": _count(old.get("first")),
        "last": pending,
    }


# -- what it means ---------------------------------------------------------------------------------


def idle(source: Source, rules: AlarmRules, now: float) -> Iterator[Alarm]:
    """Promote looked at new lines again and again, and moved none of them.

    Lines that lie there and were looked at before are no news, so some must have come meanwhile.
    """
    streak = _mapping(source.lately.get("idle"))
    if source.detail.get("job", "") not in PROMOTING or not _lasts(streak, rules, now):
        return
    fresh, since = _count(streak.get("fresh")), _time(streak.get("since"), now)
    if not fresh:
        return
    highest, threshold = _number(streak.get("highest")), _number(source.detail.get("threshold"))
    told = f"{source.agent}: {source.name} promoted none in {streak['runs']:,} runs in a row"
    unreached = set(_mapping(source.detail.get("skipped"))) == {"importance"}
    if unreached and highest is not None and threshold is not None and highest < threshold:
        numbers = f"highest seen {highest:.2f}, threshold {threshold:.2f}"
        yield alarm("threshold_unreachable", f"{told}: {numbers}", source.agent, since=since)
        return
    text = f"{told}, though {fresh:,} new line(s) came: {_gates(source.detail)}"
    yield alarm("idle_promote", text, source.agent, since=since)


def same(
    source: Source, rules: AlarmRules, now: float, *, written: float | None
) -> Iterator[Alarm]:
    """A job told the very same again and again, though short-term was written to meanwhile.

    An agent that rests leaves numbers as they are, and nothing is wrong with that.

    Args:
        source: the job's record.
        rules: from when on it is an alarm.
        now: epoch seconds.
        written: when short-term was written to last; None where there is none.
    """
    streak = _mapping(source.lately.get("same"))
    since = _time(streak.get("since"), now)
    if written is None or written <= since or not _lasts(streak, rules, now):
        return
    numbers = f"{_count(source.detail.get('eligible')):,} eligible, "
    numbers += f"{_count(source.detail.get('acted')):,} acted"
    text = (
        f"{source.agent}: {source.name} told the very same in {streak['runs']:,} runs in a row "
        f"({numbers}), though short-term was written to"
    )
    yield alarm("identical_output", text, source.agent, since=since)


def backlog(
    name: str, recorded: Mapping[str, Any], rules: AlarmRules, *, pending: int
) -> Iterator[Alarm]:
    """More and more is left to be indexed, and still is.

    Args:
        name: what the results are filed under.
        recorded: what they have in common.
        rules: from when on it is an alarm.
        pending: how much is left now.
    """
    streak = _mapping(recorded.get("backlog"))
    first, last = _count(streak.get("first")), _count(streak.get("last"))
    if _count(streak.get("runs")) < rules.backlog_runs or pending < last:
        return
    text = (
        f"{pending:,} long-term memories are not indexed yet, and {name} left more in each of "
        f"{streak['runs']:,} runs ({first:,} before them)"
    )
    yield alarm("backlog_growing", text, since=_time(streak.get("since"), 0.0))


def spent(source: Source, at: float | None) -> Iterator[Alarm]:
    """Half of what may go by judgement in 30 days is gone, by the last prune."""
    for tier, numbers in sorted(_mapping(source.detail.get("budget")).items()):
        gone, allowed = (_count(_mapping(numbers).get(name)) for name in ("spent", "allowed"))
        if allowed and gone >= HALF * allowed:
            text = (
                f"{source.agent}: jobs removed {gone:,} memories of {tier} by judgement in 30 "
                f"days, of {allowed:,} that budget.per_30_days allows"
            )
            yield alarm("budget_half_spent", text, source.agent, since=at)


def flood(source: Source, at: float | None) -> Iterator[Alarm]:
    """Promote held back what is beyond an agent's usual share."""
    found = _mapping(source.detail.get("calibration"))
    found = _mapping(found.get(source.agent, found))
    held, share, usual = found.get("held"), _number(found.get("share")), _number(found.get("usual"))
    if not _count(held):
        yield from _new_flood(source)
        return
    why = ": the importances it gives tell hardly anything apart"
    if share is not None and usual is not None:
        why = f": it rated {share:.0%} worth promoting, where {usual:.0%} is usual"
    text = f"{source.agent}: {source.name} held back {_count(held):,} line(s){why}"
    yield alarm("flood", text, source.agent, since=at)


def _new_flood(source: Source) -> Iterator[Alarm]:
    """Nothing waits in an agent's first week, and a person may want to look."""
    new = _mapping(source.lately.get("newcomer"))
    share = _number(new.get("share"))
    if share is not None:
        text = (
            f"{source.agent}: it has no week's history yet, and {source.name} promoted {share:.0%} "
            "of many lines; nothing was held back"
        )
        yield alarm("flood", text, source.agent, since=_time(new.get("since"), 0.0))


def index_small(agent: str, indexed: int, pending: int, stored: int) -> Iterator[Alarm]:
    """The index knows of far fewer memories than long-term holds, and owes none of them."""
    missing = stored - indexed - pending
    if missing >= MISSING_LEAST and missing >= MISSING_SHARE * stored:
        text = (
            f"{agent}: its index has {indexed:,} of {stored:,} long-term memories, "
            f"and only {pending:,} are known to be missing"
        )
        yield alarm("index_small", text, agent)


MISSING_LEAST: Final = 10
MISSING_SHARE: Final = 0.1
"""What is not indexed may be a handful for good reasons; a tenth of everything has none."""


def unread(
    agent: str, written: float, read: float, rules: AlarmRules, now: float
) -> Iterator[Alarm]:
    """Short-term was written to after the last job read it, and that is long ago.

    Args:
        agent: whose.
        written: when it was written to last.
        read: when a job read it last, or the home was made.
        rules: from when on it is an alarm.
        now: epoch seconds.
    """
    if written > read and now - read >= rules.unread_seconds:
        text = f"{agent}: short-term is written to, and no job has read it for {_long(now - read)}"
        yield alarm("unread_growth", text, agent, since=read)


def disk_low(free: int, whole: int, rules: AlarmRules, usual: int) -> Iterator[Alarm]:
    """Less is free than should be: by the rules, else by what is usual, of a tiny disk a tenth."""
    least = min(usual, whole // 10) if rules.disk_free_bytes is None else rules.disk_free_bytes
    if free < least:
        text = f"the disk is nearly full: {free:,} bytes are free, {least:,} should be"
        yield alarm("disk_low", text)


def _lasts(streak: Mapping[str, Any], rules: AlarmRules, now: float) -> bool:
    lasted = now - _time(streak.get("since"), now)
    return _count(streak.get("runs")) >= rules.runs and lasted >= rules.idle_seconds


def _gates(detail: Mapping[str, Any]) -> str:
    kept = _mapping(detail.get("skipped"))
    each = (f"{_count(count):,} kept by {gate}" for gate, count in sorted(kept.items()))
    return ", ".join(each) or f"{_count(detail.get('eligible')):,} eligible"


def _long(seconds: float) -> str:
    for size, unit in ((86_400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}(s)"
    return f"{seconds:.0f} second(s)"


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _time(value: object, otherwise: float) -> float:
    return float(value) if isinstance(value, int | float) else otherwise


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
