"""What a memory is worth: as its writer says, or a model, or its kind (rows P5, M4, P12).

A missing importance is no error. Without a model it counts as what the scoring guide says of its
kind: 0–2 routine, 3–4 normal, 5–6 notable, 7–8 important, 9–10 critical (`model/kinds.py`). A model
that was trained on the home's own history (`policy/prediction.py`) is asked before the guide; what
a writer gave counts before both.
"""

from typing import Final, Literal, NamedTuple

from skymem.model.kinds import KINDS, Kinds
from skymem.model.memory import Memory

Origin = Literal["given", "predicted", "guide"]

GIVEN: Final = "given"
PREDICTED: Final = "predicted"


class Worth(NamedTuple):
    """Importance, 0 to 1, and where it came from, in words."""

    importance: float
    source: str

    @property
    def origin(self) -> Origin:
        """Who says so: its writer, a model or the scoring guide; the `importance_source`."""
        if self.source == GIVEN:
            return "given"
        return "predicted" if self.source.startswith(PREDICTED) else "guide"


def worth(memory: Memory, kinds: Kinds = KINDS, predicted: Worth | None = None) -> Worth:
    """Weigh one memory; `predicted` is what a model says of it, where one is asked."""
    given = memory.importance
    if given is not None:
        return Worth(given, GIVEN)
    if predicted is not None:
        return predicted
    guided = expected(memory.kind, kinds)
    return Worth(guided.importance, f"none given; {guided.source}")


def expected(name: str | None, kinds: Kinds = KINDS) -> Worth:
    """What the scoring guide says of a kind; of a memory without one, where `name` is None."""
    if name is None:
        return Worth(kinds.of(None).importance, "no kind")
    known = name if name in kinds else "unknown kind"
    return Worth(kinds.of(name).importance, f"{known} in the scoring guide")
