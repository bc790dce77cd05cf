"""What can be wrong with a home, each kind under an id that stays (row X3).

The table is the one place that says what an id means and what to do; docs/daemon.md lists it.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple


class Alarm(NamedTuple):
    """One thing that is wrong; ids, counts and gates only, never a memory's text (promise 6)."""

    id: str
    agent: str | None
    """Whose, where it is about one agent."""

    text: str
    """A whole sentence."""

    remedy: str
    """What to do."""

    since: float | None = None
    """Epoch seconds, where it is known."""

    def to_json(self) -> dict[str, Any]:
        """As every document spells it."""
        return self._asdict()


class Kind(NamedTuple):
    """What an id means."""

    meaning: str
    remedy: str


def alarm(
    name: str, text: str, agent: str | None = None, *, remedy: str = "", since: float | None = None
) -> Alarm:
    """An alarm of a known kind; what to do is the kind's, unless it is said."""
    return Alarm(name, agent, text, remedy or ALARMS[name].remedy, since)


ALARMS: Final[Mapping[str, Kind]] = MappingProxyType(
    {
        "idle_promote": Kind(
            "Promote looked at new lines in many runs, over a long time, and promoted none.",
            "see which gate keeps them: skymem promote --dry-run; then change that rule, or what "
            "is written",
        ),
        "threshold_unreachable": Kind(
            "Promote saw new lines in many runs, and the best of them is below the threshold.",
            "lower promote_threshold in retention_rules.yaml, or have the agent give importance",
        ),
        "identical_output": Kind(
            "A job told the very same numbers in many runs, over a long time, though short-term "
            "was written to.",
            "see whether what is written there ends each line, and is read: skymem fsck",
        ),
        "job_overdue": Kind(
            "A daemon runs, and an entry of the schedule did not when it should have.",
            "read the daemon's log, then start it again: skymem run",
        ),
        "job_never_run": Kind(
            "A daemon runs, and an entry of the schedule has never run, though it was due.",
            "read the daemon's log, then start it again: skymem run",
        ),
        "job_failed": Kind(
            "The last run of a job failed, and none has made it good since.",
            "do what the reason says, then run it again: skymem trigger NAME",
        ),
        "backlog_growing": Kind(
            "What is to be indexed grows from run to run.",
            "see why the index does not keep up: skymem index",
        ),
        "index_small": Kind(
            "The index has fewer memories than long-term, and knows of none that is to come.",
            "make it anew: skymem index --force",
        ),
        "index_trouble": Kind(
            "An index was found damaged, or can't be reached.",
            "wait until it is filled again, or fill it now: skymem index",
        ),
        "index_bloated": Kind(
            "An index takes more room than its vectors explain.",
            "make it anew: skymem index --force",
        ),
        "engine": Kind(
            "The engine can't work: meaning is not searched, and nothing is indexed.",
            "see what it lacks: skymem doctor",
        ),
        "budget_half_spent": Kind(
            "Half of what jobs may remove by judgement in 30 days is removed.",
            "look at what went (skymem audit log), then at prune and budget in the rules",
        ),
        "clock_suspect": Kind(
            "The clock moved, or something was written at a time that is yet to come.",
            "set the clock right or, if it is right now, accept it: skymem prune --accept-clock",
        ),
        "disk_low": Kind(
            "Less of the disk is free than should be.",
            "make room on it, or say how much is enough: alarms.disk_free",
        ),
        "unread_growth": Kind(
            "Something is written that no job reads.",
            "run promote, or a daemon that does (skymem run); a file of another name: bring its "
            "lines in (skymem import), or move it away",
        ),
        "flood": Kind(
            "An agent suddenly rates far more than is usual for it worth promoting, and what is "
            "beyond its share was held back; or most of what it wrote in its first week.",
            "look at what it wrote; if it is right, let it through: skymem promote --uncalibrated",
        ),
        "quarantine": Kind(
            "Bytes that are no memory lie in quarantine.",
            "mend them and append them anew, then remove their two files there",
        ),
        "damaged_lines": Kind(
            "Lines of a tier's file can't be read.",
            "see why (skymem fsck), and mend or remove them while no job runs",
        ),
        "agent_unreadable": Kind(
            "Something of an agent can't be read, or is in the way.",
            "do what the sentence says, then look again: skymem status",
        ),
        "file_damaged": Kind(
            "A file of the home's own is damaged or missing.",
            "do what the sentence says, then look again: skymem status",
        ),
        "unwritable": Kind(
            "The home's owner can't write to it.",
            "let its owner write, or mount what it lies on for writing",
        ),
        "left_alone": Kind(
            "A directory in memory/ is no agent's, and is left alone.",
            "give it a name that agents may have, or move it away",
        ),
        "rules_faulty": Kind(
            "retention_rules.yaml is not usable: nothing that decides by it runs.",
            "mend it: skymem config check",
        ),
        "schedule_faulty": Kind(
            "schedule.yaml is not usable.",
            "mend it: skymem config check",
        ),
        "violations": Kind(
            "Somebody reached for what is another agent's, and was refused.",
            "look who (skymem agents violations), and say it was seen: the same with --acknowledge",
        ),
        "erasure_unfinished": Kind(
            "An erasure was begun long ago and is not ended.",
            "go on with it: skymem index",
        ),
        "daemon_silent": Kind(
            "A daemon holds its lock and gives no sign of life.",
            "end it, and start it again: skymem run",
        ),
        "daemon_killed": Kind(
            "The last daemon ended without a word.",
            "start it again: skymem run",
        ),
        "not_reloaded": Kind(
            "The daemon goes by what it read before: what the files say now is not usable.",
            "mend the file (skymem config check) and send the daemon SIGHUP again",
        ),
        "timezone_missing": Kind(
            "The machine does not know the schedule's time zone: the daemon goes by UTC.",
            "install tzdata, or set another timezone in schedule.yaml",
        ),
        "notify_failed": Kind(
            "An alarm could not be sent on by the command or to the webhook.",
            "run alarms.command by hand, or see that alarms.webhook answers; it is tried again",
        ),
    }
)
"""Each id, in the order of the reference."""


class AlarmRules(NamedTuple):
    """From when on something is an alarm, and who is told."""

    runs: int = 5
    """Runs in a row that did nothing, or told the same."""

    idle_seconds: float = 86_400.0
    """How long that must have gone on: an hour of routine is none."""

    backlog_runs: int = 10
    """Runs, one after the other, after which more is left to index than before."""

    unread_seconds: float = 86_400.0
    """How long what is written may wait for a job that reads it."""

    disk_free_bytes: int | None = None
    """What should be free; None: 1 %, at least 100 MiB, and of a tiny disk a tenth."""

    off: tuple[str, ...] = ()
    """Ids that are none here."""

    command: tuple[str, ...] = ()
    """What gets a message on its stdin; nothing for none."""

    webhook: str | None = None
    """Where a message is posted: https, or http on a loopback address."""

    token_env: str | None = None
    """Name of the environment variable that holds the webhook's token."""

    token_file: str | None = None
    """Absolute path of a file that holds it, and that nobody else can read."""

    look_seconds: float = 60.0
    """How often the daemon looks, where somebody is to be told."""

    hold_seconds: float = 60.0
    """How long an alarm must hold, or be gone, until that is told."""

    quiet_seconds: float = 600.0
    """The least time between two messages about the same alarm."""

    deadline_seconds: float = 10.0
    """What command and webhook have for one message."""

    @property
    def told(self) -> bool:
        """Whether anybody is to be told."""
        return bool(self.command) or self.webhook is not None


USUAL_ALARMS: Final = AlarmRules()
