"""What the model in force says of memories: nothing is read until it can matter (row P12)."""

from skymem.jobs.workplace import Workplace
from skymem.model.memory import Memory
from skymem.policy.alike import word_key
from skymem.policy.importance import Worth
from skymem.policy.prediction import Model, Predicted
from skymem.stores.catalog import Catalog
from skymem.stores.importance_models import in_force
from skymem.stores.lifecycle import Lifecycle


class Predicting:
    """One agent's memories before its model; `catalog` is caught up."""

    def __init__(self, model: Model, catalog: Catalog) -> None:
        self.model = model
        self._source = model.source
        self._life = Lifecycle(catalog, model.agent)
        self._counts_repeats = "repeats" in model.coefficients

    @classmethod
    def by_rules(cls, work: Workplace, catalog: Catalog, agent: str) -> "Predicting | None":
        """With the model that is in force now; None where there is none, or none is to be asked.

        Raises:
            DiskError: it can't be looked for.
        """
        if work.rules.importance.predict == "off":
            return None
        model = in_force(work.paths, agent, work.now())
        return None if model is None else cls(model, catalog)

    def of(self, memory: Memory) -> Worth | None:
        """What counts for a memory; None where its writer gave an importance, which counts."""
        if memory.importance is not None:
            return None
        return Worth(self.model.of(memory, self._repeats(memory)), self._source)

    def why(self, memory: Memory) -> Predicted:
        """What the model says of a memory, whoever else said anything, and why."""
        return self.model.why(memory, self._repeats(memory))

    def _repeats(self, memory: Memory) -> int:
        if not self._counts_repeats:
            return 0
        return len(self._life.same_words(word_key(memory.content)))
