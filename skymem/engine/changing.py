"""What a change of model asks of an index: who answers, and what is nearest beyond doubt (X10)."""

from typing import Any

from skymem.engine import search
from skymem.engine.agent import Agent
from skymem.engine.alike import Comparing
from skymem.engine.asked import Asked
from skymem.engine.items import COLLECTIONS
from skymem.engine.reranking import Reranking
from skymem.engine.store import text_hash
from skymem.model.rules import EngineRules


class Changing(Comparing, Reranking):
    """The part of a home's index that is compared with that of another model."""

    _rules: EngineRules
    _asked: Asked

    def follow(self) -> dict[str, Any]:
        """Say which model answers now; that it is asked has the engine look for another one."""
        identity = self._embedder.identity
        return {
            "setting": self._rules.model,
            "model": identity.name,
            "model_key": identity.key,
            "dimension": identity.dimension,
        }

    def exact(self, agent: str, text: str, limit: int) -> dict[str, Any]:
        """Find the memories nearest to `text` by comparing with every vector, best first.

        By its vector alone: a memory of the very same text is not found by that.

        Raises:
            EngineUnavailableError: the model is broken.
        """
        asked = {text_hash(piece): piece for piece in self._embedder.chunks(text)}

        def answer(found: Agent) -> search.Hits:
            if not asked or not found.store.count or not limit:
                return []
            vectors = self._asked.vectors(found.store, asked)
            return search.exact(found.store, search.Query(vectors, [], limit, COLLECTIONS))

        return {"hits": [list(hit) for hit in self._with(agent, answer)]}
