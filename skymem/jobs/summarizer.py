"""Who writes the statements of a summary: quotations, or a model that is configured (row X7).

Whatever a summariser gives is checked against its sources by `policy.summary`, so one that fails,
lies or is injected costs its own statements only: the sources speak for themselves. It is asked
before the job lock is taken; under the lock what it said is looked up (design §4: no lock is held
while somebody else is waited for).
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Protocol

from skymem.jobs.grouping import digest_of
from skymem.model.records import Statement
from skymem.model.rules import SummarizerRules
from skymem.policy.summary import Source, SourceGroup, Summary, extractive
from skymem.stores.lock import never_stopped


class Summarizer(Protocol):
    """Makes statements of memories; one of the three seams (design §6)."""

    @property
    def degraded(self) -> tuple[str, ...]:
        """Why quotations stand where its statements should, so far; no memory text."""

    def takes(self, group: SourceGroup) -> Sequence[Source]:
        """Give what of a group it would be asked about; the rest is quoted."""

    def summarize(self, group: SourceGroup) -> Summary:
        """Sum a group up; what it leaves out is quoted.

        Raises:
            InterruptedRunError: a signal came while waiting.
        """


class Extractive:
    """Quotes every source: deterministic, needs nothing, says nothing that nobody said."""

    def __init__(self, degraded: str = "") -> None:
        """Take up the reason why it stands in for another, if it does."""
        self._degraded = degraded

    @property
    def degraded(self) -> tuple[str, ...]:
        """Why it stands in for another."""
        return (self._degraded,) if self._degraded else ()

    def takes(self, group: SourceGroup) -> Sequence[Source]:
        """Nothing is asked of anybody."""
        del group
        return ()

    def summarize(self, group: SourceGroup) -> Summary:
        """Quote a group, in its order."""
        return extractive(group)


class Asked:
    """What a summariser said in one run, by memory."""

    def __init__(self, summarizer: Summarizer) -> None:
        """Take up whom to ask."""
        self._summarizer = summarizer
        self._answers: dict[bytes, Summary] = {}
        """By id and text: one that was edited since, or has another's id now, has no answer."""

    @property
    def degraded(self) -> tuple[str, ...]:
        """Why quotations stand where the summariser's statements should, so far."""
        return self._summarizer.degraded

    def ask(self, group: SourceGroup) -> None:
        """Ask about the memories of a group that it was not asked about yet.

        Raises:
            InterruptedRunError: a signal came while waiting.
        """
        new = self.missing(group)
        if not new:
            return
        given = self._summarizer.summarize(group._replace(sources=tuple(new)))
        said: dict[str, list[Statement]] = {}
        for statement in given.statements:
            said.setdefault(statement.source, []).append(statement)
        withheld = given.withheld  # told once, with the first
        for source in new:
            self._answers[_key(source)] = Summary(said.get(source.id, []), withheld)
            withheld = {}

    def missing(self, group: SourceGroup) -> list[Source]:
        """Give the memories of a group that it is to be asked about and was not."""
        return [one for one in self._summarizer.takes(group) if _key(one) not in self._answers]

    def answer(self, group: SourceGroup) -> Summary:
        """Look up what it said of a group; nobody is waited for."""
        found = [self._answers.get(_key(source), Summary([])) for source in group.sources]
        withheld = sum((Counter(one.withheld) for one in found), Counter[str]())
        return Summary([said for one in found for said in one.statements], withheld)


def _key(source: Source) -> bytes:
    return digest_of((source.id, source.content))


def open_summarizer(
    rules: SummarizerRules | None,
    environment: Mapping[str, str],
    stop: Callable[[], str] = never_stopped,
) -> Summarizer:
    """Give the summariser that is configured, or quotations where it can't be had.

    Args:
        rules: `compress: summarizer:`; None is the default, quotations.
        environment: where the key is looked for; it is read once and never told.
        stop: names the signal that came, while an answer is waited for.
    """
    if rules is None:
        return Extractive()
    if find_spec("httpx") is None:
        return Extractive("summarizer: httpx is not installed (pip install 'skymem[llm]')")
    key = environment.get(rules.key_env, "") if rules.key_env else ""
    if rules.key_env and not key:
        return Extractive(f"summarizer: the environment variable {rules.key_env} is not set")
    from skymem.jobs.llm import ChatSummarizer

    return ChatSummarizer(rules, key, stop=stop)
