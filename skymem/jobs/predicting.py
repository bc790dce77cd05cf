"""What the model in force says of memories: nothing is read until it can matter (row P12)."""

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from skymem.jobs.meaning import shares_of
from skymem.jobs.workplace import Workplace
from skymem.model.memory import Memory
from skymem.policy.alike import word_key
from skymem.policy.importance import Worth
from skymem.policy.prediction import Model, Predicted
from skymem.stores.catalog import Catalog
from skymem.stores.importance_models import in_force
from skymem.stores.lifecycle import Lifecycle

NONE_KNOWN: Final[Mapping[str, float]] = MappingProxyType({})


class Predicting:
    """One agent's memories before its model; `catalog` is caught up."""

    def __init__(
        self, model: Model, catalog: Catalog, shares: Mapping[str, float] = NONE_KNOWN
    ) -> None:
        """Go by what is known of meanings, by id; what is not known of goes by its text."""
        self.model = model
        self.by: Counter[str] = Counter()
        """How many predictions were asked for, `vectors` and `text`, of a model that has both."""

        self._shares = shares
        self._source = model.source
        self._life = Lifecycle(catalog, model.agent)
        self._counts_repeats = "repeats" in model.coefficients

    @classmethod
    def by_rules(cls, work: Workplace, catalog: Catalog, agent: str) -> "Predicting | None":
        """With the model that is in force now; None where there is none, or none is to be asked.

        Raises:
            DiskError: it, or what is known of meanings, can't be looked for.
        """
        if work.rules.importance.predict == "off":
            return None
        model = in_force(work.paths, agent, work.now())
        return None if model is None else cls.with_meanings(work, catalog, model)

    @classmethod
    def with_meanings(cls, work: Workplace, catalog: Catalog, model: Model) -> "Predicting":
        """With a model and, unless the rules want none, what is known of meanings.

        Raises:
            DiskError: that can't be read.
        """
        if model.meaning is None or work.rules.importance.vectors == "off":
            return cls(model, catalog)
        return cls(model, catalog, shares_of(work, model))

    def of(self, memory: Memory, name: str) -> Worth | None:
        """What counts for a memory; None where its writer gave an importance, which counts."""
        if memory.importance is not None:
            return None
        share = self._shares.get(name)
        importance = self.model.of(memory, self._repeats(memory), share)
        if self.model.meaning is None:
            return Worth(importance, self._source)
        self.by["text" if share is None else "vectors"] += 1
        return Worth(importance, self._source if share is not None else self.model.source_by_text)

    def why(self, memory: Memory, name: str) -> Predicted:
        """What the model says of a memory, whoever else said anything, and why."""
        return self.model.why(memory, self._repeats(memory), self._shares.get(name))

    def _repeats(self, memory: Memory) -> int:
        if not self._counts_repeats:
            return 0
        return len(self._life.same_words(word_key(memory.content)))
