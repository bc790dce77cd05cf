"""Telling somebody when an alarm is raised or cleared: off until a command or a webhook is named.

The daemon has a child do it, every so often (`daemon.lookout`), so that nothing here is in the way
of the schedule. What was told is on record before the next look, and what is about to be is on
record before it is sent: after a kill in between it is sent again, under the same `id`.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final

from skymem.alarm_command import by_command
from skymem.alarm_webhook import by_webhook
from skymem.app import Home, now
from skymem.errors import BusyError, DiskError
from skymem.health import health_of
from skymem.model.alarm import Alarm, AlarmRules
from skymem.policy.backoff import backoff_seconds
from skymem.policy.news import (
    FAILED,
    LISTED_MAX,
    News,
    after_telling,
    looked,
    message,
    news,
    with_told,
)
from skymem.stores.alarm_record import AlarmRecord, Failing, Told, read_record, write_record
from skymem.stores.lock import held

COMMAND: Final = "command"
WEBHOOK: Final = "webhook"


def tell(home: Home, already: Sequence[str] = ()) -> dict[str, Any]:
    """Look at the alarms, and tell each who is to be told what has become news.

    A disk that is full is told of too, though it takes no record of that: then at once, and what
    began alone; who calls keeps what was told for the next look.

    Args:
        home: whose alarms.
        already: what was told and is on no record.

    Returns:
        `told`: by who was told, how many alarms were `raised` and `cleared`, or why it `failed`;
        `already` where the record can't be written: for the next look.
    """
    if not home.rules.alarms.told and not home.paths.alarms.exists():
        return {"told": {}}
    home.files.make_directory(home.paths.run)
    try:
        with held(home.paths.run / "alarms.lock", "skymem alarms", deadline_seconds=0.0):
            return _tell(home, already)
    except BusyError:  # another one is at it
        return {"told": {}}


def _tell(home: Home, already: Sequence[str]) -> dict[str, Any]:
    record = read_record(home.paths)
    rules = _rules(home, record)
    at = _look(home, record, rules, already)
    kept = _kept(home, record)
    found: dict[str, Any] = {}
    for name, told in record.channels.items():
        due = news(told.seen, rules if kept else rules._replace(hold_seconds=0.0), at)
        due = due if kept else due._replace(cleared=())
        if due and (told.failing is None or told.failing.retry_at <= at):
            found[name] = _send(home, name, told, due, rules)
        elif not due and told.failing is not None:
            told.failing = None  # what could not be told is over, and nobody was told it began
        else:
            continue
        kept = _kept(home, record) and kept
    return {"told": found} if kept else {"told": found, "already": _told_to_all(record)}


def _look(home: Home, record: AlarmRecord, rules: AlarmRules, already: Sequence[str]) -> float:
    """Bring the record to what holds now, for each who is to be told; returns when that was."""
    alarms = [Alarm(**one) for one in health_of(home)["alarms"]]
    at = now()
    own = {COMMAND: bool(rules.command), WEBHOOK: rules.webhook is not None}
    whom = [name for name, wanted in own.items() if wanted]
    record.channels = {name: record.channels.get(name, Told()) for name in whom}
    record.rules = rules if whom else None
    for name, told in record.channels.items():
        others = [one for one in alarms if not (one.id == FAILED and one.text.startswith(name))]
        told.seen = looked(with_told(told.seen, already, at), others, rules, at)
    return at


def _kept(home: Home, record: AlarmRecord) -> bool:
    """Write the record; False where that can't be done."""
    try:
        write_record(home.paths, home.files, record)
    except DiskError:
        return False
    return True


def _told_to_all(record: AlarmRecord) -> list[str]:
    """What holds and everyone was told of."""
    told = [
        {key for key, one in channel.seen.items() if one.told and one.gone is None}
        for channel in record.channels.values()
    ]
    return sorted(set.intersection(*told))[:LISTED_MAX] if told else []


def _rules(home: Home, record: AlarmRecord) -> AlarmRules:
    """Those of the file; while it can't be used, whoever was told before hears of that too."""
    rules = home.rules.alarms
    return record.rules if home.faults and not rules.told and record.rules else rules


def _send(home: Home, name: str, told: Told, due: News, rules: AlarmRules) -> dict[str, Any]:
    at = now()
    document = message(told.seen, due, str(home.paths.root), at)
    document["id"] = _id(told, due)
    text = json.dumps(document, allow_nan=False).encode() + b"\n"
    why = _SENDERS[name](home, rules, text)
    if why and home.stop():
        return {"failed": why}  # we end, and that says nothing of who is told
    if not why:
        told.seen, told.failing = after_telling(told.seen, due, now()), None
        return {"raised": len(due.raised), "cleared": len(due.cleared)}
    old = told.failing
    times = 1 if old is None else old.times + 1
    retry_at = now() + backoff_seconds(times, rules.look_seconds)
    told.failing = Failing(times, at if old is None else old.since, retry_at, why)
    return {"failed": why}


def _id(told: Told, due: News) -> str:
    """The message's own name: the same when it is sent again."""
    raised = [f"{key} {told.seen[key].here}" for key in due.raised]
    cleared = [f"{key} {told.seen[key].gone}" for key in due.cleared]
    return sha256("\n".join([*raised, "", *cleared]).encode()).hexdigest()[:16]


def _by_command(home: Home, rules: AlarmRules, text: bytes) -> str:
    environment = {**os.environ, "SKYMEM_HOME": str(home.paths.root)}
    return by_command(
        rules.command,
        text,
        deadline_seconds=rules.deadline_seconds,
        environment=environment,
        stop=home.stop,
    )


def _by_webhook(home: Home, rules: AlarmRules, text: bytes) -> str:
    return by_webhook(rules, text, environment=os.environ, stop=home.stop)


_SENDERS: Final[Mapping[str, Callable[[Home, AlarmRules, bytes], str]]] = {
    COMMAND: _by_command,
    WEBHOOK: _by_webhook,
}
