"""Asks the engine what texts mean, for the model of their worth (row P12).

It is asked before a lock is taken, in lots, and by a deadline. Where it is away, off, too slow or
of another embedding model, everything goes on by text alone and says so: no run fails for it.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from skymem.errors import InterruptedRunError, SkymemError
from skymem.jobs.sight import Sight
from skymem.jobs.workplace import Workplace
from skymem.model.plan import Entry
from skymem.policy.prediction import Model
from skymem.stores.importance_models import in_force
from skymem.stores.meanings import known_meanings, note_meanings
from skymem.stores.naming import Naming

if TYPE_CHECKING:
    from skymem.engine.client import Engine

TRAIN_SECONDS: Final = 300.0
"""For all memories one agent learns from: 20,000 that the index has take some seconds."""

PROMOTE_SECONDS: Final = 10.0
"""For what one promote asks about one agent, the engine's start included; the rest comes later."""

EXPLAIN_SECONDS: Final = 2.0
"""For one memory, of an engine that runs already: somebody waits."""

NEAREST_MAX: Final = 2
NEAR_LEAST: Final = 0.3
"""Cosine; what is farther away is about something else."""

AT_ONCE: Final = 32
"""Texts in one question: what is told before the deadline counts, a lot at a time."""

NAMED_MAX: Final = 5_000
"""Memories one promote asks about: the next one goes on."""

Vectors = list[Sequence[float] | None]


class Meanings(NamedTuple):
    """What the engine told about some texts."""

    model: str
    """Key of the embedding model; "" where nobody told."""

    vectors: Vectors
    """Of the first so many texts; None where there is nothing to read."""

    why: str = ""
    """Why it told no more, in words; "" where it told all."""


def ask_meanings(
    work: Workplace, agent: str, texts: Sequence[str], *, seconds: float, model: str = ""
) -> Meanings:
    """Ask for the vectors of texts, in their order; it may take the engine's start.

    With `model` only vectors of this one are of use.

    Raises:
        InterruptedRunError: a signal came while waiting.
    """
    if work.engine is None:
        return Meanings("", [], "the engine is not to be used (SKYMEM_ENGINE=off)")
    deadline = time.monotonic() + seconds
    key, vectors = model, Vectors()
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            return Meanings(key, vectors, f"the engine told {len(vectors):,} in {seconds:g} s")
        lot = texts[len(vectors) : len(vectors) + AT_ONCE]
        try:
            found, told = work.engine().vectors(lot, agent=agent, deadline_seconds=left)
        except InterruptedRunError:
            raise
        except SkymemError as error:
            return Meanings(key, vectors, str(error))
        if key and found != key:
            return Meanings(found, [], f"the engine goes by another model ({found})")
        key = found
        vectors += told
        if len(vectors) >= len(texts):
            return Meanings(key, vectors)


def wanted(work: Workplace, agent: str) -> Model | None:
    """The model in force, where it has use for vectors and may ask for them.

    Raises:
        DiskError: it can't be looked for.
    """
    rules = work.rules.importance
    if rules.predict == "off" or rules.vectors == "off":
        return None
    model = in_force(work.paths, agent, work.now())
    return None if model is None or model.meaning is None else model


def shares_of(work: Workplace, model: Model) -> Mapping[str, float]:
    """By id, what is known by now of the meaning of memories.

    Raises:
        DiskError: it can't be read.
    """
    asked = work.shares.get((model.agent, model.trained_at), {})
    return known_meanings(work.paths, model, work.now()) | asked


def look_ahead(sight: Sight) -> None:
    """Before the lock is taken: ask about what promote will weigh, and keep what is told.

    Raises:
        InterruptedRunError: a signal came while waiting.
        DiskError: what is known can't be read.
    """
    work = sight.work
    model = wanted(work, sight.agent)
    if model is None:
        return
    told = _asked(work, model, _unknown(sight, model), PROMOTE_SECONDS)
    if told:
        note_meanings(work.paths, work.files, model, told, at=work.now())


def look_without_a_trace(sight: Sight) -> None:
    """The same for a dry run: of an engine that runs already, and nothing is written.

    Raises:
        InterruptedRunError, DiskError: as `look_ahead`.
    """
    work = sight.work
    model = wanted(work, sight.agent)
    if model is None or work.engine is None or (model.agent, model.trained_at) in work.shares:
        return
    work.shares[model.agent, model.trained_at] = {}
    unknown = _unknown(sight, model)
    if unknown and not runs(work):
        work.degrade("importance: by text alone: the engine does not run; a real run starts it")
        return
    work.shares[model.agent, model.trained_at] = _asked(work, model, unknown, PROMOTE_SECONDS)


def look_at_one(work: Workplace, agent: str, name: str, text: str) -> None:
    """The same for one memory, of which somebody wants to know now.

    Raises:
        InterruptedRunError, DiskError: as `look_ahead`.
    """
    model = wanted(work, agent)
    if model is None or name in shares_of(work, model) or not runs(work):
        return
    told = _asked(work, model, [(name, text)], EXPLAIN_SECONDS)
    work.shares.setdefault((agent, model.trained_at), {}).update(told)


def nearest(work: Workplace, agent: str, name: str, text: str) -> list[str]:
    """Ids of the memories of long-term that mean most nearly the same, of an engine that runs.

    Raises:
        InterruptedRunError: a signal came while waiting.
    """
    if work.engine is None or not runs(work):
        return []
    try:
        engine = work.engine()
        found = engine.near([text], NEAR_LEAST, agent=agent, deadline_seconds=EXPLAIN_SECONDS)
    except InterruptedRunError:
        raise
    except SkymemError:
        return []
    return [other for _, other, _ in found["near"] if other != name][:NEAREST_MAX]


def runs(work: Workplace) -> bool:
    """Whether an engine runs that may be asked: none is started."""
    engine: Callable[[], Engine] | None = work.engine
    try:
        return engine is not None and engine().running()
    except SkymemError:
        return False


def _asked(
    work: Workplace, model: Model, named: Sequence[tuple[str, str]], seconds: float
) -> dict[str, float]:
    """By id, the share of each that was told in time; why others were not is noted."""
    meaning = model.meaning
    if meaning is None or not named:
        return {}
    texts = [text for _, text in named]
    told = ask_meanings(work, model.agent, texts, seconds=seconds, model=meaning.model)
    if told.why:
        work.degrade(f"importance of {model.agent}: by text alone: {told.why}")
    names = [name for name, _ in named[: len(told.vectors)]]
    return {name: meaning.share(vector) for name, vector in zip(names, told.vectors, strict=True)}


def _unknown(sight: Sight, model: Model) -> list[tuple[str, str]]:
    """What promote will ask the model about and nothing is known of yet, with the texts."""
    known = shares_of(sight.work, model)
    naming = Naming(sight.agent, sight.catalog)
    found: dict[str, str] = {}
    for entry in sight.shelf.short_entries():
        if not isinstance(entry, Entry):
            continue
        naming.name([entry])
        if entry.elsewhere or entry.memory.importance is not None or entry.id in known:
            continue
        found.setdefault(entry.id, entry.memory.searchable)
        if len(found) >= NAMED_MAX:
            break
    return [*found.items()]
