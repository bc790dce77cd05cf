"""The schedule: which job runs when, as frozen values.

`config.schedule_file` reads it from `schedule.yaml`; `daemon.timing` turns a trigger into times.
Rows P2 and D2.
"""

from datetime import time
from typing import Final, NamedTuple

JOB_VERBS: Final = (
    "promote", "rotate", "compress", "merge", "prune", "share", "compact", "index", "train",
)  # fmt: skip
"""The jobs design §2 names, the one that shares, the one that empties trash, and the one that
learns from the home's history; each is also a CLI verb."""

KNOWN_JOBS: Final = (*JOB_VERBS, "memory_rotate_check", "heartbeat")


def by_hand(word: str) -> str:
    """How to run what somebody took for an entry of the schedule, where it is a job; else ""."""
    return f" (the job by hand: skymem {word})" if word in JOB_VERBS else ""


class Every(NamedTuple):
    """A fixed interval, in seconds."""

    seconds: float


class Daily(NamedTuple):
    """Once a day at a local time of the schedule's timezone."""

    at: time


class Cron(NamedTuple):
    """A crontab expression or `@daily` and kin, already checked: it fires on some day.

    `model.cron.parse_cron` gives its meaning; no library's own reading of the text is used.
    """

    expression: str


Trigger = Every | Daily | Cron


class ScheduleEntry(NamedTuple):
    """One entry of `every:`."""

    name: str
    job: str
    trigger: Trigger
    jitter_seconds: float = 0.0
    """Each run is put off by a random time up to this, so that hosts do not run in step."""

    timeout_seconds: float = 1800.0
    """A run that takes longer is killed; its work is safe to kill at any point."""

    enabled: bool = True


class Schedule(NamedTuple):
    """Everything `schedule.yaml` says."""

    entries: tuple[ScheduleEntry, ...] = ()
    timezone: str = "UTC"
