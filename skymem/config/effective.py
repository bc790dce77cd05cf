"""What a home's configuration comes to: each value with where it came from, and every problem.

Behind `skymem config show` and `skymem config check`.
"""

from pathlib import Path
from typing import Any

from skymem.config.engine_section import engine_values
from skymem.config.key import (
    AGENT,
    COMPRESS,
    DUPLICATES,
    ENGINE,
    MERGE,
    PROMOTE,
    REMOTE,
    RULES_FILE,
    SCHEDULE_FILE,
    SUMMARIZER,
)
from skymem.config.keys import INTERVAL_UNITS, TRIGGERS, names_at
from skymem.config.kinds_section import kind_values
from skymem.config.life_sections import section_values
from skymem.config.preferences_section import preference_values
from skymem.config.problems import Problem
from skymem.config.promote_section import promotion_values
from skymem.config.readers import NONE
from skymem.config.remote_section import remote_values
from skymem.config.rules_file import RulesReading, examine_rules
from skymem.config.schedule_entry import EntryReading
from skymem.config.schedule_file import examine_schedule
from skymem.config.share_section import share_values
from skymem.config.units import format_duration, format_size
from skymem.model.kinds import Kind
from skymem.model.preference import Declared
from skymem.model.rules import AgentRules
from skymem.model.schedule import Cron, Daily, Every, ScheduleEntry
from skymem.model.tenants import Tenant

Sourced = dict[str, str | int | float | bool]
"""`{"value": 0.7, "source": "retention_rules.yaml:3"}`; the source may be `default`."""


def check_home_config(home: Path) -> list[Problem]:
    """Every problem of both files of a home, in the order of the files; a missing file is one."""
    rules = examine_rules(home / RULES_FILE).complaints
    schedule = examine_schedule(home / SCHEDULE_FILE).complaints
    return [*rules.sorted(), *schedule.sorted()]


Section = Sourced | dict[str, Sourced] | dict[str, dict[str, Sourced]] | list[dict[str, Sourced]]
"""A value, a section of them, sections by name, or a list of them."""


def effective_rules(path: Path) -> dict[str, Section]:
    """Each retention rule in force, agents' own under `agents`, as JSON can hold it.

    What an agent does not say carries the source of the home's value. Raises ConfigurationError.
    """
    reading = examine_rules(path)
    reading.complaints.raise_if_any()
    rules = reading.rules
    agents = {name: _limits(reading, own, name) for name, own in rules.agents.items()}
    return {
        **_limits(reading, rules.default, None),
        "access": _sourced(reading, rules.access, "access"),
        "line_max": _sourced(reading, format_size(rules.line_bytes_max), "line_max"),
        "torn_after": _sourced(reading, format_duration(rules.torn_after_seconds), "torn_after"),
        "restore_grace": _sourced(
            reading, format_duration(rules.restore_grace_seconds), "restore_grace"
        ),
        "recall_log": _sourced(reading, rules.recall_log, "recall_log"),
        "engine": _engine(reading),
        **_sections(reading),
        "kinds": {name: _kind(reading, kind) for name, kind in rules.kinds.items()},
        "tenants": {one.name: _tenant(reading, one) for one in rules.tenants.table.values()},
        "preferences": {name: _preference(reading, one) for name, one in rules.preferences.items()},
        "share": [
            {
                name: _sourced(reading, value, f"share.{number}.{name}")
                for name, value in share_values(rule).items()
            }
            for number, rule in enumerate(rules.share)
        ],
        "agents": agents,
    }


def effective_schedule(path: Path) -> dict[str, Sourced | list[dict[str, Sourced]]]:
    """The time zone and each entry in force, disabled ones included, as JSON can hold them.

    Raises ConfigurationError.
    """
    reading = examine_schedule(path)
    reading.complaints.raise_if_any()
    file = reading.complaints.file
    zone = reading.schedule.timezone
    return {
        "timezone": {"value": zone, "source": _source(file, reading.lines.get("timezone"))},
        "every": [_entry(each, each.entry) for each in reading.entries if each.entry is not None],
    }


def _limits(reading: RulesReading, rules: AgentRules, agent: str | None) -> dict[str, Any]:
    names = (name for name in names_at(RULES_FILE, AGENT) if name != PROMOTE)
    values = {name: getattr(rules, name) for name in names}
    limits = {
        name: _sourced(reading, value, f"agents.{agent}.{name}" if agent else name, name)
        for name, value in values.items()
    }
    return {**limits, PROMOTE: _promotion(reading, rules, agent)}


def _promotion(reading: RulesReading, rules: AgentRules, agent: str | None) -> dict[str, Any]:
    """The section `promote`, its inner mappings inside of it."""

    def sourced(name: str, value: Any) -> Any:
        if isinstance(value, dict):
            return {inner: sourced(f"{name}.{inner}", one) for inner, one in value.items()}
        own = f"agents.{agent}.{PROMOTE}.{name}" if agent else f"{PROMOTE}.{name}"
        return _sourced(reading, value, own, f"{PROMOTE}.{name}")

    return {name: sourced(name, one) for name, one in promotion_values(rules.promotion).items()}


def _engine(reading: RulesReading) -> dict[str, Any]:
    """The section `engine`, the server's inside of it."""
    engine = reading.rules.engine
    shown: dict[str, Any] = {
        name: _sourced(reading, value, f"{ENGINE}.{name}")
        for name, value in engine_values(engine).items()
    }
    if engine.remote is None:
        return {**shown, "remote": _sourced(reading, NONE, REMOTE)}
    values = remote_values(engine.remote)
    remote = {name: _sourced(reading, value, f"{REMOTE}.{name}") for name, value in values.items()}
    return {**shown, "remote": remote}


def _sections(reading: RulesReading) -> dict[str, Any]:
    """The sections about a memory's life, the summariser's inside of compress."""
    shown: dict[str, Any] = {
        section: {
            name: _sourced(reading, value, f"{section}.{name}") for name, value in values.items()
        }
        for section, values in section_values(reading.rules).items()
    }
    shown[MERGE]["duplicates"] = shown.pop(DUPLICATES)
    if SUMMARIZER in shown:
        shown[COMPRESS]["summarizer"] = shown.pop(SUMMARIZER)
    return shown


def _kind(reading: RulesReading, kind: Kind) -> dict[str, Sourced]:
    return {
        name: _sourced(reading, value, f"kinds.{kind.name}.{name}")
        for name, value in kind_values(kind).items()
    }


def _tenant(reading: RulesReading, tenant: Tenant) -> dict[str, Sourced]:
    return {
        name: _sourced(reading, ", ".join(words), f"tenants.{tenant.name}.{name}")
        for name, words in (("agents", tenant.agents), ("users", tenant.users))
    }


def _preference(reading: RulesReading, one: Declared) -> dict[str, Sourced]:
    return {
        name: _sourced(reading, value, f"preferences.{one.name}.{name}")
        for name, value in preference_values(one).items()
    }


def _sourced(reading: RulesReading, value: str | float, *places: str) -> Sourced:
    """The value with the first of the places it is written at."""
    lines = [reading.lines[place] for place in places if place in reading.lines]
    return {"value": value, "source": _source(reading.complaints.file, *lines[:1])}


def _entry(reading: EntryReading, entry: ScheduleEntry) -> dict[str, Sourced]:
    trigger = next(name for name in TRIGGERS if name in reading.known)
    values: dict[str, str | float | bool] = {
        "name": entry.name,
        "job": entry.job,
        trigger: _trigger_value(entry, trigger),
        "jitter": format_duration(entry.jitter_seconds),
        "timeout": format_duration(entry.timeout_seconds),
        "enabled": entry.enabled,
    }
    lines, file = reading.lines, reading.complaints.file
    return {
        name: {"value": value, "source": _source(file, lines.get(name))}
        for name, value in values.items()
    }


def _trigger_value(entry: ScheduleEntry, key: str) -> str | float:
    match entry.trigger:
        case Every(seconds):
            amount = seconds / INTERVAL_UNITS[key]
            return int(amount) if amount.is_integer() else amount
        case Daily(at):
            return at.strftime("%H:%M")
        case Cron(expression):
            return expression


def _source(file: str, line: int | None = None) -> str:
    return "default" if line is None else f"{file}:{line}"
