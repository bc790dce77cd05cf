"""Who writes the statements of a summary: quotations, or a model that is configured (row X7).

Whatever a summariser gives is checked against its sources by `policy.summary`, so one that fails,
lies or is injected costs its own statements only: the sources speak for themselves.
"""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Protocol

from skymem.model.rules import SummarizerRules
from skymem.policy.summary import SourceGroup, Summary, extractive


class Summarizer(Protocol):
    """Makes statements of memories; one of the three seams (design §6)."""

    @property
    def degraded(self) -> tuple[str, ...]:
        """Why quotations stand where its statements should, so far; no memory text."""

    def summarize(self, group: SourceGroup) -> Summary:
        """Sum a group up; what it leaves out is quoted."""


class Extractive:
    """Quotes every source: deterministic, needs nothing, says nothing that nobody said."""

    def __init__(self, degraded: str = "") -> None:
        """Take up the reason why it stands in for another, if it does."""
        self._degraded = degraded

    @property
    def degraded(self) -> tuple[str, ...]:
        """Why it stands in for another."""
        return (self._degraded,) if self._degraded else ()

    def summarize(self, group: SourceGroup) -> Summary:
        """Quote a group, in its order."""
        return extractive(group)


def open_summarizer(rules: SummarizerRules | None, environment: Mapping[str, str]) -> Summarizer:
    """Give the summariser that is configured, or quotations where it can't be had.

    Args:
        rules: `compress: summarizer:`; None is the default, quotations.
        environment: where the key is looked for; it is read once and never told.
    """
    if rules is None:
        return Extractive()
    if find_spec("httpx") is None:
        return Extractive("summarizer: httpx is not installed (pip install 'skymem[llm]')")
    key = environment.get(rules.key_env, "") if rules.key_env else ""
    if rules.key_env and not key:
        return Extractive(f"summarizer: the environment variable {rules.key_env} is not set")
    from skymem.jobs.llm import ChatSummarizer

    return ChatSummarizer(rules, key)
