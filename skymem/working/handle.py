"""The working memory of one agent as its code sees it: what `open_memory` gives beside recall."""

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # importing skymem costs little: each part is loaded when it is first used
    from skymem.app import Home
    from skymem.working.conversation import Conversations
    from skymem.working.documents import Documents
    from skymem.working.patterns import Patterns
    from skymem.working.playbooks import Playbooks
    from skymem.working.preferences import Preferences
    from skymem.working.scratchpad import Scratchpad


class WorkingMemory:
    """Scratchpad, preferences, playbooks, documents and conversation of one agent."""

    _home: "Home"
    agent: str

    @cached_property
    def scratchpad(self) -> "Scratchpad":
        """The scratchpad of `$SKYMEM_SESSION`'s conversation; `.of(session)` is another's (W1)."""
        from skymem.working.scratchpad import Scratchpad

        return Scratchpad(self._home, self.agent)

    @cached_property
    def preferences(self) -> "Preferences":
        """What the users prefer, across conversations (rows W3 to W5)."""
        from skymem.working.preferences import Preferences

        return Preferences(self._home, self.agent)

    @cached_property
    def playbooks(self) -> "Playbooks":
        """Flows that went well, to be found again (rows W6, W7)."""
        from skymem.working.playbooks import Playbooks

        return Playbooks(self._home, self.agent)

    @cached_property
    def documents(self) -> "Documents":
        """The documents and `agent.md` of its tenant, by explicit call (rows W8, W9)."""
        from skymem.working.documents import Documents

        return Documents(self._home, self.agent)

    @cached_property
    def conversation(self) -> "Conversations":
        """Sums conversations up when they have grown long (row W11)."""
        from skymem.working.conversation import Conversations

        return Conversations(self._home, self.agent)

    @cached_property
    def patterns(self) -> "Patterns":
        """What several tenants have in common, where this agent's takes it (row W10)."""
        from skymem.working.patterns import Patterns

        return Patterns(self._home, self.agent)
