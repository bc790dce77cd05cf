"""What a job that removes is watched by: memories that must still be recalled after it (row X4).

Jobs stand beside recall and can't call it; the composition root gives them who can.
"""

from typing import Final, NamedTuple, Protocol

from skymem.errors import SkymemError

WATCHED: Final = ("compress", "merge", "prune")
"""Jobs that move memories by judgement to where they are found less well, or not at all."""


class CanaryLostError(SkymemError):
    """{0} canary memories are not recalled any more: {1}"""

    exit_code = 20
    hint = "the run was undone; look at each with: skymem explain ID"


class Missed(NamedTuple):
    """What is not recalled any more."""

    lost: list[str]
    """Ids of those that were recalled before and are not now."""

    unknown: str
    """Why some of the others could not be looked for; "" when all were. That is no loss."""


class Canaries(Protocol):
    """Recalls the memories that are watched, through the path that users take.

    No lock is held while they are asked for: a recall may wait for the engine.
    """

    def noted(self, agent: str) -> bool:
        """Whether `before` was called for this agent."""

    def before(self, agent: str) -> None:
        """Note which are recalled now, before anything of the run is done."""

    def missed(self, agent: str) -> Missed:
        """Look for those that were noted."""
