"""`skymem simulate`: one replay, or one for each value of a sweep (row X8)."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from skymem.app import Home
from skymem.config.rules_file import read_rules
from skymem.errors import UsageError
from skymem.model.rules import RetentionRules
from skymem.simulation.comparing import Comparison, compare
from skymem.simulation.past import Past, past_of
from skymem.simulation.replay import Replay, Replayed
from skymem.simulation.scratch import scratch_directory
from skymem.simulation.sweep import Sweep, rules_with


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be simulated."""

    rules: Path
    since: float
    until: float
    agent: str | None = None
    sweep: Sweep | None = None


def simulate(home: Home, asked: Asked) -> list[tuple[float, Comparison]]:
    """Replay the past of a home under other rules; gives each value with what came of it.

    Without a sweep there is one, of the value 0. Nothing is written into the home.

    Raises:
        ConfigurationError: the rules are not usable: every problem, as `config check` tells it.
        UsageError: there is no such agent, or no past.
        DiskError: there is no room for a replay.
        InterruptedRunError: a signal came; nothing is left.
    """
    home.only_operator()
    read_rules(asked.rules)
    past = past_of(home, asked.since, asked.until)
    agents = _agents(past, asked.agent)
    points = []
    with _room(home, past) as root:
        for number, (value, rules) in enumerate(_each(asked, root)):
            place = root / str(number)
            place.mkdir(mode=0o700)
            done = _replay(home, past, place, rules)
            points.append((value, compare(past, done, agents)))
    return points


def _replay(home: Home, past: Past, root: Path, rules: RetentionRules) -> Replayed:
    with _emptied(root):
        return Replay(past, root, rules, home.stop, home.tell).run()


@contextmanager
def _emptied(root: Path) -> Iterator[None]:
    import shutil

    try:
        yield
    finally:
        shutil.rmtree(root, ignore_errors=True)


@contextmanager
def _room(home: Home, past: Past) -> Iterator[Path]:
    needed = sum(len(line.stands) for own in past.lines.values() for line in own.values())
    with scratch_directory(home.paths.root, needed) as root:
        yield root


def _each(asked: Asked, root: Path) -> Iterator[tuple[float, RetentionRules]]:
    if asked.sweep is None:
        yield 0.0, read_rules(asked.rules)
        return
    every = [
        (value, rules_with(asked.rules, asked.sweep.key, value, root))
        for value in asked.sweep.values
    ]  # before the first is tried: the last may be not allowed
    yield from every


def _agents(past: Past, agent: str | None) -> Sequence[str]:
    there = past.agents
    if agent is None:
        return there
    if agent not in there:
        raise UsageError(f'no agent "{agent}" in the record; there are: {", ".join(there)}')
    return [agent]
