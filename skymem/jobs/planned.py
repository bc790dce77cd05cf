"""What plans hold, as the detail of a dry run tells it: never text (promise 6)."""

from collections.abc import Iterable
from typing import Any

from skymem.model.plan import Decision, Plan
from skymem.stores.tiers import tier_of


def planned(plans: Iterable[Plan]) -> dict[str, Any]:
    """The keys `decisions` and `additions`: of every plan, in its order."""
    each = list(plans)
    return {
        "decisions": [_decision(plan.agent, one) for plan in each for one in plan.decisions],
        "additions": [
            {
                "agent": plan.agent,
                "what": one.what,
                "evidence": list(one.evidence),
                "supersedes": list(one.supersedes),
            }
            for plan in each
            for one in plan.additions
        ],
    }


def _decision(agent: str, one: Decision) -> dict[str, Any]:
    told = {
        "agent": agent,
        "action": one.action,
        "id": one.id or None,
        "tier": tier_of(one.file) if one.file else "short",
        "file": one.file or None,
        **one.reason._asdict(),
    }
    return told if one.id else {**told, "bytes": [one.start, one.end]}
