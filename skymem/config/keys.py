"""Every configuration key, once: its file, place, type, default and meaning.

The readers take their known keys and bounds from this table, `skymem config explain` and the
docs/configuration.md its words. It reads no YAML and stays cheap to import.
"""

from typing import Final

from skymem.config.alarm_keys import ALARM_KEYS
from skymem.config.api_keys import API_KEYS
from skymem.config.caution_keys import CAUTION_KEYS
from skymem.config.document_keys import DOCUMENT_KEYS
from skymem.config.duplicate_keys import DUPLICATE_KEYS
from skymem.config.importance_keys import IMPORTANCE_KEYS
from skymem.config.key import (
    AGENT,
    ENGINE,
    ENTRY,
    KIND,
    PREFERENCE,
    RULES_FILE,
    SCHEDULE_FILE,
    SHARE,
    TENANT,
    TOP,
    Key,
)
from skymem.config.life_keys import LIFE_KEYS
from skymem.config.pattern_keys import PATTERN_KEYS
from skymem.config.preference_keys import PREFERENCE_KEYS
from skymem.config.problems import shown
from skymem.config.promote_keys import PROMOTE_KEYS
from skymem.config.remote_keys import REMOTE_KEYS
from skymem.config.scratchpad_keys import SCRATCHPAD_KEYS
from skymem.config.share_keys import SHARE_KEYS
from skymem.config.units import format_duration, format_size
from skymem.errors import UsageError
from skymem.model.rules import AgentRules, EngineRules, RetentionRules
from skymem.model.schedule import KNOWN_JOBS, Every, Schedule, ScheduleEntry

_DAY_SECONDS: Final = 86_400
INTERVAL_SECONDS_MAX: Final = 366 * _DAY_SECONDS
"""Longest interval, timeout or jitter: a year; more is a slip of the hand."""

_AGENT_DEFAULT: Final = AgentRules()
_RULES_DEFAULT: Final = RetentionRules()
_ENGINE_DEFAULT: Final = EngineRules()
_ENTRY_DEFAULT: Final = ScheduleEntry("heartbeat", "heartbeat", Every(30))


def _threshold(level: str, default: str, meaning: str) -> Key:
    return Key(
        RULES_FILE, level, "promote_threshold", "number", default, meaning,
        "promote_threshold: 0.70", "P4", 0, 1,
    )  # fmt: skip


def _lines_max(level: str, default: str, meaning: str) -> Key:
    return Key(
        RULES_FILE, level, "short_term_max_lines", "whole number", default, meaning,
        "short_term_max_lines: 5000", "P4, P7", 1, 10**9,
    )  # fmt: skip


def _interval(unit: str, example: int) -> Key:
    return Key(
        SCHEDULE_FILE, ENTRY, unit, "number", "none",
        f"Runs the job every so many {unit} (from 1 second to 366 days).",
        f"{unit}: {example}", "P2",
    )  # fmt: skip


KEYS: Final = (
    _threshold(
        TOP, f"{_AGENT_DEFAULT.promote_threshold:.2f}",
        "Importance from which a memory is promoted to long-term. Higher keeps less.",
    ),
    _lines_max(
        TOP, str(_AGENT_DEFAULT.short_term_max_lines),
        "Lines short-term keeps; the oldest beyond it move to an archive file.",
    ),
    Key(
        RULES_FILE, TOP, "agents", "mapping", "none",
        "Rules of single agents, by name: what is not said there is as for everyone.",
        "agents: {sky: {promote_threshold: 0.60}}", "M5",
    ),
    _threshold(AGENT, "as at the top level", "The agent's own `promote_threshold`."),
    _lines_max(AGENT, "as at the top level", "The agent's own `short_term_max_lines`."),
    Key(
        RULES_FILE, TOP, "access", "word", _RULES_DEFAULT.access,
        "Who may read and write the home's files: only its owner, or the owner's group as well.",
        "access: group", "design §4.9", choices=("private", "group"),
    ),
    Key(
        RULES_FILE, TOP, "line_max", "size", format_size(_RULES_DEFAULT.line_bytes_max),
        "Longest line read as a memory; a longer one goes to quarantine as it is.",
        "line_max: 1MiB", "A12", 1024, 64 * 1024**2,
    ),
    Key(
        RULES_FILE, TOP, "torn_after", "duration",
        format_duration(_RULES_DEFAULT.torn_after_seconds),
        "Silence after which a last line without its newline counts as dead (quarantine).",
        "torn_after: 5m", "A20", 1, 7 * _DAY_SECONDS,
    ),
    Key(
        RULES_FILE, TOP, "engine", "mapping", "none",
        "How memories are embedded and indexed, for recall by meaning.",
        "engine: {threads: 1}", "R8, R14",
    ),
    Key(
        RULES_FILE, ENGINE, "backend", "word", _ENGINE_DEFAULT.backend,
        "What runs the model: onnxruntime, or the extra `skymem[sentence-transformers]`.",
        "backend: onnx", "D1", choices=("onnx", "sentence-transformers"),
    ),
    Key(
        RULES_FILE, ENGINE, "model", "name or absolute path", _ENGINE_DEFAULT.model,
        "The embedding model: a name that is looked for on this machine, or where it lies. "
        "What `skymem index --migrate` switched to goes before it, until it is edited.",
        "model: all-MiniLM-L6-v2", "P8",
    ),
    Key(
        RULES_FILE, ENGINE, "threads", "whole number", str(_ENGINE_DEFAULT.threads),
        "Threads that embed. More than there are idle cores makes it slower.",
        "threads: 1", "design §5", 1, 64,
    ),
    Key(
        RULES_FILE, ENGINE, "batch_size", "whole number", str(_ENGINE_DEFAULT.batch_size),
        "Texts embedded at once, at most; long ones go in smaller batches, to bound memory.",
        "batch_size: 16", "R8", 1, 32,
    ),
    Key(
        RULES_FILE, ENGINE, "chunks_max", "whole number", str(_ENGINE_DEFAULT.chunks_max),
        "Pieces of one memory that are embedded; of a longer one, its beginning and its end.",
        "chunks_max: 64", "design §5", 1, 1024,
    ),
    Key(
        RULES_FILE, ENGINE, "idle", "duration", format_duration(_ENGINE_DEFAULT.idle_seconds),
        "Time without a request after which the engine's process leaves; it is started on demand.",
        "idle: 15m", "design §5", 1, 7 * _DAY_SECONDS,
    ),
    Key(
        RULES_FILE, ENGINE, "download", "true or false", "false",
        "Whether a model that is not on this machine may be fetched. Nothing else ever is.",
        "download: false", "E1",
    ),
    Key(
        RULES_FILE, ENGINE, "recent", "true or false", "true",
        "Whether short-term and archives are indexed as well as long-term.",
        "recent: true", "R8",
    ),
    *REMOTE_KEYS,
    *LIFE_KEYS,
    *PROMOTE_KEYS,
    *IMPORTANCE_KEYS,
    *DUPLICATE_KEYS,
    *DOCUMENT_KEYS,
    *PATTERN_KEYS,
    *SCRATCHPAD_KEYS,
    *PREFERENCE_KEYS,
    *SHARE_KEYS,
    *CAUTION_KEYS,
    *API_KEYS,
    *ALARM_KEYS,
    Key(
        SCHEDULE_FILE, TOP, "every", "list", "required",
        "What runs, and when: one entry for each.",
        'every: [{name: "memory_rotate_check", minutes: 10}]', "P2",
    ),
    Key(
        SCHEDULE_FILE, TOP, "timezone", "time zone", Schedule().timezone,
        "Time zone that `daily` and `cron` are meant in.", "timezone: Europe/Berlin", "P2",
    ),
    Key(
        SCHEDULE_FILE, ENTRY, "name", "word of A-Z, a-z, 0-9, _, . and -, at most 64", "required",
        "What the entry is called in `skymem jobs`, `trigger` and `status`; no name stands twice.",
        'name: "memory_rotate_check"', "P2",
    ),
    Key(
        SCHEDULE_FILE, ENTRY, "job", "word", "as `name`", "The job to run.",
        "job: promote", "P2, D2", choices=KNOWN_JOBS,
    ),
    _interval("seconds", 30),
    _interval("minutes", 10),
    _interval("hours", 6),
    _interval("days", 1),
    Key(
        SCHEDULE_FILE, ENTRY, "daily", "time of day, HH:MM", "none",
        "Runs the job once a day at that time of the schedule's time zone.",
        'daily: "06:45"', "P2",
    ),
    Key(
        SCHEDULE_FILE, ENTRY, "cron", "crontab expression, in quotes", "none",
        "Runs the job at the minute, hour, day, month and weekday; or `@daily` and the like.",
        'cron: "*/15 8-18 * * mon-fri"', "P2",
    ),
    Key(
        SCHEDULE_FILE, ENTRY, "jitter", "duration", "0s",
        "Puts each run off by a random time up to this; shorter than the time between two runs.",
        "jitter: 30s", "P2", 0, INTERVAL_SECONDS_MAX,
    ),
    Key(
        SCHEDULE_FILE, ENTRY, "timeout", "duration",
        format_duration(_ENTRY_DEFAULT.timeout_seconds),
        "Ends a run that takes longer; nothing is lost, the next run goes on.",
        "timeout: 30m", "design §5", 1, INTERVAL_SECONDS_MAX,
    ),
    Key(
        SCHEDULE_FILE, ENTRY, "enabled", "true or false", "true",
        "Whether the entry runs by itself; `skymem trigger NAME` runs it either way.",
        "enabled: false", "P2",
    ),
)  # fmt: skip
"""The table, in the order of the reference."""

INTERVAL_UNITS: Final = {"seconds": 1, "minutes": 60, "hours": 3600, "days": _DAY_SECONDS}
"""Seconds in one of each key that gives an interval."""

TRIGGERS: Final = (*INTERVAL_UNITS, "daily", "cron")
"""The keys that say when an entry runs; each has exactly one."""

# What other schedulers call ours.
_OTHER_NAMES: Final = {"interval": "minutes", "period": "minutes", "at": "daily", "time": "daily",
                       "crontab": "cron", "schedule": "cron", "tz": "timezone",
                       "disabled": "enabled", "threshold": "promote_threshold",
                       "max_lines": "short_term_max_lines", "max_age": "older_than",
                       "min_importance": "importance_below", "max_size": "archive_max",
                       "url": "endpoint", "base_url": "endpoint", "api_key": "key_env",
                       "token": "token_env",
                       "key": "key_env", "ttl_days": "ttl", "grace": "restore_grace",
                       }  # fmt: skip


def key_at(file: str, level: str, name: str) -> Key:
    """The row of a key that is in the table."""
    return next(k for k in KEYS if (k.file, k.level, k.name) == (file, level, name))


def names_at(file: str, level: str) -> tuple[str, ...]:
    """The keys known at one place of one file."""
    return tuple(key.name for key in KEYS if (key.file, key.level) == (file, level))


def place_of(key: Key) -> str:
    """Where the key belongs, as words for a message."""
    places = {
        TOP: f"at the top level of {key.file}",
        AGENT: f"under agents: NAME: in {key.file}",
        KIND: f"under kinds: NAME: in {key.file}",
        TENANT: f"under tenants: NAME: in {key.file}",
        PREFERENCE: f"under preferences: NAME: in {key.file}",
        SHARE: f"in a rule under share: in {key.file}",
        ENTRY: f"in an entry under every: in {key.file}",
    }
    under = ": ".join(key.level.split("."))
    return places.get(key.level, f"under {under}: in {key.file}")


def unknown_key(file: str, level: str, name: str) -> str:
    """The complaint about a key that is not known at its place, with what was probably meant."""
    elsewhere = sorted((k for k in KEYS if k.name == name), key=lambda k: k.file != file)
    if elsewhere and _OTHER_NAMES.get(name) not in names_at(file, level):
        first = elsewhere[0]
        same = (
            elsewhere[:1] if first.level == TOP else [k for k in elsewhere if k.file == first.file]
        )
        places = [place_of(key) for key in same]
        return f"{shown(name)} does not belong here (it goes {', or '.join(places)})"
    known = names_at(file, level)
    near = nearest(name, known)
    if near is not None:
        return f'unknown key {shown(name)} (did you mean "{near}"?)'
    far = nearest(name, tuple(key.name for key in KEYS if key.file == file))
    if far is not None:
        place = place_of(next(k for k in KEYS if k.name == far and k.file == file))
        return f'unknown key {shown(name)} (did you mean "{far}", which goes {place}?)'
    return f"unknown key {shown(name)} (known here: {', '.join(known)})"


def explain(key: str) -> Key:
    """The row of a key by its dotted name, by its name alone, or by an agent's own: `agents.sky.…`.

    Raises UsageError with what was probably meant, or with each that has this name.
    """
    parts = key.split(".")
    if len(parts) == 3 and parts[0] in ("agents", "kinds", "tenants", "preferences"):
        parts[1] = "NAME"
    wanted = ".".join(parts)
    for row in KEYS:
        if row.dotted == wanted:
            return row
    named = [row for row in KEYS if row.name == wanted]
    if len(named) == 1:
        return named[0]
    if named:
        each = ", ".join(row.dotted for row in named)
        raise UsageError(f"several sections have a key {shown(key)}; name one: {each}")
    near = nearest(wanted, tuple(row.dotted for row in KEYS)) or nearest(
        wanted, tuple(row.name for row in KEYS)
    )
    remedy = f'did you mean "{near}"?' if near else "all keys: " + ", ".join(k.dotted for k in KEYS)
    raise UsageError(f"unknown configuration key {shown(key)} ({remedy})")


def reference_markdown() -> str:
    """The table as Markdown, for docs/configuration.md."""
    lines = ["| key | type | default | what it does |", "|---|---|---|---|"]
    for file in (RULES_FILE, SCHEDULE_FILE):
        lines.append(f"| **`{file}`** | | | |")
        lines += [
            f"| `{key.dotted}` | {key.type} | {key.default} | {key.meaning} `{key.example}` |"
            for key in KEYS
            if key.file == file
        ]
    return "\n".join(lines) + "\n"


def nearest(name: str, known: tuple[str, ...]) -> str | None:
    """The known word that was probably meant, if one is near enough."""
    meant = _OTHER_NAMES.get(name)
    if meant in known:
        return meant
    import difflib

    # Cut: the comparison grows with the square of what someone may have pasted here.
    found = difflib.get_close_matches(name[:64].lower(), known, n=1, cutoff=0.7)
    return found[0] if found else None
