"""What of the alarms is news to somebody who is told of changes (row X3)?

An alarm is told once, when it has held for a while, and its end once, when it has been gone as
long; one that comes and goes is told at most once in `quiet`. Everything that has become news by
then goes in one message. Who is told keeps a record of its own, so that one who can't be reached
takes nothing from another.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from skymem.model.alarm import ALARMS, Alarm, AlarmRules, alarm

LISTED_MAX: Final = 100
"""Alarms that a message lists; of the rest it says how many there are."""

TEXT_MAX: Final = 500
FAILED: Final = "notify_failed"


class Seen(NamedTuple):
    """What is known of one alarm to one who is told."""

    here: float
    """Since when it holds without a break; epoch seconds, like every time here."""

    gone: float | None = None
    """Since when it holds no more."""

    told: bool = False
    """Whether that it holds is what was told last."""

    told_at: float | None = None
    alarm: Alarm | None = None
    """As it was last."""


class News(NamedTuple):
    """What is to be told now."""

    raised: tuple[str, ...] = ()
    """Keys."""

    cleared: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.raised or self.cleared)


Record = Mapping[str, Seen]


def key_of(one: Alarm) -> str:
    """By what an alarm is known again: its id, whose it is, and of a job's its name.

    The numbers in its text change while it stays the same.
    """
    what = one.text.partition(" ")[0] if one.id.startswith(("job_", FAILED)) else ""
    return "/".join((one.id, one.agent or "", what))


def looked(
    record: Record, alarms: Iterable[Alarm], rules: AlarmRules, now: float
) -> dict[str, Seen]:
    """The record after a look at what holds now; what is neither here nor to be told is dropped."""
    found: dict[str, Seen] = {}
    for one in alarms:
        key = key_of(one)
        old = found.get(key) or record.get(key)
        if old is None:
            found[key] = Seen(now, alarm=one)
        elif old.gone is None:
            here = min(old.here, now)  # the clock may have been set back
            found[key] = old._replace(here=here, alarm=old.alarm if key in found else one)
        else:
            found[key] = old._replace(here=now, gone=None, alarm=one)
    for key, old in record.items():
        if key not in found and (old.told or _is_quiet(old, rules, now)):
            found[key] = old._replace(gone=now if old.gone is None else min(old.gone, now))
    return found


def with_told(record: Record, keys: Iterable[str], now: float) -> dict[str, Seen]:
    """The record with what was told while none could be written."""
    found = dict(record)
    for key in keys:
        name, agent, _ = (*key.split("/", 2), "", "")[:3]
        if name in ALARMS and not (key in found and found[key].told):
            known = found.get(key) or Seen(
                now, alarm=alarm(name, ALARMS[name].meaning, agent or None)
            )
            found[key] = known._replace(told=True, told_at=now)
    return found


def news(record: Record, rules: AlarmRules, now: float) -> News:
    """What has held, or been gone, for long enough to be told."""
    raised = [
        key
        for key, one in record.items()
        if one.gone is None and not one.told and _is_due(one, one.here, rules, now)
    ]
    cleared = [
        key
        for key, one in record.items()
        if one.gone is not None and one.told and _is_due(one, one.gone, rules, now)
    ]
    return News(tuple(raised), tuple(cleared))


def after_telling(record: Record, told: News, now: float) -> dict[str, Seen]:
    """The record once a message was taken."""
    found = dict(record)
    for key in told.raised:
        found[key] = found[key]._replace(told=True, told_at=now)
    for key in told.cleared:
        found[key] = found[key]._replace(told=False, told_at=now)
    return found


def message(record: Record, told: News, home: str, now: float) -> dict[str, Any]:
    """What is sent: ids, counts and gates, never a memory's text (promise 6)."""
    here = [one for one in record.values() if one.gone is None]
    return {
        "schema_version": 1,
        "home": home,
        "ts": now,
        "health": "degraded" if here else "healthy",
        "active": len(here),
        "raised": _listed([record[key] for key in told.raised]),
        "cleared": _listed([record[key] for key in told.cleared]),
        "raised_count": len(told.raised),
        "cleared_count": len(told.cleared),
    }


def _listed(each: Sequence[Seen]) -> list[dict[str, Any]]:
    return [
        {
            **one.alarm.to_json(),
            "text": one.alarm.text[:TEXT_MAX],
            "since": one.here if one.alarm.since is None else one.alarm.since,
        }
        for one in each[:LISTED_MAX]
        if one.alarm is not None
    ]


def _is_due(one: Seen, since: float, rules: AlarmRules, now: float) -> bool:
    return now - since >= rules.hold_seconds and not _is_quiet(one, rules, now)


def _is_quiet(one: Seen, rules: AlarmRules, now: float) -> bool:
    # A clock that was set back must not silence it for long.
    return one.told_at is not None and 0 <= now - one.told_at < rules.quiet_seconds
