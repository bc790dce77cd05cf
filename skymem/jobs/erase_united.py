"""What became one goes as one: the words of the others would tell what is gone (rows X5, P15).

Two that a person took apart again are two: the run that had made them one was undone.
"""

from collections.abc import Set as AbstractSet

from skymem.model.memory import Memory
from skymem.policy.uniting import stands_for
from skymem.stores.shelf import Shelf


class UnitedFound:
    """Which memories became one, one of them by way of others."""

    def __init__(self, undone: AbstractSet[str]) -> None:
        """Take nothing by what was made by a run that was undone: the ids of that."""
        self._undone = undone
        self._of: dict[str, set[str]] = {}

    @classmethod
    def of(cls, shelf: Shelf) -> "UnitedFound":
        """Look at an agent's trash."""
        return cls({held.id for held in shelf.trash.all() if held.reason.gate == "undone"})

    def note(self, name: str, memory: Memory) -> None:
        """Take in a memory, if it stands for others."""
        group = {*stands_for(memory)}
        if not group or name in self._undone:
            return
        group.add(name)
        for one in [*group]:
            group |= self._of.get(one, set())
        self._of |= dict.fromkeys(group, group)

    def goes(self, name: str, gone: AbstractSet[str]) -> bool:
        """Whether a memory is one with any of those that go."""
        return name in self._of and not self._of[name].isdisjoint(gone)
