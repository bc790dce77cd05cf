"""The configuration keys of `alarms:`: from when on something is one, and who is told (row X3)."""

from typing import Final

from skymem.config.key import ALARMS, RULES_FILE, TOP, Key
from skymem.config.units import format_duration
from skymem.model.alarm import AlarmRules

_RULES: Final = AlarmRules()
_DAY: Final = 86_400
_YEAR: Final = 366 * _DAY


def _key(name: str, kind: str, default: str, meaning: str, example: str) -> Key:
    return Key(RULES_FILE, ALARMS, name, kind, default, meaning, f"{name}: {example}", "X3")


def _runs(name: str, default: int, meaning: str) -> Key:
    return Key(
        RULES_FILE, ALARMS, name, "whole number", str(default), meaning, f"{name}: {default}",
        "X3", 2, 10**6,
    )  # fmt: skip


def _time(name: str, default: float, meaning: str, least: float, most: float) -> Key:
    shown = format_duration(default)
    return Key(
        RULES_FILE, ALARMS, name, "duration", shown, meaning, f"{name}: {shown}", "X3", least, most
    )


ALARM_KEYS: Final = (
    Key(
        RULES_FILE, TOP, "alarms", "mapping", "none",
        "From when on something is an alarm, and who is told of it.",
        "alarms: {disk_free: 500MiB}", "X3",
    ),
    _runs("runs", _RULES.runs, "Runs in a row that did nothing, or told the very same."),
    _time("idle", _RULES.idle_seconds, "And how long that must have gone on.", 0, _YEAR),
    _runs("backlog_runs", _RULES.backlog_runs, "Runs after which more is left to index each time."),
    _time(
        "unread", _RULES.unread_seconds,
        "How long what is written may wait for a job that reads it.", 0, _YEAR,
    ),
    Key(
        RULES_FILE, ALARMS, "disk_free", "size", "none",
        "What should be free of the home's disk; without it 1 %, at least 100 MiB, and of a tiny "
        "disk a tenth.",
        "disk_free: 500MiB", "X3", 1024, 900 * 1024**4,
    ),
    _key("off", "list", "none", "Ids of alarms that are none here.", "[idle_promote]"),
    _key(
        "command", "list", "none",
        "Program, by its absolute path, and words: the daemon starts it at each change, with the "
        "message as JSON on its stdin. No shell reads it.",
        "[/usr/local/bin/tell-me, --urgent]",
    ),
    _key(
        "webhook", "https URL, or http on a loopback address", "none",
        "Where the daemon posts the same. Needs the extra `skymem[llm]`.",
        "https://hooks.example.org/skymem",
    ),
    _key(
        "token_env", "name of an environment variable", "none",
        "Where the webhook's token is, in the daemon's environment.", "HOOK_TOKEN",
    ),
    _key(
        "token_file", "absolute path", "none",
        "Where it is: one line, in a file of mode 0600 or 0400.", "/etc/skymem/hook.token",
    ),
    _time("look", _RULES.look_seconds, "How often the daemon looks, if it is to tell.", 1, _DAY),
    _time(
        "hold", _RULES.hold_seconds,
        "How long an alarm must hold, or be gone, until that is told.", 0, _DAY,
    ),
    _time(
        "quiet", _RULES.quiet_seconds, "The least time between two messages about one alarm.",
        0, _DAY,
    ),
    _time(
        "deadline", _RULES.deadline_seconds, "What command and webhook have for a message.", 1, 300,
    ),
)  # fmt: skip
"""The table, in the order of the reference."""
