"""What a job that removes is watched by: memories that must still be recalled after it (row X4).

Jobs stand beside recall and can't call it; the composition root gives them who can.
"""

from typing import Final, Protocol

from skymem.errors import SkymemError

WATCHED: Final = ("compress", "merge", "prune")
"""Jobs that move memories by judgement to where they are found less well, or not at all."""


class CanaryLostError(SkymemError):
    """{0} canary memories are not recalled any more: {1}"""

    exit_code = 20
    hint = "the run was undone; look at each with: skymem explain ID"


class Canaries(Protocol):
    """Recalls the memories that are watched, through the path that users take."""

    def before(self, agent: str) -> None:
        """Note which are recalled now; called before each round, and the first one counts."""

    def lost(self, agent: str) -> list[str]:
        """Ids of those that were recalled before and are not now."""
