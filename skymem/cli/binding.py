"""What the command line may do in a process that is bound to an agent (row M7).

`$SKYMEM_BOUND_AGENT` is set by whoever starts an agent's processes. What is about one agent is then
about that one; what can be about everyone needs its name; everything else is the operator's.
"""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from skymem.app import Home

OF_ONE_AGENT: Final = frozenset(
    {
        *("remember", "recall", "recent", "archive", "context", "show", "explain"),
        *("forget", "restore", "pin", "unpin", "correct", "trash", "erase"),
        *("note", "profile", "project"),
        *("scratchpad", "pref", "playbook", "docs", "conversation", "importance"),
        *("export", "import", "mcp"),
    }
)
"""First words of the verbs that are about one agent, whether it is named or not."""

BY_ITS_NAME: Final = frozenset(
    {
        *("promote", "rotate", "compress", "merge", "prune", "index", "compact", "train"),
        *("trigger", "apply", "undo", "status", "check", "fsck", "doctor", "simulate"),
        "report",
        *("agents list", "audit log"),
    }
)
"""Verbs about everyone, or about the agent that `--agent` names."""


def agent_in_reach(home: "Home", verb: str, agent: str | None) -> str | None:
    """The agent a verb is about, where this process is bound to one; else as it was said.

    Raises:
        NotAllowedError: it is out of reach; that is on record as a violation.
    """
    if home.bound is None:
        return agent
    if verb.split(" ", maxsplit=1)[0] in OF_ONE_AGENT:
        from skymem.app import agent_from_environment

        return home.admit(agent_from_environment() if agent is None else agent)
    if agent is None or verb not in BY_ITS_NAME:
        home.only_operator()
    return None if agent is None else home.admit(agent)
