"""The working memory of one agent as its code sees it: what `open_memory` gives beside recall."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # importing skymem costs little: each part is loaded when it is first used
    from skymem.app import Home


class WorkingMemory:
    """Scratchpad, preferences, playbooks, documents and conversation of one agent."""

    _home: "Home"
    agent: str
