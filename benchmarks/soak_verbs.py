"""What the soak's commands are, and what each may end with."""

from typing import Final, NamedTuple

ALWAYS: Final = frozenset({0})
BUSY: Final = frozenset({0, 11})
DEGRADED: Final = frozenset({0, 11, 23, 40})
"""The engine is killed now and then: what needs it may have to do without."""

ASKED: Final = DEGRADED | {130, 137}
"""A run of the daemon's: it, or its child, may be killed."""

USAGE: Final = 2
BUDGET_REACHED: Final = 21
BAD_SCHEDULE: Final = 78
NO_SUCH_MEMORY: Final = 24
"""Of an acknowledged memory only where it was erased; otherwise it is lost."""

IN_TRASH: Final = (NO_SUCH_MEMORY, "is in trash")


class Verb(NamedTuple):
    """A command: `{word}`, `{n}`, `{id}` and `{scratch}` are filled in."""

    words: str
    codes: frozenset[int]
    agent: bool = False
    """Whether it is one agent's."""

    writes: str = ""
    """The text of a memory it makes: it is there once the command has ended well."""

    may_write: str = ""
    """The same of one that never says whether it did."""

    refusals: tuple[tuple[int, str], ...] = ()
    """The codes and the words with which it rightly declines: the memory may be elsewhere."""


WRITTEN: Final = "{word} {word} (by-{n})"
EVENT: Final = (
    '{{"session_id": "soak", "hook_event_name": "{event}", "prompt": "{word}?",'
    ' "tool_name": "Bash", "tool_input": {{"command": "{word} (by-{n})"}},'
    ' "tool_response": {{"stdout": "done"}}}}'
)
LINE: Final = '{{"ts": {ts}, "content": "{word} {word} (by-{n})", "importance": 0.8}}\n'

VERBS: Final = (
    Verb("promote --json", DEGRADED),
    Verb("rotate --json", BUSY),
    Verb("compress --json", DEGRADED),
    Verb("merge --json", DEGRADED),
    Verb("prune --json", BUSY | {BUDGET_REACHED}),
    Verb("compact --json", BUSY),
    Verb("share --json", BUSY),
    Verb("trigger memory_rotate_check --json", ASKED),
    Verb("trigger index --json", ASKED),
    Verb("recall {word} --json", ALWAYS, agent=True),
    Verb("recall {word} --mode semantic --json", frozenset({0, 40}), agent=True),
    Verb("context {word} --json", ALWAYS, agent=True),
    Verb("recent --json", ALWAYS, agent=True),
    Verb("archive search {word} --json", ALWAYS, agent=True),
    Verb("trash list --json", ALWAYS),
    Verb("status --json", ALWAYS),
    Verb("alarms --json", ALWAYS),
    Verb("check --json", frozenset({0, 20, 23})),
    Verb("fsck --json", BUSY),
    Verb("audit verify --json", ALWAYS),
    Verb("jobs --json", ALWAYS),
    Verb("pause memory_rotate_check --json", ALWAYS),
    Verb("resume memory_rotate_check --json", ALWAYS),
    Verb("pause index --json", ALWAYS),
    Verb("resume index --json", ALWAYS),
    Verb("show {id} --json", ALWAYS),
    Verb("explain {id} --json", ALWAYS),
    Verb("pin {id} --json", BUSY, refusals=(IN_TRASH,)),
    Verb("unpin {id} --json", BUSY, refusals=(IN_TRASH,)),
    Verb(
        f"correct {{id}} {WRITTEN!r} --json",
        DEGRADED,
        may_write=WRITTEN,
        refusals=(IN_TRASH, (USAGE, "was superseded")),
    ),
    Verb("forget {id} --json", DEGRADED, refusals=(IN_TRASH,)),
    Verb("restore {id} --json", DEGRADED, refusals=((NO_SUCH_MEMORY, "is not in trash"),)),
    Verb("erase {id} --json", DEGRADED),
    Verb("undo --json", DEGRADED, refusals=((USAGE, "no run has done anything"),)),
    Verb(f"note write log {WRITTEN!r} --json", BUSY, agent=True, writes=WRITTEN),
    Verb(f"remember {WRITTEN!r} --json", BUSY, agent=True, writes=WRITTEN),
    Verb("import {scratch}/import.jsonl --json", BUSY, agent=True, writes=WRITTEN),
    Verb("export {scratch}/export.tar --json", BUSY, agent=True),
    Verb("backup {scratch}/backup.tar --json", BUSY),
    Verb("hook session-start", ALWAYS, agent=True),
    Verb("hook prompt", ALWAYS, agent=True),
    Verb("hook tool-use", ALWAYS, agent=True, may_write="Bash: {word} (by-{n})\n→ done"),
)

SURE_ANSWER: Final = ("recall", "status", "jobs", "check", "context", "recent", "fsck", "show")
"""These print a document whenever they end with 0."""
