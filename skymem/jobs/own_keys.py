"""The keys of a job's detail that are its own, of an agent and of all (docs/daemon.md)."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Protocol

from skymem.model.plan import highest_of


class Counted(Protocol):
    """What is counted of a job's work on one agent."""

    actions: Counter[str]
    gates: Counter[str]
    additions: Counter[str]
    withheld: Counter[str]
    unasked: int
    duplicates: int
    sources: int
    archives: list[str]
    calibration: dict[str, Any]
    highest: float | None
    predicted: dict[str, int]
    budget: dict[str, dict[str, int]]


Keys = Callable[[Sequence[Counted]], dict[str, Any]]


def own_keys(job: str, each: Sequence[Counted]) -> dict[str, Any]:
    """The keys that belong to this job alone."""
    return OWN[job](each)


def _promote(each: Sequence[Counted]) -> dict[str, Any]:
    calibration = {name: told for one in each for name, told in one.calibration.items()}
    by = sum((Counter(one.predicted) for one in each), Counter[str]())
    highest = highest_of(one.highest for one in each)
    # Of those that say the same one is promoted: it is archived as well, as another stands for it.
    aside = _archived(each) - sum(one.gates["duplicate"] for one in each)
    return {
        "promoted": sum(one.actions["promote"] for one in each) + aside,
        **_duplicates(each),
        **({} if highest is None else {"highest": highest}),
        **({"importance_by": dict(sorted(by.items()))} if by else {}),
        **({"calibration": calibration} if calibration else {}),
    }


def _rotate(each: Sequence[Counted]) -> dict[str, Any]:
    archived = _archived(each)
    return {"rotated": bool(archived), "archived": archived, **_archives(each)}


def _compress(each: Sequence[Counted]) -> dict[str, Any]:
    unasked = sum(one.unasked for one in each)
    return {
        "compressed": sum(one.gates["compressed"] for one in each),
        "projects": sum(one.additions["project"] for one in each),
        "profile": sum(one.additions["profile"] for one in each),
        "archived": _archived(each),
        **_archives(each),
        **_withheld(each),
        **({"unasked": unasked} if unasked else {}),
    }


def _merge(each: Sequence[Counted]) -> dict[str, Any]:
    return {
        "merged": sum(one.sources for one in each),
        "batches": sum(one.additions["merge"] for one in each),
        "archived": _archived(each),
        **_duplicates(each),
        **_archives(each),
        **_withheld(each),
    }


def _prune(each: Sequence[Counted]) -> dict[str, Any]:
    trashed = sum(one.actions["trash"] for one in each)
    told = {"pruned": trashed, "trashed": trashed, "by_gate": dict(_gates(each))}
    return {**told, **_budget(each)}


def _budget(each: Sequence[Counted]) -> dict[str, Any]:
    """What 30 days have removed by judgement, and what they may, by tier (row X4)."""
    tiers = sorted({tier for one in each for tier in one.budget})
    budget = {
        tier: {
            name: sum(one.budget.get(tier, {}).get(name, 0) for one in each)
            for name in ("spent", "allowed")
        }
        for tier in tiers
    }
    return {"budget": budget} if budget else {}


def _forget(each: Sequence[Counted]) -> dict[str, Any]:
    return {"forgotten": sum(one.actions["trash"] for one in each)}


def _correct(each: Sequence[Counted]) -> dict[str, Any]:
    return {"corrected": sum(one.sources for one in each)}


def _profile(each: Sequence[Counted]) -> dict[str, Any]:
    return {"profile": sum(one.additions["profile"] for one in each)}


def _share(each: Sequence[Counted]) -> dict[str, Any]:
    return {
        "shared": sum(one.additions["copy"] for one in each),
        "withdrawn": sum(one.actions["trash"] for one in each),
    }


def _ingest(each: Sequence[Counted]) -> dict[str, Any]:
    return {
        "taken_in": sum(one.additions["chunk"] for one in each),
        "trashed": sum(one.actions["trash"] for one in each),
    }


OWN: Final[Mapping[str, Keys]] = MappingProxyType(
    {
        "promote": _promote,
        "rotate": _rotate,
        "compress": _compress,
        "merge": _merge,
        "prune": _prune,
        "forget": _forget,
        "correct": _correct,
        "profile": _profile,
        "share": _share,
        "ingest": _ingest,
    }
)


def _archived(each: Sequence[Counted]) -> int:
    return sum(one.actions["archive"] for one in each)


def _archives(each: Sequence[Counted]) -> dict[str, Any]:
    archives = [archive for one in each for archive in one.archives]
    return {"archive": archives[-1] if archives else None, "archives": archives}


def _duplicates(each: Sequence[Counted]) -> dict[str, Any]:
    """Memories that became part of one that says the same (row P15)."""
    duplicates = sum(one.duplicates for one in each)
    return {"duplicates": duplicates} if duplicates else {}


def _withheld(each: Sequence[Counted]) -> dict[str, Any]:
    """Statements a check kept out of a summary, by what was wrong with them (row X7)."""
    withheld = sum((one.withheld for one in each), Counter[str]())
    return {"withheld": dict(withheld)} if withheld else {}


def _gates(each: Sequence[Counted]) -> Counter[str]:
    return sum((one.gates for one in each), Counter[str]())
