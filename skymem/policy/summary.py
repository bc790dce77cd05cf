"""What a summariser is given and gives, and how far it is believed (rows X7, R9, H1).

Whoever summarises, a model included, is checked here: a statement cites one memory of its group,
its span is widened to whole sentences, and `faithful.check` must find nothing. What does not pass
is counted by its fault, and its source speaks for itself.
"""

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from skymem.model.records import Statement
from skymem.policy.faithful import check
from skymem.policy.sentences import around, lead

LEAD_CHARACTERS: Final = 600
"""A shorter memory is said whole; of a longer one as many of its first sentences as fit."""


_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
"""Signs that show nothing, or something else than they are: no summariser needs them."""


class Source(NamedTuple):
    """A memory to be summed up."""

    id: str
    content: str
    ts_us: int | None


class SourceGroup(NamedTuple):
    """The memories of one list of one record; those that are alike stand together."""

    what: str
    """`profile` or `project`."""

    name: str
    """The project's name; "" for the profile."""

    section: str
    sources: tuple[Source, ...]
    sensitive: bool = False
    """Whether its memories are not to leave the machine, whatever is configured (row N11)."""


class Summary(NamedTuple):
    """What a summariser makes of a group."""

    statements: list[Statement]
    withheld: Mapping[str, int] = MappingProxyType({})
    """What it did not give itself, by reason."""


Summarize = Callable[[SourceGroup], Summary]


def extract(source: Source) -> Statement | None:
    """Quote a memory: whole, or its first sentences; None when not even one fits."""
    span = lead(source.content, LEAD_CHARACTERS)
    if span is None:
        return None
    return Statement(source.content[span[0] : span[1]], source.id, span, source.ts_us)


def extractive(group: SourceGroup) -> Summary:
    """Quote every memory of a group, in its order."""
    found = (extract(source) for source in group.sources)
    return Summary([statement for statement in found if statement is not None])


def checked(group: SourceGroup, summarize: Summarize) -> Summary:
    """Let a group be summed up, believe what stands in its sources, and quote the rest.

    Returns:
        Statements in the order of their sources, at least one for each source that can be quoted,
        and what was withheld, by fault.
    """
    given = summarize(group)
    withheld = Counter(given.withheld)
    sources = {source.id: source for source in group.sources}
    found: dict[str, list[Statement]] = {name: [] for name in sources}
    for statement in given.statements:
        source = sources.get(statement.source)
        if source is None or statement.span[1] > len(source.content):
            withheld["uncited"] += 1
            continue
        faults, bounded = _bounded(statement, source)
        if faults:
            withheld.update(faults)
        else:
            found[source.id].append(bounded)
    for name, source in sources.items():
        quoted = None if found[name] else extract(source)
        found[name] += [quoted] if quoted is not None else []
    return Summary([one for said in found.values() for one in _once(said)], dict(withheld))


def _bounded(statement: Statement, source: Source) -> tuple[set[str], Statement]:
    """Check a statement against the whole sentences it cites; its text and time are its source's.

    A span that is the very text is a quotation only when it is whole sentences, for "server is
    down" is not what "The backup server is down" says.
    """
    left, right = around(source.content, *statement.span)
    start, end = min(left, statement.span[0]), max(right, statement.span[1])
    cited = source.content[start:end]
    text = statement.text
    if text != cited:
        text = " ".join(text.split())
        if any(unicodedata.category(sign) in _UNSEEN for sign in text):
            return {"malformed"}, statement
    faults = {str(fault.what) for fault in check(text, [cited])}
    return faults, Statement(text or cited, source.id, (start, end), source.ts_us)


def _once(said: Iterable[Statement]) -> Iterable[Statement]:
    return {statement.text: statement for statement in said}.values()
