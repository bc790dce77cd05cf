"""What the soak's commands are, and what each may end with."""

from typing import Final, NamedTuple

ALWAYS: Final = frozenset({0})
BUSY: Final = frozenset({0, 11})
DEGRADED: Final = frozenset({0, 11, 23, 40})
"""The engine is killed now and then: what needs it may have to do without."""

ASKED: Final = DEGRADED | {130, 137}
"""A run of the daemon's: it, or its child, may be killed."""

INTERRUPTED: Final = DEGRADED | {130, -15}
"""It was told to end: at its work, or before it had come to that."""

USAGE: Final = 2
BUDGET_REACHED: Final = 21
BAD_SCHEDULE: Final = 78
NO_SUCH_MEMORY: Final = 24
"""Of an acknowledged memory only where it was erased; otherwise it is lost."""

IN_TRASH: Final = (NO_SUCH_MEMORY, "is in trash")
NOBODY_SAID: Final = (NO_SUCH_MEMORY, "no such memory: preference")
NO_PROJECT: Final = (NO_SUCH_MEMORY, "no such memory: project")
NO_PAST: Final = (USAGE, "no run has been here")
NO_DOCUMENT: Final = (USAGE, "no document was taken in")

PROBLEMS_FOUND: Final = 20
STALE_PLAN: Final = 22


class Verb(NamedTuple):
    """A command: `{word}`, `{n}`, `{id}`, `{scratch}` and `{plan}` are filled in."""

    words: str
    codes: frozenset[int]
    agent: bool = False
    """Whether it is one agent's."""

    writes: str = ""
    """The text of a memory it makes: it is there once the command has ended well."""

    may_write: str = ""
    """The same of one that never says whether it did."""

    interrupted: bool = False
    """Whether it is told to end after a while: it goes on until all is embedded, or replayed."""

    refusals: tuple[tuple[int, str], ...] = ()
    """The codes and the words with which it rightly declines: the memory may be elsewhere."""


WRITTEN: Final = "{word} {word} (by-{n})"
EVENT: Final = (
    '{{"session_id": "soak", "hook_event_name": "{event}", "prompt": "{word}?",'
    ' "tool_name": "Bash", "tool_input": {{"command": "{word} (by-{n})"}},'
    ' "tool_response": {{"stdout": "done"}}}}'
)
OTHER_RULES: Final = "promote_threshold: 0.8\nshort_term_max_lines: 20\n"
TURN: Final = '{{"role": "user", "content": "The {word} is due on Friday (by-{n})"}}\n'
DOCUMENT: Final = "# {word}\n\nOf {word} there is more to say (by-{n})\n"
FLOW: Final = """--flow {word} --call '{{"tool": "bash"}}' --outcome well"""
LINE: Final = '{{"ts": {ts}, "content": "{word} {word} (by-{n})", "importance": 0.8}}\n'

VERBS: Final = (
    Verb("promote --json", DEGRADED),
    Verb("rotate --json", BUSY),
    Verb("compress --json", DEGRADED),
    Verb("merge --json", DEGRADED),
    Verb("prune --json", BUSY | {BUDGET_REACHED}),
    Verb("compact --json", BUSY),
    Verb("share --json", BUSY),
    Verb("train --json", INTERRUPTED, interrupted=True),
    Verb("index --json", INTERRUPTED, interrupted=True),
    Verb("index --stats --json", DEGRADED),
    Verb("promote --plan {plan} --json", DEGRADED),
    Verb("apply {plan} --json", DEGRADED | {STALE_PLAN}),
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
    Verb("importance --json", ALWAYS),
    Verb("importance --second-opinions 5 --json", ALWAYS, agent=True),
    Verb("importance --why {id} --json", ALWAYS),
    Verb("report --since 1h --html {scratch}/report.html --json", ALWAYS),
    Verb("metrics", ALWAYS),
    Verb("metrics --textfile {scratch}/soak.prom --json", ALWAYS),
    Verb(
        "simulate --rules {scratch}/other_rules.yaml --json",
        INTERRUPTED,
        refusals=(NO_PAST,),
        interrupted=True,
    ),
    Verb("merge --audit 5 --json", ALWAYS, agent=True),
    Verb("upgrade --json", ALWAYS),
    Verb("doctor --json", frozenset({0, PROBLEMS_FOUND})),
    Verb("config check --json", ALWAYS),
    Verb("config show --json", ALWAYS),
    Verb("config explain promote_threshold --json", ALWAYS),
    Verb("audit log --json", ALWAYS),
    Verb("agents list --json", ALWAYS),
    Verb("agents violations --json", ALWAYS),
    Verb("init {home} --json", ALWAYS),
    Verb("note list --json", ALWAYS, agent=True),
    Verb("note prune-expired --json", DEGRADED, agent=True),
    Verb("profile --json", ALWAYS),
    Verb("patterns list --json", ALWAYS),
    Verb("project list --json", ALWAYS),
    Verb("project show {word} --json", ALWAYS, agent=True, refusals=(NO_PROJECT,)),
    Verb("pref set {word} '{word} (by-{n})' --json", BUSY, agent=True, may_write=WRITTEN),
    Verb("pref get {word} --json", ALWAYS, agent=True, refusals=(NOBODY_SAID,)),
    Verb("pref list --json", ALWAYS, agent=True),
    Verb("pref history {word} --json", ALWAYS, agent=True, refusals=(NOBODY_SAID,)),
    Verb("pref apply {{}} --json", ALWAYS, agent=True),
    Verb("pref find {word} --json", ALWAYS, agent=True),
    Verb("pref unset {word} --json", DEGRADED, agent=True, refusals=(NOBODY_SAID,)),
    Verb(f"scratchpad write {WRITTEN!r} --json", BUSY, agent=True, may_write=WRITTEN),
    Verb("scratchpad read --json", ALWAYS, agent=True),
    Verb("scratchpad promote --json", DEGRADED, agent=True),
    Verb("scratchpad report-saved --json", DEGRADED, agent=True),
    Verb("scratchpad end --json", DEGRADED, agent=True),
    Verb(f"playbook add {FLOW} --query {WRITTEN!r} --json", BUSY, agent=True, may_write=WRITTEN),
    Verb("playbook find {word} --dry-run --json", ALWAYS, agent=True),
    Verb("playbook list --json", ALWAYS, agent=True),
    Verb(
        "conversation summarize {scratch}/turns.jsonl --session s{n} --force --store --json",
        BUSY,
        agent=True,
        may_write=WRITTEN,
    ),
    Verb("docs add {scratch}/document.md --json", DEGRADED, agent=True),
    Verb("docs search {word} --json", ALWAYS, agent=True),
    Verb("docs list --json", ALWAYS, agent=True),
    Verb("docs remove {scratch}/document.md --json", DEGRADED, agent=True, refusals=(NO_DOCUMENT,)),
    Verb("hook install --settings {scratch}/settings.json", ALWAYS, agent=True),
    Verb("hook remove --settings {scratch}/settings.json", ALWAYS, agent=True),
    Verb("hook plugin {scratch}/plugin", ALWAYS, agent=True),
    Verb("hook session-start", ALWAYS, agent=True),
    Verb("hook prompt", ALWAYS, agent=True),
    Verb("hook stop", ALWAYS, agent=True),
    Verb("hook tool-use", ALWAYS, agent=True, may_write="Bash: {word} (by-{n})\n→ done"),
)

SURE_ANSWER: Final = ("recall", "status", "jobs", "check", "context", "recent", "fsck", "show")
"""These print a document whenever they end with 0."""

ELSEWHERE: Final = {
    "run": "the daemon of `soak_keeper`, all the time",
    "serve": "the API of `soak_doors`, all the time",
    "mcp": "one of the writers, all the time",
    "restore-backup": "`soak_check.backup` makes a home of the last backup and compares the two",
    "top": "it needs a terminal; tests/live_view has one",
    "demo": "it makes a home of its own and does not touch this one",
    "note merge": "it needs two notes that say the same; it appends as `note write` does",
    "pref rule": "it appends as `pref set` does",
    "pref onboard": "it appends as `pref set` does, several lines at once",
    "playbook complete": "what waits for the user's next turn is appended as by `playbook add`",
    "playbook continued": "it needs one that waits, in the same conversation",
    "playbook corrected": "it needs one that waits, in the same conversation",
    "docs agent-md": "one small file of the user's own, which no job touches",
}
"""Verbs that are none of these commands, and why."""
