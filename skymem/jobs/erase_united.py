"""What became one goes as one: the words of the others would tell what is gone (rows X5, P15)."""

from collections.abc import Set as AbstractSet

from skymem.model.memory import Memory
from skymem.policy.uniting import stands_for


class UnitedFound:
    """Which memories became one, one of them by way of others."""

    def __init__(self) -> None:
        self._of: dict[str, set[str]] = {}

    def note(self, name: str, memory: Memory) -> None:
        """Take in a memory, if it stands for others."""
        group = {*stands_for(memory)}
        if not group:
            return
        group.add(name)
        for one in [*group]:
            group |= self._of.get(one, set())
        self._of |= dict.fromkeys(group, group)

    def goes(self, name: str, gone: AbstractSet[str]) -> bool:
        """Whether a memory is one with any of those that go."""
        return name in self._of and not self._of[name].isdisjoint(gone)
