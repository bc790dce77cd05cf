"""What a home goes by whose rules can't be used, for those who must go on all the same.

An agent that wants to remember or recall must not suffer for a word an operator mistyped. Jobs and
the daemon refuse: what moves and removes memories goes by the rules or not at all.
"""

import stat
from pathlib import Path

from skymem.config.rules_file import RulesReading, examine_rules
from skymem.model.rules import RetentionRules


def rules_to_go_by(
    path: Path, memory: Path, *, lenient: bool
) -> tuple[RetentionRules, tuple[str, ...]]:
    """Read the rules; where they are faulty and that is no reason to end, with each fault.

    Raises:
        ConfigurationError: they are faulty and it is not `lenient`: all problems, one a line.
    """
    reading = examine_rules(path)
    faults = tuple(map(str, reading.complaints.sorted()))
    if not faults:
        return reading.rules, ()
    if not lenient:
        reading.complaints.raise_if_any()
    return _makeshift(reading, memory), faults


def _makeshift(reading: RulesReading, memory: Path) -> RetentionRules:
    """What could be read of a faulty file, and for the rest what harms least.

    Who may read `memory` is as an earlier run has left it, unless the file says it well. What is
    recalled is not counted: that might be switched off.
    """
    rules = reading.rules._replace(recall_log=False)
    line = reading.lines.get("access")
    said_well = line is not None and all(one.line != line for one in reading.complaints.found)
    if said_well or (line is None and reading.lines):
        return rules
    return rules._replace(access="group" if _shared(memory) else "private")


def _shared(memory: Path) -> bool:
    try:
        return bool(memory.stat().st_mode & stat.S_IWGRP)
    except OSError:
        return False
