"""When does a line leave for the archive? When it is the oldest beyond the limit (rows P7, M5).

First in, first out, by lines: an exact repeat counts as a line and leaves with its twin
(design §3).
"""

from array import array
from collections.abc import Iterable, Iterator

from skymem.model.plan import Damage, Decision, Entry, Plan, Reason
from skymem.model.rules import AgentRules
from skymem.policy.promote import DECISIONS_MAX, is_at, quarantine


class _Columns:
    """The readable lines in file order, a few bytes each: a million fit in memory."""

    def __init__(self) -> None:
        self.starts = array("Q")
        self.ends = array("Q")
        self.keys = array("Q")
        """The first 64 bits of each digest."""

        self.named: dict[int, str] = {}
        """Ids that are not the digest's: writers' own."""

        self.elsewhere: dict[int, str] = {}
        self.pinned: set[str] = set()
        """Ids of memories that stay, whatever their age: pinned, or their rotation was undone."""

        self.digests = bytearray()

    def add(self, entry: Entry) -> None:
        line = len(self.starts)
        self.starts.append(entry.start)
        self.ends.append(entry.end)
        self.keys.append(int.from_bytes(entry.digest[:8], "big"))
        self.digests += entry.digest
        if entry.id != entry.digest.hex():
            self.named[line] = entry.id
        if entry.elsewhere:
            self.elsewhere[line] = entry.elsewhere
        elif entry.pinned or entry.restored == "line_limit":
            self.pinned.add(entry.id)

    def id(self, line: int) -> str:
        width = len(self.digests) // len(self.starts)
        return self.named.get(line) or self.digests[line * width : (line + 1) * width].hex()

    def twins(self) -> dict[str, list[int]]:
        """Lines of each memory that stands here more than once."""
        suspects = set(_repeated(self.keys))
        found: dict[str, list[int]] = {}
        for line, key in enumerate(self.keys):
            if key in suspects:
                found.setdefault(self.id(line), []).append(line)
        return {name: lines for name, lines in found.items() if len(lines) > 1}


def plan_rotate(entries: Iterable[Entry | Damage], agent: str, rules: AgentRules) -> Plan:
    """Decide every line of an agent's short-term, each once."""
    plan = Plan("rotate", agent, threshold=float(rules.short_term_max_lines))
    columns = _Columns()
    for entry in entries:
        if isinstance(entry, Damage):
            plan.decisions.append(quarantine(entry))
        else:
            columns.add(entry)
    plan.lines = len(columns.starts)
    leaving = _leaving(columns, rules.short_term_max_lines)
    room = max(0, DECISIONS_MAX - len(plan.decisions))
    plan.unfinished = len(leaving) > room
    chosen = sorted(leaving)[:room]
    plan.decisions.extend(_decisions(columns, chosen, leaving, rules.short_term_max_lines))
    plan.decisions.sort(key=lambda decision: decision.start)
    stays = plan.lines - len(chosen)
    if stays:
        plan.kept["line_limit"] = stays
    return plan


def _leaving(columns: _Columns, lines_max: int) -> dict[int, str]:
    """Choose the lines that leave, each with "" or, for a repeat, where its memory is."""
    leaving = dict(columns.elsewhere)
    total = len(columns.starts)
    if total - len(leaving) <= lines_max:
        return leaving
    twins = columns.twins()
    for line in range(total):
        if total - len(leaving) <= lines_max:
            break
        if line in leaving or (columns.pinned and columns.id(line) in columns.pinned):
            continue
        leaving[line] = ""
        for twin in twins.get(columns.id(line), [line])[1:] if twins else ():
            leaving.setdefault(twin, "this run")
    return leaving


def _decisions(
    columns: _Columns, chosen: list[int], leaving: dict[int, str], lines_max: int
) -> Iterator[Decision]:
    over = len(columns.starts) - len(columns.elsewhere)
    limit = Reason("line_limit", over, lines_max, "oldest first")
    for line in chosen:
        place = leaving[line]
        start, end = columns.starts[line], columns.ends[line]
        if place:
            yield Decision("repeat", columns.id(line), line, start, end, is_at(place))
        else:
            yield Decision("archive", columns.id(line), line, start, end, limit)


def _repeated(keys: Iterable[int]) -> Iterator[int]:
    previous = -1
    for key in sorted(keys):
        if key == previous:
            yield key
        previous = key
